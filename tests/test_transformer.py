"""Laws of sequence models: equal to torch's, causal, unchanged by padding.

The laws that hold for every model are tested for the GRU, too.
"""

import copy
import inspect
import os
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from tiny import (
    POSITIONS,
    VOCAB,
    close,
    gradients,
    on_each_device,
    ragged_ids,
    random_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch import nn
from torch.export import Dim, export

from transformer_course.errors import ConfigError
from transformer_course.models import transformer
from transformer_course.models.masks import causal_mask, padding_mask
from transformer_course.models.transformer import Transformer

GRUS = {
    "gru": tiny_gru,
    "gru without attention": partial(tiny_gru, attention=False),
}
MODELS = {
    **{p: partial(tiny_transformer, position=p) for p in POSITIONS},
    "rotary pre-norm": partial(
        tiny_transformer, position="rotary", norm_first=True
    ),
    "language model": tiny_language_model,
    "rotary language model": partial(tiny_language_model, position="rotary"),
    **GRUS,
}
each_model = pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
each_translator = pytest.mark.parametrize(
    "made", [tiny_transformer, *GRUS.values()], ids=["transformer", *GRUS]
)


def src_and_tgt(device="cpu"):
    src = ragged_ids([7, 4, 1], seed=1).to(device)
    tgt = with_bos(ragged_ids([5, 6, 2], seed=2)).to(device)
    return src, tgt


def call(model, src, tgt):
    """Whatever a model reads of a batch."""
    reads = len(inspect.signature(model.forward).parameters)
    return model(*(src, tgt)[-reads:])


# --- equal to nn.Transformer ------------------------------------------------


class TorchTwin(nn.Module):
    """nn.Transformer with our embeddings, positions and output matrix."""

    def __init__(self, ours: Transformer):
        super().__init__()
        config = ours.config
        self.embeddings = copy.deepcopy(ours)
        del self.embeddings.encoder, self.embeddings.decoder
        self.stacks = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.n_layers,
            config.d_ff,
            dropout=0.0,
            activation=config.activation,
            batch_first=True,
            norm_first=config.norm_first,
        )
        if not config.norm_first:  # it would have a final norm all the same
            self.stacks.encoder.norm = self.stacks.decoder.norm = None
        with torch.no_grad():
            for name, parameter in self.stacks.named_parameters():
                parameter.copy_(in_torchs_places(ours.state_dict(), name))

    def forward(self, src, tgt_in):
        around = self.embeddings
        length = tgt_in.size(1)
        padding = ~padding_mask(src)[:, 0, 0]  # True = ignore, here
        output = self.stacks(
            around.src_position(around.src_embedding(src)),
            around.tgt_position(around.tgt_embedding(tgt_in)),
            tgt_mask=~causal_mask(length, tgt_in.device)[0, 0],
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_key_padding_mask=~padding_mask(tgt_in)[:, 0, 0],
        )
        return around.to_logits(output)


def in_torchs_places(ours: dict, name: str) -> torch.Tensor:
    """What stands in our model where nn.Transformer has ``name``."""
    side = name.split(".")[0]
    norms = [1, 2] if side == "encoder" else [1, 2, 3]
    places = {
        "self_attn.": "self_attention.",
        "multihead_attn.": "cross_attention.",
        "out_proj.": "to_output.",
        "linear1.": "feed_forward.up_proj.",
        "linear2.": "feed_forward.down_proj.",
        **{f".norm{n}.": f".add_norm_{n}.norm." for n in norms},
    }
    for torchs, place in places.items():
        name = name.replace(torchs, place)
    if "in_proj_" not in name:
        return ours[name]
    place, kind = name.split("in_proj_")
    three = ("query", "key", "value")
    return torch.cat([ours[f"{place}to_{part}.{kind}"] for part in three])


@on_each_device
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("tied", [False, True])
def test_equals_torchs_transformer(device, norm_first, activation, tied):
    """Logits, and the gradients of all parameters."""
    ours = tiny_transformer(
        norm_first=norm_first, activation=activation, tied=tied, bias=True
    )
    for name, parameter in ours.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1)
    ours = ours.to(device).train()  # torch's fast path is for evaluation
    twin = TorchTwin(ours).to(device).train()
    src, tgt = src_and_tgt(device)
    logits, expected = ours(src, tgt), twin(src, tgt)
    close(logits, expected, tolerance=1e-4)

    right = tgt.roll(-1, dims=1).flatten()
    for model, output in ((ours, logits), (twin, expected)):
        model.zero_grad()
        F.cross_entropy(output.flatten(0, 1), right).backward()
    mine = gradients(ours)
    around = gradients(twin.embeddings)
    for name, gradient in around.items():
        close(mine[name], gradient, tolerance=1e-4)
    stacks = gradients(twin.stacks)
    for name, gradient in stacks.items():
        close(in_torchs_places(mine, name), gradient, tolerance=1e-4)
    compared = sum(g.numel() for g in [*around.values(), *stacks.values()])
    assert compared == sum(p.numel() for p in ours.parameters())


# --- causal, and blind to padding -------------------------------------------


