"""Laws of several processes that train one model: they are as one."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest
import team_worker
import torch
import torch.distributed as dist
from team_worker import STOPPED_AFTER, experiments, resumed, small_corpora
from tiny import ragged_ids, tiny_transformer, with_bos
from tiny_runs import in_a_process, losses, records

from transformer_course.batches.images import ImageBatch
from transformer_course.batches.labelled import LabelledBatch
from transformer_course.batches.masked import MaskedBatch
from transformer_course.batches.pairs import Batch
from transformer_course.errors import ConfigError
from transformer_course.training.config import TrainConfig
from transformer_course.training.distributed import (
    ALONE,
    SET_BY_TORCHRUN,
    Team,
    joined,
)
from transformer_course.training.loop import make_optimizer, train_step
from transformer_course.training.loss import Score
from transformer_course.training.objective import training_score
from transformer_course.training.run import run as train_in_folder

HERE = Path(__file__).parent
MOST = 300
"""Seconds after which processes are ended."""
needs_gloo = pytest.mark.skipif(
    not (dist.is_available() and dist.is_gloo_available()),
    reason="torch was built without gloo",
)


def one_batch() -> Batch:
    """Four pairs of several lengths."""
    lengths = [6, 4, 5, 2]
    return Batch(
        ragged_ids(lengths, seed=1), with_bos(ragged_ids(lengths, seed=2))
    )


# --- alone ------------------------------------------------------------------


def test_a_process_alone_sends_nothing_and_copies_nothing(monkeypatch):
    for name in ("all_reduce", "broadcast", "barrier", "init_process_group"):
        monkeypatch.delattr(dist, name, raising=False)
    for name in SET_BY_TORCHRUN:
        monkeypatch.delenv(name, raising=False)
    model, config = tiny_transformer().train(), TrainConfig()
    with joined() as team:
        assert team is ALONE
        team.wait()
        team.check_same(model)
        before = torch.get_rng_state()
        team.draw_apart()
        assert torch.equal(before, torch.get_rng_state())
        assert team.tells() and team.tells() and team.any(True)
        seen = []

        def objective(model, batch, config):
            seen.append(batch)
            return training_score(model, batch, config)

        batch = one_batch()
        train_step(
            model, batch, make_optimizer(model, config), config, objective
        )
    assert seen[0].tgt is batch.tgt


def test_torchrun_with_one_process_is_one_process(monkeypatch):
    for name, value in zip(SET_BY_TORCHRUN, "010", strict=True):
        monkeypatch.setenv(name, value)
    with joined() as team:
        assert team is ALONE


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"RANK": "0"}, "WORLD_SIZE, LOCAL_RANK is not set.*torchrun"),
        ({"WORLD_SIZE": "2", "LOCAL_RANK": "0"}, "RANK is not set"),
        (
            {"RANK": "2", "WORLD_SIZE": "2", "LOCAL_RANK": "0"},
            "RANK=2, WORLD_SIZE=2, LOCAL_RANK=0 is no place",
        ),
        ({"RANK": "a", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}, "RANK=a"),
    ],
)
def test_a_place_that_is_none_is_refused(monkeypatch, given, said):
    for name in SET_BY_TORCHRUN:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=said), joined():
        pass


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


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("kind", BATCHES)
def test_shares_have_each_row_once(kind, size):
    batch = BATCHES[kind](7)
    shares = [Team(rank, size).share(batch) for rank in range(size)]
    assert {type(share) for share in shares} == {type(batch)}
    for whole, *parts in zip(batch, *shares, strict=True):
        if whole is None:
            assert parts == [None] * size
            continue
        for rank, part in enumerate(parts):
            assert torch.equal(part, whole[rank::size])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_scores_of_shares_add_up_to_that_of_the_batch(count):
    """With fewer rows than processes, too: those without one count not."""
    model, config = tiny_transformer(), TrainConfig(label_smoothing=0.1)
    batch = one_batch().take(torch.arange(count))
    whole = training_score(model, batch, config)
    scores = [
        Team(rank, 3).score(training_score, model, batch, config)
        for rank in range(3)
    ]
    together = sum(scores[1:], scores[0])
    torch.testing.assert_close(tuple(together), tuple(whole))
    assert isinstance(together, Score)


# --- where ------------------------------------------------------------------


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    taken = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    cuda, cpu = torch.device("cuda"), torch.device("cpu")
    second = Team(rank=3, size=4, local_rank=1)
    assert second.place(cuda) == torch.device("cuda:1")
    assert taken == [1]
    assert second.place(cpu) == cpu
    assert ALONE.place(torch.device("cuda:1")) == torch.device("cuda:1")
    with pytest.raises(
        ConfigError, match="more processes.*--nproc-per-node 2"
    ):
        Team(2, 4, local_rank=2).place(cuda)


@pytest.mark.parametrize("name", ["mps", "cuda:1"])
def test_processes_do_not_share_a_gpu(name):
    with pytest.raises(ConfigError, match=f"on {name}: give --train.device"):
        Team(0, 2).place(torch.device(name))


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
    team_worker.main(folder)


@pytest.fixture(scope="module")
def together(tmp_path_factory) -> Path:
    """The trainings of ``team_worker``, each made by two processes; before,
    one process has begun the one that is resumed.

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
    assert losses(one) == pytest.approx(losses(other), rel=1e-4)
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
def test_what_processes_tell_each_other(together):
    first, second = seen(together, "talk")
    for one in (first, second):
        assert one["total"] == [3, 5, 7, 3]
        assert one["types"] == ["torch.float32"] * 2 + ["torch.int64"] * 2
        assert one["any"] == [True, False]
        assert "do not begin with the same" in one["differs"]
    assert sorted([first["tells"], second["tells"]]) == [False, True]
    assert first["drawn"] != second["drawn"]
