"""Laws of training in several processes: they do what one does."""

import socket
from pathlib import Path
from typing import NamedTuple

import distributed_worker
import pytest
import torch
import torch.distributed as dist
from distributed_worker import (
    EXPERTS,
    MAX_LENGTH,
    STOPPED_AFTER,
    experiments,
    resumed,
    small_corpora,
    ten_steps,
)
from tiny_runs import in_a_process, losses, records
from torch.distributed.run import main as torchrun

from transformer_course.batches.images import ImageBatch
from transformer_course.batches.labelled import LabelledBatch
from transformer_course.batches.masked import MaskedBatch
from transformer_course.batches.pairs import Batch
from transformer_course.errors import ConfigError
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_parts import mixtures
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


def test_a_process_without_rows_counts_for_nothing(monkeypatch):
    """The third of three, with two rows."""
    monkeypatch.setattr(distributed, "world_size", lambda: 3)
    monkeypatch.setattr(distributed, "rank", lambda: 2)
    monkeypatch.setattr(distributed, "DistributedDataParallel", lambda m: m)
    monkeypatch.setattr(dist, "all_reduce", lambda mine: None)
    model = ModernLanguageModel(EXPERTS)
    loss_fn = distributed.data_parallel(model, compute_loss)
    sums = loss_fn(model, BATCHES["one language"](2))
    sums.loss.backward()
    loads = [mixture.load for mixture in mixtures(model)]
    assert not any(part.any() for part in (*sums, *loads))
    assert not any(part.grad.any() for part in model.embedding.parameters())


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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """What two processes have said and seen, and where they have trained.

    Before, one process has begun the training that they go on with.
    """
    folder = tmp_path_factory.mktemp("together")
    with pytest.MonkeyPatch.context() as patch:
        small_corpora(patch)
        train_in_folder(resumed(epochs=1), folder, quiet=True)
    options = ("--nproc-per-node=2", f"--master-port={free_port()}")
    logs = ("--redirects=3", f"--log-dir={folder / 'logs'}")
    program = (distributed_worker.__file__, str(folder))
    process = in_a_process(torchrun, [*options, *logs, *program])
    process.join(MOST)
    process.terminate()  # and with it the two
    process.join()
    if process.exitcode:
        said = [path.read_text() for path in folder.rglob("stderr.log")]
        pytest.fail("\n".join(said))
    return Together(
        folder, *(torch.load(folder / f"{rank}.pt") for rank in range(2))
    )


class Together(NamedTuple):
    """What is known of two processes."""

    folder: Path
    first: dict
    second: dict


@needs_gloo
def test_the_command_trains_and_validates_beyond_the_longest_text(together):
    """Twice: what a validation leaves behind would be met after it."""
    folder = together.folder / "grammar"
    first, _ = records(folder, "epoch")
    written = [sample["greedy"] for sample in first["samples"]]
    assert max(len(text.split()) for text in written) > MAX_LENGTH


@needs_gloo
@pytest.mark.parametrize(
    ("output", "words"), [("stdout", "done: "), ("stderr", "warning: 40 of")]
)
def test_the_first_process_alone_prints(output, words, together):
    paths = sorted(together.folder.rglob(f"{output}.log"))
    assert [path.read_text().count(words) for path in paths] == [1, 0]


@needs_gloo
@pytest.mark.parametrize("name", experiments())
def test_two_processes_learn_what_one_does(name, together, monkeypatch):
    """Ten steps in float64; the last batch has a row for one of them."""
    small_corpora(monkeypatch)
    alone = ten_steps(experiments()[name])
    for key, weight in alone.items():
        mine, yours = together.first[name][key], together.second[name][key]
        assert torch.equal(mine, yours), key
        assert (weight - mine).abs().max() < 1e-9, key
    if name == "experts":
        assert alone["layers.0.feed_forward.bias"].any()


@needs_gloo
def test_processes_draw_masks_of_their_own_and_keep_the_same_weights(together):
    mine, mask = together.first["with dropout"]
    yours, other_mask = together.second["with dropout"]
    assert not torch.equal(mask, other_mask)
    assert mine["layers.0.feed_forward.bias"].any()
    for key, weight in mine.items():
        assert torch.equal(weight, yours[key]), key


@needs_gloo
def test_a_training_goes_on_with_any_number_of_processes(
    together, tmp_path, monkeypatch
):
    """One process made the first epoch, and two began the second. A signal to
    one stops both after the same step; then one process goes on.
    """
    told = together.first["stopped"]
    assert told == together.second["stopped"]
    small_corpora(monkeypatch)
    settings = resumed(epochs=3)
    alone = train_in_folder(settings, tmp_path, quiet=True)
    folder = together.folder / settings.name
    made = len(losses(folder))
    assert f"stopped after step {made}, and saved" in told
    assert made == len(losses(alone)) // 3 + STOPPED_AFTER
    train_in_folder(settings, together.folder, resume=True, quiet=True)
    assert losses(folder) == pytest.approx(losses(alone), rel=1e-5)
    for one, other in zip(
        records(folder, "epoch"), records(alone, "epoch"), strict=True
    ):
        for key in ("train_loss", "dev_loss"):
            assert one[key] == pytest.approx(other[key], rel=1e-3)