@on_each_device
@each_model
def test_a_later_token_leaves_earlier_logits(device, made):
    model = made().to(device)
    src, tgt = src_and_tgt(device)
    before = call(model, src, tgt)
    for place in range(1, tgt.size(1)):
        changed = tgt.clone()
        changed[:, place] = 4 + (changed[:, place] + 1) % (VOCAB - 4)
        after = call(model, src, changed)
        close(after[:, :place], before[:, :place])
        assert not torch.allclose(after[:, place], before[:, place])


@on_each_device
@each_model
def test_neither_padding_nor_a_neighbour_in_the_batch_matters(device, made):
    model = made().to(device)
    src, tgt = src_and_tgt(device)
    together = call(model, src, tgt)
    for row, (s, t) in enumerate(((7, 6), (4, 7), (1, 3))):
        alone = call(model, src[row : row + 1, :s], tgt[row : row + 1, :t])
        close(together[row, :t], alone[0])


@on_each_device
@each_model
def test_a_row_of_nothing_but_padding_is_finite(device, made):
    model = made().to(device).train()  # cuDNN's GRU has gradients only so
    src, tgt = src_and_tgt(device)
    src[1], tgt[1] = 0, 0
    logits = call(model, src, tgt)
    logits.logsumexp(dim=-1).sum().backward()
    assert logits.isfinite().all()
    for gradient in gradients(model).values():
        assert gradient.isfinite().all()


# --- the cache --------------------------------------------------------------


@on_each_device
@each_model
@pytest.mark.parametrize("steps", [[1] * 6, [2, 3, 1]], ids=str)
def test_decoding_with_a_cache_gives_the_same_logits(device, made, steps):
    model = made().to(device)
    src, tgt = src_and_tgt(device)
    tgt = with_bos(random_ids(3, 5, seed=2)).to(device)
    source = ()
    if "memory" in inspect.signature(model.decode).parameters:
        source = model.encode(src), padding_mask(src)
    cache = model.new_cache()
    parts = [
        model.decode(part, *source, cache=cache)
        for part in tgt.split(steps, dim=1)
    ]
    assert cache.length == tgt.size(1)
    close(torch.cat(parts, dim=1), model.decode(tgt, *source))


def test_a_newest_token_gets_no_square_mask(monkeypatch):
    """Of all tokens before it only its own row would be kept."""
    made = []

    def noted(length, device=None):
        made.append(length)
        return causal_mask(length, device)

    monkeypatch.setattr(transformer, "causal_mask", noted)
    model = tiny_transformer()
    src, cache = ragged_ids([5, 3]), model.new_cache()
    for token in with_bos(random_ids(2, 3, seed=2)).split(1, dim=1):
        model.decode(token, model.encode(src), padding_mask(src), cache)
    assert made and {*made} == {1}


@each_translator
def test_a_cache_follows_its_rows_and_sources(made):
    model = made()
    src = ragged_ids([5, 3, 4])
    tgt = with_bos(random_ids(3, 3, seed=2))
    cache = model.new_cache()
    model.decode(tgt[:, :3], model.encode(src), padding_mask(src), cache)
    rows = torch.tensor([2, 0])
    cache.select(rows, rows)
    continued = model.decode(
        tgt[rows, 3:], model.encode(src[rows]), padding_mask(src[rows]), cache
    )
    expected = model(src[rows], tgt[rows])
    close(continued[:, -1], expected[:, -1])


# --- bad input --------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
@each_translator
def test_an_id_outside_the_vocabulary_is_refused(made, side):
    ids = src_and_tgt()
    ids[side][0, 1] = VOCAB
    with pytest.raises(ConfigError, match=f"id {VOCAB} is outside"):
        made()(*ids)


def test_a_source_for_a_language_model_is_refused():
    with pytest.raises(ConfigError, match="language model reads none"):
        tiny_language_model().encode(src_and_tgt()[0])


@each_translator
def test_targets_that_cannot_share_the_sources_are_refused(made):
    src, tgt = random_ids(3, 4), with_bos(random_ids(5, 6))
    with pytest.raises(ConfigError, match="5, .* 3: expected the same"):
        made()(src, tgt)


def test_an_encoder_decoder_without_a_source_is_refused():
    with pytest.raises(ConfigError, match="no source was given"):
        tiny_transformer().decode(src_and_tgt()[1])


@pytest.mark.skipif(
    "CHECK_TYPES" in os.environ, reason="a symbolic length is no int"
)
@pytest.mark.parametrize("position", ["learned", "rotary"])
def test_what_torch_exports_answers_alike(position):
    """Batches of other shapes too."""
    model = tiny_transformer(n_layers=1, position=position)
    ids = ragged_ids([7, 4]), with_bos(ragged_ids([5, 6], seed=2))
    rows, most = Dim("rows", max=8), model.config.max_length - 1
    shapes = [{0: rows, 1: Dim(f"length_{i}", max=most)} for i in range(2)]
    exported = export(model, ids, dynamic_shapes=shapes).module()
    others = ragged_ids([3, 9, 4]), with_bos(ragged_ids([9, 2, 3], seed=4))
    close(exported(*others), model(*others))
