"""One of two processes that ``test_distributed.py`` starts.

It trains all of :func:`experiments` together with the other process, and
leaves ``RANK.json`` in the folder: the errors and losses of this process.
"""

import dataclasses
import json
import os
import signal
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from tiny import (
    ragged_ids,
    tiny_corpus,
    tiny_labels,
    tiny_transformer,
    with_bos,
)
from tiny_runs import (
    other,
    tiny,
    tiny_images,
    tiny_library,
    tiny_masked,
    tiny_texts,
)
from torch.distributed.device_mesh import init_device_mesh

from transformer_course.batches.pairs import Batch
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.errors import CourseError
from transformer_course.training import distributed, loop
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    SequenceLossConfig,
)
from transformer_course.training.loop import train_step
from transformer_course.training.loss import LossSums, compute_loss
from transformer_course.training.run.training import run

STOPPED_AFTER = 3
"""Steps after which the second process is asked to stop."""


def experiments() -> dict[str, Experiment]:
    """A training of each kind of batch, without dropout."""
    short = {"epochs": 1, "peak_rate": 0.005}
    text = tiny("learned", **short, clip=0.5)
    made = {
        "text": text,
        "read twice": dataclasses.replace(
            tiny("learned", **short), loss=SequenceLossConfig(r_drop=1.0)
        ),
        "a row a batch": other(text, token_budget=8),
        "images": tiny_images(**short),
        "labelled texts": tiny_texts(**short),
        "hidden words": _one_passage(tiny_masked(**short | {"epochs": 4})),
        "stopped": tiny("learned", epochs=1, save_every=500),
        "resumed": resumed(epochs=2),
    }
    return {name: _named(name, made) for name, made in made.items()}


def resumed(epochs: int) -> Experiment:
    """The training that goes on with other numbers of processes."""
    return _named("resumed", tiny("learned", epochs=epochs, peak_rate=0.005))


def _named(name: str, experiment: Experiment) -> Experiment:
    model = dataclasses.replace(experiment.model, dropout=0.0)
    return dataclasses.replace(experiment, name=name, model=model)


def _one_passage(experiment: Experiment) -> Experiment:
    model = dataclasses.replace(experiment.model, next_sentence=False)
    experiment = dataclasses.replace(experiment, model=model)
    return other(experiment, token_budget=512)


def small_corpora(patch: pytest.MonkeyPatch) -> None:
    """What they learn from."""
    tiny_corpus(patch)
    tiny_labels(patch)
    books = Corpus("authors", ("ja",), works=tiny_library)
    patch.setitem(CORPORA, "authors", books)


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    with pytest.MonkeyPatch.context() as patch:
        small_corpora(patch)
        seen = {"sharded": sharded_losses()}
        for name, experiment in experiments().items():
            if name == "stopped":
                asked_to_stop(patch)
            seen[name] = trained(experiment, folder)
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps(seen))
    dist.barrier()
    dist.destroy_process_group()


def trained(experiment: Experiment, folder: Path) -> str:
    """The error that a training ended with, if any."""
    resume = experiment.name == "resumed"
    try:
        run(experiment, folder, resume, quiet=True)
    except CourseError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def asked_to_stop(patch: pytest.MonkeyPatch) -> None:
    """Send a signal to the second process, once."""
    step, made = loop.train_step, []

    def signalled(*args) -> LossSums:
        made.append(step(*args))
        if len(made) == STOPPED_AFTER and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return made[-1]

    patch.setattr(loop, "train_step", signalled)


def sharded_losses() -> list[float]:
    """Three steps of a model whose parameters FSDP2 shards."""
    from torch.distributed.fsdp import fully_shard  # here: it takes seconds

    model = tiny_transformer(seed=1).train()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (*model.encoder.layers, *model.decoder.layers):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)

    def own_rows(model, batch) -> LossSums:
        rank, size = dist.get_rank(), dist.get_world_size()
        return compute_loss(model, distributed.rows_of(batch, rank, size))

    return three_losses(model, own_rows)


def three_losses(model, loss_fn) -> list[float]:
    """Losses of three steps on one batch."""
    config, batch = LoopConfig(), one_batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return [
        train_step(model, batch, optimizer, config, loss_fn).means()["loss"]
        for _ in range(3)
    ]


def one_batch() -> Batch:
    """Four pairs of several lengths."""
    lengths = [6, 4, 5, 2]
    return Batch(
        ragged_ids(lengths, seed=1), with_bos(ragged_ids(lengths, seed=2))
    )
