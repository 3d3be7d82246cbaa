"""The loss without all logits at once is that of the plain form."""

import dataclasses

import pytest
import torch
from tiny import (
    close,
    random_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch import nn

from transformer_course.batches.pairs import Batch
from transformer_course.data.tokenizer import PAD
from transformer_course.fast import chunked_loss
from transformer_course.models.transformer import Transformer
from transformer_course.training import loss
from transformer_course.training.config import SequenceLossConfig

MODELS = {
    "tied": tiny_transformer,
    "untied": lambda: tiny_transformer(tied=False),
    "pre-norm": lambda: tiny_transformer(norm_first=True),
    "language model": tiny_language_model,
}


def batch_for(model: nn.Module) -> Batch:
    """Two rows of other lengths, more positions than a chunk has rows."""
    torch.manual_seed(1)
    tgt = with_bos(random_ids(2, 9))
    tgt[1, 5:] = PAD
    source = None if type(model).__name__ == "LanguageModel" else tgt[:, 1:6]
    return Batch(source, tgt)


def learned(
    loss_fn, model: nn.Module, batch: Batch, config: SequenceLossConfig
):
    """The loss, and the gradient of each weight."""
    model.zero_grad()
    found = loss_fn(model, batch, config)
    (found.loss / found.tokens).backward()
    return found, {n: p.grad.clone() for n, p in model.named_parameters()}


@pytest.fixture(params=[4, 256])
def rows(request, monkeypatch):
    """Chunks that cut a batch, and one that holds it."""
    monkeypatch.setattr(chunked_loss, "ROWS", request.param)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_loss_and_gradients_are_those_of_the_plain_form(make, smoothing):
    model, config = make(), SequenceLossConfig(label_smoothing=smoothing)
    batch = batch_for(model)
    ours, our_grads = learned(chunked_loss.chunked_loss, model, batch, config)
    plain, grads = learned(loss.compute_loss, model, batch, config)
    for found, wanted in zip(ours, plain, strict=True):
        close(found, wanted)
    for name, grad in grads.items():
        close(our_grads[name], grad)


def test_in_bf16_they_are_as_near_as_its_digits():
    model = tiny_transformer()
    batch, config = batch_for(model), SequenceLossConfig()
    found = {}
    for loss_fn in (chunked_loss.chunked_loss, loss.compute_loss):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found[loss_fn] = learned(loss_fn, model, batch, config)
    (ours, our_grads), (plain, grads) = found.values()
    close(ours.loss, plain.loss, 1e-2)
    for name, grad in grads.items():
        close(our_grads[name], grad, 2e-2)


def test_what_a_place_of_padding_holds_reaches_no_weight():
    model = tiny_transformer()
    batch, config = batch_for(model), SequenceLossConfig()
    padding = (batch.tgt_out == PAD)[..., None]
    model.decoder.register_forward_hook(
        lambda _, __, states: states.masked_fill(padding, torch.nan)
    )
    sums, spoiled = learned(chunked_loss.chunked_loss, model, batch, config)
    assert torch.isfinite(sums.loss)
    assert all(grad.isfinite().all() for grad in spoiled.values())


def test_a_batch_of_padding_teaches_nothing():
    """A process's share of the last batch may be that."""
    model, padding = tiny_transformer(), torch.full((1, 4), PAD)
    batch = Batch(random_ids(1, 5), padding)
    sums, grads = learned(
        lambda *given: chunked_loss.chunked_loss(*given)._replace(tokens=1),
        model,
        batch,
        SequenceLossConfig(label_smoothing=0.1),
    )
    assert not torch.stack(sums[:3]).any()
    assert not any(grad.any() for grad in grads.values())


def test_a_model_that_fails_keeps_its_output(monkeypatch):
    model = tiny_transformer()
    batch = batch_for(model)
    output = model.to_logits

    def fail(*args):
        raise RuntimeError("no memory")

    monkeypatch.setattr(model, "decode", fail)
    with pytest.raises(RuntimeError, match="no memory"):
        chunked_loss.chunked_loss(model, batch, SequenceLossConfig())
    assert model.to_logits is output


@dataclasses.dataclass(frozen=True)
class Focused(SequenceLossConfig):
    focus: float = 0.0


class Capped(Transformer):
    """Its logits may not be those of one product: it has not said so."""


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (tiny_gru(), SequenceLossConfig()),
        (Capped(tiny_transformer().config), SequenceLossConfig()),
        (tiny_transformer(), SequenceLossConfig(r_drop=1.0)),
        (tiny_transformer(), Focused()),
    ],
    ids=["another model", "a subclass", "R-Drop", "an unknown setting"],
)
def test_what_it_cannot_do_the_plain_form_does(monkeypatch, model, config):
    plain = loss.LossSums(*torch.zeros(4))
    monkeypatch.setattr(chunked_loss, "compute_loss", lambda *_: plain)
    batch = batch_for(model)
    assert chunked_loss.chunked_loss(model, batch, config) is plain
