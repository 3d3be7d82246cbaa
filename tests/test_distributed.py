"""Laws of training in several processes: they do what one does."""

import json
import os
import signal
import socket
from pathlib import Path

import distributed_worker
import pytest
import torch
import torch.distributed as dist
from distributed_worker import (
    STOPPED_AFTER,
    experiments,
    resumed,
    small_corpora,
    three_losses,
)
from tiny import tiny_transformer
from tiny_runs import in_a_process, losses, records

from transformer_course.batches.images import ImageBatch
from transformer_course.batches.labelled import LabelledBatch
from transformer_course.batches.masked import MaskedBatch
from transformer_course.batches.pairs import Batch
from transformer_course.errors import ConfigError
from transformer_course.training import distributed
from transformer_course.training.loss import compute_loss
from transformer_course.training.run.training import run as train_in_folder

MOST = 300
"""Seconds after which processes are ended."""
needs_gloo = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()),
    reason="torch was built without gloo",
)


# --- shares -----------------------------------------------------------------


def rows(count: int) -> torch.Tensor:
    """Rows that can be told apart."""
    return torch.arange(1, count + 1)[:, None].repeat(1, 3)


BATCHES = {
    "pairs": lambda n: Batch(rows(n), rows(n)),
    "one language": lambda n: Batch(None, rows(n)),
    "images": lambda n: ImageBatch(torch.ones(n, 1, 2, 2), rows(n)[:, 0]),
    "labelled texts": lambda n: LabelledBatch(rows(n), rows(n)[:, 0]),
    "hidden words": lambda n: MaskedBatch(
        rows(n), rows(n), rows(n) > 1, rows(n), None
    ),
    "pairs of passages": lambda n: MaskedBatch(
        rows(n), rows(n), rows(n) > 1, rows(n), rows(n)[:, 0]
    ),
}


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("kind", BATCHES)
def test_processes_have_each_row_once(kind, size):
    batch = BATCHES[kind](7)
    shares = [distributed.rows_of(batch, rank, size) for rank in range(size)]
    assert {type(share) for share in shares} == {type(batch)}
    for whole, *parts in zip(batch, *shares, strict=True):
        if whole is None:
            assert parts == [None] * size
            continue
        for rank, part in enumerate(parts):
            assert torch.equal(part, whole[rank::size])


def test_no_process_is_without_rows():
    share = distributed.rows_of(BATCHES["pairs"](2), rank=3, world_size=4)
    assert torch.equal(share.src, rows(1))


# --- devices ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cuda", "more processes than there are GPUs"),
        ("mps", "cannot train on mps: give --train.device"),
        ("cuda:1", "cannot train on cuda:1"),
    ],
)
def test_processes_do_not_share_a_gpu(monkeypatch, name, said):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "2")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with (
        pytest.raises(ConfigError, match=said),
        distributed.process_group(torch.device(name)),
    ):
        pass


# --- two processes ----------------------------------------------------------


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def work(rank: str, port: str, folder: Path) -> None:
    """What one of two processes does."""
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= meeting | {"RANK": rank, "LOCAL_RANK": rank}
    os.environ["WORLD_SIZE"] = "2"
    distributed_worker.main(folder)


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> Path:
    """The trainings of ``distributed_worker``, each made by two processes.

    Before, one process has begun the one that is resumed.

    Seen once in some forty times: a process whose work is done is aborted by
    gloo while it closes its connections. Then all is done once more.
    """
    folder, codes = trained_together(tmp_path_factory)
    if codes in ([-signal.SIGABRT, 0], [0, -signal.SIGABRT]):
        folder, codes = trained_together(tmp_path_factory)
    assert codes == [0, 0]
    return folder


def trained_together(tmp_path_factory) -> tuple[Path, list[int | None]]:
    """Where two processes have trained, and how each ended."""
    folder = tmp_path_factory.mktemp("together")
    with pytest.MonkeyPatch.context() as patch:
        small_corpora(patch)
        train_in_folder(resumed(epochs=1), folder, quiet=True)
    port = free_port()
    started = [in_a_process(work, rank, port, folder) for rank in "01"]
    for process in started:
        process.join(MOST)
        process.kill()
    return folder, [process.exitcode for process in started]


def seen(folder: Path, what: str) -> list:
    """What each of the two processes has seen."""
    files = [folder / f"{rank}.json" for rank in range(2)]
    return [json.loads(file.read_text())[what] for file in files]


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The folder of the same training, made by one process."""
    small_corpora(monkeypatch)

    def train(experiment) -> Path:
        return train_in_folder(experiment, tmp_path, quiet=True)

    return train


def assert_same_losses(one: Path, other: Path) -> None:
    """Up to the rounding of sums that are made in another order."""
    assert losses(one) == pytest.approx(losses(other), rel=1e-5)
    for key in ("tokens", "lr", "step"):
        mine, yours = (
            [r[key] for r in records(f, "step")] for f in (one, other)
        )
        assert mine == yours
    for mine, yours in zip(
        records(one, "epoch"), records(other, "epoch"), strict=True
    ):
        for key in ("train_loss", "dev_loss"):
            assert mine[key] == pytest.approx(yours[key], rel=1e-3)


SAME = [name for name in experiments() if name not in ("stopped", "resumed")]


@needs_gloo
@pytest.mark.parametrize("name", SAME)
def test_two_processes_learn_what_one_does(name, together, alone):
    assert seen(together, name) == ["", ""]
    assert_same_losses(together / name, alone(experiments()[name]))


@needs_gloo
def test_a_training_goes_on_with_any_number_of_processes(
    together, alone, monkeypatch
):
    """One process made the first epoch, two the second, one the third."""
    assert seen(together, "resumed") == ["", ""]
    small_corpora(monkeypatch)
    settings = resumed(epochs=3)
    folder = train_in_folder(settings, together, resume=True, quiet=True)
    assert_same_losses(folder, alone(settings))


@needs_gloo
def test_a_signal_to_one_stops_all_after_the_same_step(together, alone):
    told = seen(together, "stopped")
    assert told[0] == told[1]
    assert f"stopped after step {STOPPED_AFTER}, and saved" in told[0]
    folder = together / "stopped"
    assert len(losses(folder)) == STOPPED_AFTER
    train_in_folder(
        experiments()["stopped"], together, resume=True, quiet=True
    )
    assert_same_losses(folder, alone(experiments()["stopped"]))


@needs_gloo
def test_a_sharded_model_learns_what_a_whole_one_does(together):
    """FSDP2, whose processes each hold a part of every matrix."""
    whole = three_losses(tiny_transformer(seed=1).train(), compute_loss)
    for of_rank in seen(together, "sharded"):
        assert of_rank == pytest.approx(whole, rel=1e-5)
