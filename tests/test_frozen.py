"""What was trained before trains the same, loads and goes on.

How the files were made is said in ``frozen/README.md``.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from tiny import tiny_corpus
from tiny_runs import losses

from transformer_course import checkpoint, speed
from transformer_course.config import Experiment, from_dict, upgraded
from transformer_course.data.manifest import is_available
from transformer_course.experiment import RunFolder, run
from transformer_course.presets import PRESETS
from transformer_course.tasks.table import task_of

FROZEN = Path(__file__).parent / "frozen"
LOSSES = json.loads((FROZEN / "losses.json").read_text("utf-8"))
TOLERANCE = 1e-4
"""Of losses. Under AVX2 and SSE4.1 in place of AVX-512 they were found to
differ by 8e-5 at the most, after twenty steps too."""
FEW_TOKENS = 2e-3
"""Of accuracies: there one token in 1,950 changed sides, where two
predictions are equally likely but for rounding."""
DROPPED = 59256
"""Sum of the places that dropout empties, of 1,000, where the losses were
recorded. Torch draws it by other instructions on other processors."""


def dropped() -> int:
    """What this machine's dropout empties."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kept = F.dropout(torch.ones(1000), 0.1)
    return int((kept == 0).nonzero().sum())


same_dropout = pytest.mark.skipif(
    dropped() != DROPPED,
    reason="dropout draws other places on this processor than where the "
    "losses were recorded, so that they cannot be compared",
)


@same_dropout
@pytest.mark.parametrize("name", LOSSES)
def test_the_first_steps_have_the_losses_that_they_had(name):
    corpus = PRESETS[name].data.corpus
    if corpus != "grammar" and not is_available(corpus):
        pytest.skip(f"the losses of {name} need the corpus {corpus}")
    done = subprocess.run(
        [sys.executable, FROZEN / "first_steps.py", name],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(FROZEN.parents[1])},
    )
    steps = zip(json.loads(done.stdout), LOSSES[name], strict=True)
    for step, (now, then) in enumerate(steps, 1):
        assert now[:2] == pytest.approx(then[:2], rel=TOLERANCE), step
        assert now[2] == pytest.approx(then[2], abs=FEW_TOKENS), step


# --- runs that readers have -------------------------------------------------

RUNS = json.loads((FROZEN / "runs.json").read_text("utf-8"))
TASKS = dict.fromkeys(RUNS, "translation")
TASKS["decoder-only"] = "language_modelling"
SRC = torch.tensor([[5, 6, 2], [7, 2, 0]])
TGT = torch.tensor([[1, 4, 5, 6], [1, 7, 0, 0]])
each_run = pytest.mark.parametrize("name", RUNS)


def stored(name: str) -> Experiment:
    """The settings that a run was begun with, in today's classes."""
    settings = RunFolder(FROZEN / "runs" / name).settings()
    last = checkpoint.load(FROZEN / "runs" / name / "checkpoints" / "last")
    kinds = {
        field.name: field.default_factory
        for field in dataclasses.fields(Experiment)
        if field.name in ("data", "train")
    }
    kinds["model"] = type(last.model.config)
    parts = {part: from_dict(kinds[part], settings[part]) for part in kinds}
    return Experiment(name, task=settings["task"], **parts)


@each_run
def test_an_old_checkpoint_gives_the_logits_that_it_gave(name):
    loaded = checkpoint.load(FROZEN / "runs" / name / "checkpoints" / "last")
    task = task_of(loaded.model.config, loaded.details)
    assert task.name == TASKS[name]
    inputs = (SRC, TGT) if task.prompted == "src" else (TGT,)
    with torch.inference_mode():
        logits = loaded.model(*inputs)[..., :6]
    expected = torch.tensor(RUNS[name]["logits"])
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@same_dropout
@each_run
def test_an_old_run_goes_on_as_if_nothing_had_stopped_it(
    tmp_path, monkeypatch, name
):
    tiny_corpus(monkeypatch)
    # what was dropped, torch drew at that time
    monkeypatch.setattr(speed, "dropout", F.dropout)
    shutil.copytree(FROZEN / "runs" / name, tmp_path / name)
    folder = run(stored(name), tmp_path, resume=True, quiet=True)
    expected = RUNS[name]["losses"]
    assert len(losses(folder)) > RUNS[name]["stopped_after"]
    assert losses(folder) == pytest.approx(expected, rel=TOLERANCE)


@pytest.mark.parametrize("name", RUNS)
def test_old_settings_are_of_a_task(name):
    path = FROZEN / "runs" / name / "experiment.json"
    old = json.loads(path.read_text("utf-8"))
    assert "task" not in old
    assert upgraded(old)["task"] == TASKS[name]
