"""Laws of a training that is stopped: nothing is lost, it goes on the same."""

import contextlib
import errno
import os
import signal

import pytest
from tiny import Killed, dies_at
from tiny_runs import assert_same_runs, losses, tiny

from transformer_course import checkpoint
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.experiment import Interrupted, RunFolder, run
from transformer_course.experiment.recorder import Recorder
from transformer_course.tasks import task, translation

pytestmark = pytest.mark.usefixtures("small_corpus")


# --- stopped in the middle --------------------------------------------------


KILLS = [
    (checkpoint, "_put_in_place", 1),
    (checkpoint, "_put_in_place", 3),
    *[(checkpoint, "_put_in_place", n) for n in range(4, 9)],
    (checkpoint.Path, "rename", 7),
    (checkpoint.Path, "rename", 8),
    (task, "evaluate", 2),
    (translation, "translate", 3),
    (RunFolder, "begin", 1),
    (RunFolder, "_machines", 1),
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


def test_killed_again_and_again(finished, tmp_path, monkeypatch):
    """Each life makes a checkpoint or two, and then dies in the next."""
    for life in range(30):
        with monkeypatch.context() as patch:
            dies_at(patch, checkpoint, "_put_in_place", 4)
            with contextlib.suppress(Killed):
                run(tiny(), tmp_path, resume=life > 0, quiet=True)
                break
    assert life > 3
    assert_same_runs(tmp_path / "tiny", finished)


def test_ctrl_c_saves_and_says_how_to_go_on(finished, tmp_path, monkeypatch):
    original, steps = Recorder._write, []

    def press_ctrl_c(self, **record):
        original(self, **record)
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


@pytest.mark.parametrize("write", [1, 2, 5])
def test_a_full_disk_leaves_the_last_checkpoint(
    finished, tmp_path, monkeypatch, write
):
    calls = []
    original = checkpoint._write_tensors

    def fills_up(path, tensors):
        calls.append(path)
        if len(calls) >= write:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(path, tensors)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write_tensors", fills_up)
        with pytest.raises(CheckpointError, match="No space left"):
            run(tiny(), tmp_path, quiet=True)
    folder = run(tiny(), tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, finished)


def test_a_full_disk_while_writing_metrics_is_one_line(tmp_path, monkeypatch):
    def fills_up(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Recorder, "_write", fills_up)
    with pytest.raises(CourseError, match=r"No space left.*--resume"):
        run(tiny(), tmp_path, quiet=True)
