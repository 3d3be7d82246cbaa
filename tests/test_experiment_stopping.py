"""Laws of a training that is stopped: nothing is lost, it goes on the same."""

import math
import os
import signal

import pytest
import torch
from tiny import Killed, dies_at
from tiny_runs import assert_same_runs, losses, records, tiny, weights

from transformer_course.checkpoints import checkpoint
from transformer_course.errors import DivergedError, Interrupted
from transformer_course.training import loop as train
from transformer_course.training.run import training
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.recorder import Recorder
from transformer_course.training.run.training import run

pytestmark = pytest.mark.usefixtures("small_corpus")


# --- stopped in the middle --------------------------------------------------


KILLS = [
    *[(checkpoint, "_replace", n) for n in (1, 4, 6)],
    (checkpoint.Path, "rename", 7),
    (training, "evaluate", 2),
    (RunFolder, "begin", 1),
    (checkpoint.Path, "replace", 1),
    (checkpoint, "average", 1),
]


@pytest.mark.parametrize(
    ("target", "name", "call"), KILLS, ids=lambda x: getattr(x, "__name__", x)
)
def test_a_run_killed_anywhere_goes_on_as_if_it_had_not_been(
    finished, tmp_path, monkeypatch, target, name, call
):
    with monkeypatch.context() as patch:
        dies_at(patch, target, name, call)
        with pytest.raises(Killed):
            run(tiny(), tmp_path, quiet=True)
    begun = (tmp_path / "tiny" / "experiment.json").exists()
    folder = run(tiny(), tmp_path, resume=begun, quiet=True)
    assert_same_runs(folder, finished)


def test_now_and_then_there_is_a_checkpoint_to_go_on_from(
    tmp_path, monkeypatch
):
    """Not at an epoch's end alone: here after each second step."""
    dies_at(monkeypatch, train, "train_step", 4)
    with pytest.raises(Killed):
        run(tiny(), tmp_path, quiet=True)
    last = checkpoint.load(tmp_path / "tiny" / "checkpoints" / "last")
    assert last.resume.values["step"] == 2


def test_ctrl_c_saves_and_says_how_to_go_on(finished, tmp_path, monkeypatch):
    original, steps = Recorder._write, []

    def press_ctrl_c(self, record):
        original(self, record)
        steps.append(record)
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_write", press_ctrl_c)
        with pytest.raises(Interrupted, match=r"after step 3.*--resume"):
            run(tiny(save_every=500), tmp_path, quiet=True)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(losses(tmp_path / "tiny")) == 3
    folder = run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


# --- faults -----------------------------------------------------------------


def poisoned_after(monkeypatch, last: int) -> None:
    """The last-th update leaves a weight that is no number."""
    step, made = train.train_step, []

    def poisoned(model, *args):
        sums = step(model, *args)
        made.append(sums)
        if len(made) == last:
            with torch.no_grad():
                next(model.parameters()).fill_(math.nan)
        return sums

    monkeypatch.setattr(train, "train_step", poisoned)


@pytest.mark.parametrize("save_every", [500, 1])
def test_weights_that_are_no_numbers_are_never_saved(
    finished, tmp_path, monkeypatch, save_every
):
    """After the last update of an epoch, when no loss shows it any more."""
    per_epoch = len(losses(finished)) // 3
    poisoned_after(monkeypatch, 2 * per_epoch)
    with pytest.raises(DivergedError, match="not finite"):
        run(tiny(save_every=save_every), tmp_path, quiet=True)
    kept = sorted((tmp_path / "tiny" / "checkpoints").iterdir())
    assert {"best", "last", "epoch-001"} <= {folder.name for folder in kept}
    for folder in kept:
        assert all(w.isfinite().all() for w in weights(folder).values())
    assert len(records(tmp_path / "tiny", "epoch")) == 1
