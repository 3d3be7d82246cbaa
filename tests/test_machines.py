"""What is stored says where and how it was made."""

import json
import shutil

import pytest
from tiny_runs import records, tiny
from transformer_course.training.grid import Grid, train, training

from experiments import lab
from experiments.lab import Experiment, RunContext
from transformer_course import files
from transformer_course.device import joined
from transformer_course.errors import ConfigError, DivergedError
from transformer_course.training.run import run


def test_a_machine_is_named_once():
    assert joined(None, "A") == joined("", "A") == joined("A", "A") == "A"
    both = joined("A", "B")
    assert both == joined(both, "A") == joined("A", both) == "A; then B"
    assert joined(None, 26) == joined(26, 26) == 26


def test_an_experiment_names_each_machine_and_the_seeds_that_were_run(
    tmp_path, monkeypatch
):
    day = {"date": "Monday"}
    one = Experiment(
        "counted",
        "00",
        {"first": 1, "second": 2},
        lambda variant, seed, context: {"seed": seed},
        settings=lambda: {"steps": 3},
        about=lambda variant: {"machine": lab.machine()},
        conditions=day.copy,
    )
    for name, date, seed in (("A", "Monday", 1), ("B", "Sunday", 0)):
        day["date"] = date
        monkeypatch.setattr(lab, "machine", lambda name=name: name)
        one.make(RunContext(tmp_path, ("first",), (seed,), log=list))
    monkeypatch.setattr(lab, "machine", lambda: "C")
    one.make(
        RunContext(tmp_path, ("first",), (0,), log=list)
    )  # nothing is missing
    both = {"machine": "A; then B", "date": "Monday; then Sunday"}
    about = json.loads((tmp_path / "settings.json").read_text("utf-8"))
    assert about.items() >= (both | {"seeds": [0, 1], "steps": 3}).items()
    stored = json.loads((tmp_path / "first.json").read_text("utf-8"))
    assert stored["machine"] == "A; then B"


def test_a_grid_names_each_machine_and_the_seeds_that_were_trained(
    tmp_path, monkeypatch
):
    def diverges(*_, **__):  # in no time
        raise DivergedError("the loss is nan")

    monkeypatch.setattr(training, "run", diverges)
    grid, outputs = Grid("tiny", tiny(), {}, (0, 1)), tmp_path / "out"
    for name in "AB":
        monkeypatch.setattr(training, "machine", lambda name=name: name)
        # another process has seed 0 under way, the first time
        lock = outputs / "tiny/.locks" / ("base-seed0" if name == "A" else "x")
        with files.locked(lock):
            found = train(grid, outputs, tmp_path / "runs", quiet=True)
        if name == "A":
            assert (found.machine, found.seeds) == ("A", [1])
    assert (found.machine, found.seeds) == ("A; then B", [0, 1])
    assert found.cells["base", 1]["machine"] == "A"
    assert found.cells["base", 0]["machine"] == "B"


@pytest.mark.usefixtures("small_corpus")
def test_a_run_that_cools_down_keeps_its_end(tmp_path, capsys):
    """In more epochs the rate would have fallen later: it would rise."""
    folder = run(tiny(epochs=2, cooldown=1), tmp_path)
    for epochs in (1, 3):
        settings = tiny(epochs=epochs, cooldown=1)
        for resume, told in ((True, "the run began"), (False, "holds a run")):
            with pytest.raises(ConfigError, match=told) as error:
                run(settings, tmp_path, resume)
            assert f"epochs 2, but {epochs} is given" in str(error.value)
            assert "cool-down" in str(error.value)
            assert "another --name" in str(error.value)
    before = records(folder)
    capsys.readouterr()
    run(tiny(epochs=2, cooldown=1), tmp_path, resume=True)
    assert "all are done\n" in capsys.readouterr().out
    assert records(folder) == before


@pytest.mark.usefixtures("small_corpus")
def test_a_run_does_not_go_on_with_fewer_epochs_than_it_has_had(
    finished, tmp_path
):
    folder = shutil.copytree(finished, tmp_path / "tiny")
    with pytest.raises(ConfigError, match=r"for 3 epochs already.*give 3 or"):
        run(tiny(epochs=2), tmp_path, resume=True, quiet=True)
    settings = json.loads((folder / "experiment.json").read_text("utf-8"))
    assert settings["train"]["epochs"] == 3
