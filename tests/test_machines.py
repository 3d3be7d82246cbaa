"""What is stored says where and how it was made."""

import json
import shutil
from dataclasses import replace

import pytest
from tiny_runs import records, tiny

from experiments import lab, store, table_3
from experiments.lab import Experiment, RunContext
from transformer_course.device import joined, machine
from transformer_course.errors import ConfigError, DivergedError
from transformer_course.training.run.training import run


def test_a_machine_is_named_once():
    assert joined(None, "A") == joined("", "A") == joined("A", "A") == "A"
    both = joined("A", "B")
    assert both == joined(both, "A") == joined("A", both) == "A; then B"
    assert joined(None, 26) == joined(26, 26) == 26


def test_each_record_keeps_the_machine_that_it_was_made_on(
    tmp_path, monkeypatch
):
    variants = {"first": 1, "second": 2}
    one = Experiment("counted", "00", variants, lambda *_: {})
    for name, seed in (("A", 1), ("B", 0)):
        monkeypatch.setattr(lab, "machine", lambda name=name: name)
        one.make(RunContext(tmp_path, ("first",), (seed,), log=list))
    monkeypatch.setattr(lab, "machine", lambda: "C")
    one.make(RunContext(tmp_path, ("first",), (0,), log=list))  # is stored
    found = store.records_in(tmp_path)["first"]
    assert found == [{"seed": 0, "machine": "B"}, {"seed": 1, "machine": "A"}]


@pytest.mark.usefixtures("small_corpus")
def test_a_cell_of_table_3_that_diverges_is_recorded(tmp_path, monkeypatch):
    def diverges(settings, outputs, *_, **__):
        run(replace(tiny(), name=settings.name), outputs, quiet=True)
        raise DivergedError("the loss is nan")

    monkeypatch.setattr(table_3, "run", diverges)
    context = RunContext(tmp_path / "table-3", smoke=True)
    found = table_3.measure(table_3.VARIANTS["base"], 0, context)
    assert found["diverged"] == "the loss is nan" and found["curve"]
    assert found["machine"] == machine() and "dev" not in found
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.mark.usefixtures("small_corpus")
def test_a_run_that_cools_down_keeps_its_end(tmp_path, capsys):
    """In more epochs the rate would have fallen later: it would rise."""
    folder = run(tiny(epochs=2, cooldown=1), tmp_path)
    for resume, told in ((True, "the run began"), (False, "holds a run")):
        with pytest.raises(ConfigError, match=told) as error:
            run(tiny(epochs=3, cooldown=1), tmp_path, resume)
        assert "epochs 2, but 3 is given" in str(error.value)
        assert "the end, which is fixed" in str(error.value)
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
