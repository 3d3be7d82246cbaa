"""Laws of training: the schedule, one batch overfitted, exact resume."""

import math
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from test_modern import tiny_modern
from tiny import (
    VOCAB,
    close,
    gradients,
    on_each_device,
    ragged_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)
from torch import nn

from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
)
from transformer_course.models.modern_parts import mixtures
from transformer_course.training.config import LoopConfig, SequenceLossConfig
from transformer_course.training.loop import (
    Progress,
    evaluate,
    fit,
    learning_rate,
    make_optimizer,
    paper_peak_rate,
    restore,
    resume_state,
    set_seed,
    train_step,
)
from transformer_course.training.loss import (
    batch_loss,
    compute_loss,
    label_smoothed_loss,
    r_drop_loss,
    symmetric_kl,
)
from transformer_course.training.optimizers import make_muon

TEXT = "language model"
MODELS = {
    "post-norm": lambda **more: tiny_transformer(**more),
    "pre-norm": lambda **more: tiny_transformer(norm_first=True, **more),
    TEXT: lambda **more: tiny_language_model(**more),
    "gru": lambda **more: tiny_gru(**more),
}
each_model = pytest.mark.parametrize("name", MODELS)


def one_batch(name: str = "post-norm") -> Batch:
    """What the model of that name reads: a language model has no source."""
    lengths = [6, 4, 5, 2]
    src = None if name == TEXT else ragged_ids(lengths, seed=1)
    return Batch(src, with_bos(ragged_ids(lengths)))


def some_batches(name: str = "post-norm") -> BucketedBatches:
    """Pairs to copy: a source and, as its target, the same tokens."""
    rows = ragged_ids([3 + i % 4 for i in range(24)], seed=5).tolist()
    ids = [[i for i in row if i] for row in rows]
    pairs = [
        (None if name == TEXT else row + [EOS], [BOS] + row + [EOS])
        for row in ids
    ]
    return BucketedBatches(pairs, token_budget=48)


def losses(
    model, config: LoopConfig, batches, optimizer, progress=None
) -> list[float]:
    """The loss of each step of a training."""
    seen = []
    fit(
        model,
        optimizer,
        batches,
        config,
        progress,
        on_step=lambda _, sums, rate: seen.append(sums.means()["loss"]),
    )
    return seen


# --- the schedule -----------------------------------------------------------


def test_the_schedule_is_equation_3_of_the_paper():
    d_model, warmup = 512, 4000
    peak = paper_peak_rate(d_model, warmup)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        paper = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert math.isclose(learning_rate(step, warmup, peak), paper)


@pytest.mark.parametrize(
    ("cooldown", "parts"), [(0, [1, 1, 1]), (2, [1, 2 / 3, 1 / 3])]
)
def test_each_step_takes_the_rate_of_the_schedule_cooled_by_epochs(
    cooldown, parts
):
    config = LoopConfig(epochs=3, warmup=3, peak_rate=0.01, cooldown=cooldown)
    model, seen = tiny_gru(), set()
    optimizer = make_optimizer(model, config)

    def note(progress, sums, rate):
        plain = learning_rate(progress.step, 3, 0.01)
        assert math.isclose(rate, parts[progress.epoch] * plain)
        assert optimizer.param_groups[0]["lr"] == rate
        seen.add(progress.epoch)

    fit(model, optimizer, some_batches(), config, on_step=note)
    assert seen == {0, 1, 2}


def test_adam_has_the_papers_constants():
    for group in make_optimizer(tiny_gru(), LoopConfig()).param_groups:
        assert group["betas"] == (0.9, 0.98)
        assert group["eps"] == 1e-9


def test_decay_shrinks_matrices_and_no_bias_or_gain():
    model = tiny_transformer()
    before = [weight.detach().clone() for weight in model.parameters()]
    optimizer = make_optimizer(model, LoopConfig(weight_decay=0.1))
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    for group in optimizer.param_groups:
        group["lr"] = 0.5
    optimizer.step()
    for old, weight in zip(before, model.parameters(), strict=True):
        close(weight, 0.95 * old if weight.dim() > 1 else old)


def test_a_seed_fixes_all_that_is_drawn():
    drawn = []
    for seed in (1, 1, 2):
        set_seed(seed)
        drawn.append([random.random(), np.random.rand(), float(torch.rand(1))])
    assert drawn[0] == drawn[1]
    assert not {*drawn[0]} & {*drawn[2]}


# --- one step ---------------------------------------------------------------


def test_a_step_moves_the_bias_of_each_mixture_of_experts():
    model, config = tiny_modern(n_experts=4), LoopConfig()
    before = [one.bias.clone() for one in mixtures(model)]
    train_step(model, one_batch(TEXT), make_optimizer(model, config), config)
    for one, bias in zip(mixtures(model), before, strict=True):
        assert not torch.equal(one.bias, bias)


