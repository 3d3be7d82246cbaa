"""One of the processes that ``test_distributed.py`` starts by ``torchrun``.

Together they make the trainings below; each leaves ``RANK.pt`` in the folder,
with what it has seen.
"""

import dataclasses
import itertools
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from tiny import tiny_corpus, tiny_digits, tiny_labels
from tiny_runs import (
    other,
    tiny,
    tiny_books,
    tiny_images,
    tiny_masked,
    tiny_texts,
)
from torch import nn

from transformer_course.checkpoints import checkpoint
from transformer_course.cli import main as command
from transformer_course.errors import Interrupted
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training import distributed, loop
from transformer_course.training.config import (
    Experiment,
    SequenceLossConfig,
)
from transformer_course.training.loop import make_optimizer, train_step
from transformer_course.training.loss import LossSums
from transformer_course.training.run.prepare import prepare
from transformer_course.training.run.training import run

Weights = dict[str, torch.Tensor]
MAX_LENGTH = 4
STEPS = 10
STOPPED_AFTER = 3
"""Steps of the second epoch after which the second process is asked to
stop."""
SIZES = {"d_model": 16, "n_heads": 2, "n_kv_heads": 1, "d_ff": 16}
EXPERTS = ModernConfig(
    vocab_size=30, n_layers=2, n_experts=4, d_expert=8, **SIZES
)
COMMAND = f"""
train grammar --train.device cpu --train.epochs 2 --data.pieces word
--model.d-model 16 --model.n-heads 2 --model.n-layers 1
--model.max-length {MAX_LENGTH} --output-dir
""".split()


def experiments() -> dict[str, Experiment]:
    """Trainings of each kind of batch, and of experts, without dropout."""
    twice = SequenceLossConfig(r_drop=1.0)
    made = {
        "text": tiny("learned", clip=0.5),
        "read twice": dataclasses.replace(tiny("learned"), loss=twice),
        "experts": experts(dropout=0.0),
        "images": tiny_images(),
        "labelled texts": tiny_texts(),
        "hidden words": tiny_masked(),
    }
    return {name: _without_dropout(made[name]) for name in made}


def experts(**changes) -> Experiment:
    """A training of a decoder with a mixture of experts."""
    model = dataclasses.replace(EXPERTS, **changes)
    return dataclasses.replace(
        tiny("decoder-only", epochs=1, average_last=0),
        name="experts",
        model=model,
    )


def resumed(epochs: int) -> Experiment:
    """The training that goes on with other numbers of processes."""
    return _without_dropout(
        tiny("learned", epochs=epochs, peak_rate=0.005, save_every=500)
    )


def _without_dropout(experiment: Experiment) -> Experiment:
    changes = {"dropout": 0.0}
    if not hasattr(experiment.model, "next_sentence"):
        return other(experiment, changes)
    changes["next_sentence"] = False
    return other(experiment, changes, token_budget=512)


def small_corpora(patch: pytest.MonkeyPatch) -> None:
    """What they learn from."""
    tiny_corpus(patch)
    tiny_labels(patch)
    tiny_books(patch)
    tiny_digits(patch)


def ten_steps(experiment: Experiment) -> Weights:
    """The weights after ten updates in float64; the last batch has one row."""
    prepared, config = prepare(experiment), experiment.train
    model = prepared.model.double().train()
    loss = partial(prepared.task.loss, config=experiment.loss)
    loss_fn = distributed.data_parallel(model, loss)
    optimizer = make_optimizer(model, config)
    epochs = map(prepared.batches.epoch, itertools.count())
    every = itertools.chain.from_iterable(epochs)
    *batches, last = itertools.islice(every, STEPS)
    for batch in (*batches, distributed.rows_of(last, 0, 10_000)):
        exact = (
            p.double() if p is not None and p.is_floating_point() else p
            for p in batch
        )
        train_step(model, type(batch)(*exact), optimizer, config, loss_fn)
    return weights_of(model)


def weights_of(model: nn.Module) -> Weights:
    """All parameters, by name."""
    return {name: p.detach() for name, p in model.named_parameters()}


def with_dropout(folder: Path) -> tuple[Weights, torch.Tensor]:
    """The weights after a run with dropout, and the first mask drawn."""
    masks, models = [], []

    def note(model, args) -> None:
        if model.training and not masks:
            with torch.random.fork_rng():
                masks.append(nn.functional.dropout(torch.ones(64)))

    def build(config) -> nn.Module:
        model = checkpoint.build(config)
        model.register_forward_pre_hook(note)
        models.append(model)
        return model

    run(experts(dropout=0.2), folder, quiet=True, build=build)
    return weights_of(models[0]), masks[0]


def stopped(folder: Path) -> str:
    """Go on with a training; the second process is asked to stop."""
    step, made = loop.train_step, []

    def signalled(*args) -> LossSums:
        made.append(step(*args))
        if len(made) == STOPPED_AFTER and distributed.rank() == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "train_step", signalled)
        with pytest.raises(Interrupted) as told:
            run(resumed(epochs=3), folder, resume=True, quiet=True)
    return str(told.value)


def main(folder: Path) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.process_group(torch.device("cpu")),
    ):
        small_corpora(patch)
        command([*COMMAND, str(folder)])
        seen = {name: ten_steps(e) for name, e in experiments().items()}
        seen["with dropout"] = with_dropout(folder)
        seen["stopped"] = stopped(folder)
    torch.save(seen, folder / f"{os.environ['RANK']}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