def test_a_target_is_shifted_by_one():
    """The decoder reads all but the last, and answers all but the first."""
    model, batch = tiny_transformer(), one_batch()
    logits = model(batch.src, batch.tgt[:, :-1])
    expected = label_smoothed_loss(logits, batch.tgt[:, 1:], 0.1)
    close(batch_loss(model, batch, 0.1).loss, expected.loss)


def test_old_gradients_take_no_memory_in_the_forward_pass():
    model = tiny_transformer()
    optimizer = make_optimizer(model, LoopConfig())
    held = []

    def objective(model, batch):
        held.append(any(p.grad is not None for p in model.parameters()))
        return batch_loss(model, batch)

    for _ in range(2):
        train_step(model, one_batch(), optimizer, LoopConfig(), objective)
    assert held == [False, False]


def test_the_gradient_is_clipped_to_its_norm():
    norms = []
    for clip in (0.0, 0.1):
        model = tiny_transformer()
        config = LoopConfig(clip=clip)
        train_step(model, one_batch(), make_optimizer(model, config), config)
        squares = [g.square().sum() for g in gradients(model).values()]
        norms.append(float(torch.stack(squares).sum().sqrt()))
    assert norms[0] > 0.2
    assert math.isclose(norms[1], 0.1, rel_tol=1e-3)


@on_each_device
@each_model
def test_bf16_steps_are_near_those_of_fp32(device, name):
    config = {"epochs": 2, "warmup": 4, "peak_rate": 3e-3}
    found = []
    for bf16 in (False, True):
        model = MODELS[name]().to(device)
        settings = LoopConfig(bf16=bf16, **config)
        optimizer = make_optimizer(model, settings)
        found.append(losses(model, settings, some_batches(name), optimizer))
    exact, rounded = found
    assert exact != rounded
    for one, other in zip(exact, rounded, strict=True):
        assert math.isclose(one, other, rel_tol=0.03)


@on_each_device
@each_model
def test_two_passes_without_dropout_are_one(device, name):
    """Without dropout they do not differ: every sum is doubled, no more."""
    model, batch = MODELS[name]().to(device), one_batch(name).to(device)
    once = batch_loss(model, batch, 0.1)
    twice = r_drop_loss(model, batch, SequenceLossConfig(r_drop=5.0))
    for one, two in zip(once, twice, strict=True):
        close(two, 2 * one)


def test_r_drop_makes_two_passes_under_two_draws_of_dropout():
    """What is added to the loss is how far apart they lie, times a weight."""
    model, batch = tiny_transformer(dropout=0.3).train(), one_batch()
    found = []
    for weight in (0.0, 1.0, 5.0):
        torch.manual_seed(3)
        config = SequenceLossConfig(r_drop=weight)
        found.append(r_drop_loss(model, batch, config))
    torch.manual_seed(3)
    logits = model(batch.src.repeat(2, 1), batch.tgt_in.repeat(2, 1))
    apart = symmetric_kl(*logits.chunk(2), batch.tgt_out)
    assert apart > 0.01
    plain = label_smoothed_loss(logits, batch.tgt_out.repeat(2, 1), 0.1)
    for sums, weight in zip(found, (0, 1, 5), strict=True):
        close(sums.loss, plain.loss + weight * apart)
        assert sums.nll == plain.nll


def test_a_frozen_model_is_refused_and_told_how_to_learn():
    model = nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(ConfigError, match="requires_grad_"):
        make_optimizer(model, LoopConfig())
    make_optimizer(model.requires_grad_(), LoopConfig())


def test_a_loss_that_is_no_number_stops_the_training():
    model = tiny_transformer()
    with torch.no_grad():
        model.to_logits.weight.fill_(math.nan)
    norm = model.decoder.layers[0].add_norm_1.norm.weight
    before, config = norm.clone(), LoopConfig()
    with pytest.raises(DivergedError, match=r"diverged.*Lower the peak rate"):
        train_step(model, one_batch(), make_optimizer(model, config), config)
    assert torch.equal(norm, before)


# --- learning ---------------------------------------------------------------


@on_each_device
@each_model
def test_one_batch_can_be_overfitted(device, name):
    model, batch = MODELS[name]().to(device).train(), one_batch(name)
    if name == TEXT:  # it cannot know which of several begins
        batch = batch.take(torch.tensor([0]))
    config = LoopConfig()
    optimizer = make_optimizer(model, config)
    for group in optimizer.param_groups:
        group["lr"] = 1e-2
    steps = [
        train_step(model, batch, optimizer, config, batch_loss)
        for _ in range(70)
    ]
    assert abs(steps[0].means()["nll"] - math.log(VOCAB)) < 1
    last = evaluate(model, [batch.to(device)])
    assert last["accuracy"] == 1.0
    assert last["nll"] < 0.1


def test_means_of_an_epoch_are_over_its_tokens():
    progress, model = Progress(), tiny_gru()
    batches = list(some_batches().epoch(0))
    for batch in batches:
        progress.count(batch_loss(model, batch, 0.1))
    means = evaluate(model, batches, compute_loss)  # smoothed by 0.1
    assert progress.means() == pytest.approx(means)


def test_evaluation_does_not_depend_on_how_pairs_are_batched():
    model, batch = tiny_transformer(dropout=0.5), one_batch()
    rows = [
        Batch(batch.src[i : i + 1], batch.tgt[i : i + 1]) for i in range(4)
    ]
    whole = evaluate(model, [batch], compute_loss)
    assert evaluate(model, rows, compute_loss) == pytest.approx(whole)


# --- going on ---------------------------------------------------------------


class Stop(Exception):
    """Thrown out of a training in its middle."""


@pytest.mark.parametrize(
    ("name", "bf16", "make"),
    [
        ("post-norm", False, make_optimizer),
        ("post-norm", True, make_optimizer),
        ("gru", False, make_optimizer),
        ("post-norm", False, lambda model, config: make_muon(model)),
    ],
)
def test_going_on_from_any_step_gives_the_very_same_losses(
    tmp_path, name, bf16, make
):
    """With dropout, through a file, in the middle and at an epoch's end."""
    config = LoopConfig(epochs=2, warmup=3, peak_rate=1e-2, bf16=bf16)
    batches = some_batches()
    model = MODELS[name](dropout=0.2)
    whole = losses(model, config, batches, make(model, config))
    for stop in (1, len(batches), len(whole) - 1):
        model = MODELS[name](dropout=0.2)
        optimizer = make(model, config)

        def save_and_stop(
            progress, *_, model=model, optimizer=optimizer, stop=stop
        ):
            if progress.step == stop:
                state = resume_state(model, optimizer, progress)
                checkpoint.save(tmp_path / "last", model, resume=state)
                raise Stop

        with pytest.raises(Stop):
            fit(model, optimizer, batches, config, on_step=save_and_stop)
        loaded = checkpoint.load(tmp_path / "last")
        torch.manual_seed(99)  # another process would stand elsewhere
        optimizer = make(loaded.model, config)
        progress = restore(loaded.resume, loaded.model, optimizer)
        rest = losses(loaded.model, config, batches, optimizer, progress)
        assert rest == whole[stop:]


def test_the_state_of_another_model_is_refused():
    model, other = tiny_transformer(), tiny_gru()
    config = LoopConfig()
    optimizer = make_optimizer(model, config)
    train_step(model, one_batch(), optimizer, config)
    state = resume_state(model, optimizer, Progress(step=1))
    with pytest.raises(CheckpointError, match="of another model"):
        restore(state, other, make_optimizer(other, config))


# --- settings ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"save_every": 0}, "save_every is 0"),
        ({"epochs": 3, "cooldown": 4}, "cooldown is 4"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        LoopConfig(**changes)


# --- other devices ----------------------------------------------------------


def elsewhere(device: str) -> nn.Module:
    """Stands for a model on a device that this machine may not have."""
    model, weight = nn.Module(), SimpleNamespace(device=torch.device(device))
    model.parameters = lambda: iter([weight])
    model.named_parameters = dict
    return model


@pytest.mark.parametrize(
    ("device", "named"),
    [("cuda:1", ["cuda:1"]), ("cuda", ["cuda"]), ("mps", [])],
)
def test_the_random_state_is_that_of_the_models_device(
    device, named, monkeypatch
):
    asked, kept = [], torch.arange(3, dtype=torch.uint8)

    def get(*where):
        asked.append(["get", *map(str, where)])
        return kept

    def put(state, *where):
        asked.append(["set", *map(str, where)])
        assert state is kept

    for kind in (torch.cuda, torch.mps):
        monkeypatch.setattr(kind, "get_rng_state", get)
        monkeypatch.setattr(kind, "set_rng_state", put)
    model = elsewhere(device)
    optimizer = make_optimizer(nn.Linear(1, 1), LoopConfig())
    state = resume_state(model, optimizer, Progress())
    restore(state, model, optimizer)
    assert asked == [["get", *named], ["set", *named]]
    restore(state, elsewhere("cpu"), optimizer)
    assert len(asked) == 2  # another kind of device draws anew


# --- coming back from a fault -----------------------------------------------


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_comes_back_when_the_loss_fails(training):
    model = tiny_transformer().train(training)

    def fails(model, *_):
        assert not model.training
        raise RuntimeError

    with pytest.raises(RuntimeError):
        evaluate(model, [one_batch()], fails)
    assert model.training is training


def test_weights_that_an_epoch_ends_with_are_numbers():
    model, config = tiny_gru(), LoopConfig(epochs=1)
    last = len(some_batches())
    ended = []

    def poison(progress, *_):
        if progress.step == last:
            with torch.no_grad():
                next(model.parameters()).fill_(math.nan)

    with pytest.raises(DivergedError, match="is not finite.*Lower the peak"):
        fit(
            model,
            make_optimizer(model, config),
            some_batches(),
            config,
            on_step=poison,
            on_epoch=lambda *_: ended.append(True),
        )
    assert not ended
