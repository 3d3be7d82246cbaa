"""Laws of a run's folder: begun, gone on with, chosen from, refused."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from tiny import tiny_corpus
from tiny_runs import other, records, tiny

from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.device import machine
from transformer_course.errors import CheckpointError, ConfigError, CorpusError
from transformer_course.training.config import changed_experiment
from transformer_course.training.run import folder as module
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.training import run

pytestmark = pytest.mark.usefixtures("small_corpus")


def runs_in(output_dir: Path) -> list[Path]:
    """Folders of runs: what is hidden beside them are locks."""
    return list(output_dir.glob("[!.]*"))


# --- which checkpoint is used -----------------------------------------------


def with_metrics(folder, *lines):
    """A run with all three checkpoints, and these records."""
    for name in ("last", "best", "average"):
        (folder / "checkpoints" / name).mkdir(parents=True)
        (folder / "checkpoints" / name / "config.json").write_text("{}")
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text)
    return folder


def epoch(value: float) -> dict:
    return {"kind": "epoch", "selection_metric": value}


@pytest.mark.parametrize(
    ("average", "name"), [(29.0, "best"), (30.0, "average"), (31.0, "average")]
)
def test_the_better_of_average_and_best_is_taken(tmp_path, average, name):
    lines = [epoch(20.0), epoch(30.0), epoch(10.0)]
    last = epoch(average) | {"kind": "average"}
    folder = with_metrics(tmp_path, *lines, last)
    assert chosen_checkpoint(folder) == folder / "checkpoints" / name


def test_an_average_of_an_earlier_training_does_not_count(tmp_path):
    """The run has gone on since: its new average is yet to be measured."""
    assert chosen_checkpoint(with_metrics(tmp_path, epoch(5.0))).name == "best"


def test_a_training_under_way_can_be_used(tmp_path):
    folder = with_metrics(tmp_path, epoch(5.0))
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write('{"kind": "epoch", "samples": "猫'.encode()[:-1])
    assert chosen_checkpoint(folder).name == "best"


def test_only_a_line_feed_ends_a_record(tmp_path):
    odd = epoch(5.0) | {"samples": "a\u2028b\x85c"}
    folder = with_metrics(tmp_path, odd)
    assert RunFolder(folder).records() == [odd]


def test_what_was_chosen_is_what_was_recorded_as_best(finished):
    best = max(r["dev_bleu"] for r in records(finished, "epoch"))
    (average,) = records(finished, "average")
    name = "average" if average["dev_bleu"] >= best else "best"
    assert chosen_checkpoint(finished).name == name


def test_what_a_kill_left_beyond_the_checkpoint_is_forgotten(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [
        '{"kind": "step", "step": 1}',
        '{"kind": "epoch", "epoch": 1, "step": 1}',
        '{"kind": "step", "step": 2}',
        '{"kind": "step", "step": 3}',
        '{"kind": "epoch", "epoch": 2, "step": 3}',
        '{"kind": "st',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    RunFolder(tmp_path).drop_records_after(step=2, epoch=1)
    assert path.read_text("utf-8").splitlines() == lines[:3]
    assert list(tmp_path.iterdir()) == [path]
    RunFolder(tmp_path / "none").drop_records_after(step=0, epoch=0)


# --- refused ----------------------------------------------------------------


def test_a_run_is_not_written_over(finished):
    before = (finished / "metrics.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"holds a run already.*--resume"):
        run(tiny(), finished.parent, quiet=True)
    assert (finished / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("resume", [False, True])
def test_two_processes_do_not_train_in_one_folder(finished, tmp_path, resume):
    place = finished.parent if resume else tmp_path
    locked = RunFolder(place / finished.name).locked()
    with locked, pytest.raises(ConfigError, match="another process"):
        run(tiny(), place, resume=resume, quiet=True)
    run(tiny(), place, resume=resume, quiet=True)


def test_other_settings_are_not_advised_to_go_on(finished):
    deeper = other(tiny(), {"n_layers": 3})
    with pytest.raises(ConfigError, match=r"model\.n_layers") as error:
        run(deeper, finished.parent, quiet=True)
    assert "another --name" in str(error.value)
    assert "--resume" not in str(error.value)


def test_there_must_be_something_to_go_on_with(tmp_path):
    with pytest.raises(CheckpointError, match=r"no run in .*leave out"):
        run(tiny(), tmp_path, resume=True, quiet=True)
    assert not runs_in(tmp_path)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("train.peak_rate", 0.5),
        ("train.seed", 3),
        ("data.token_budget", 32),
        ("model.d_model", 32),
    ],
)
def test_going_on_with_other_settings_is_refused(finished, setting, value):
    changed = changed_experiment(tiny(), {setting: value})
    with pytest.raises(ConfigError, match=setting):
        run(changed, finished.parent, resume=True, quiet=True)


@pytest.mark.parametrize("content", ["", "{}", "[1]"])
def test_damaged_settings_are_named(tmp_path, content):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "experiment.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"experiment\.json is damaged"):
        run(tiny(), tmp_path, resume=True, quiet=True)


def test_a_missing_corpus_leaves_no_folder(tmp_path, monkeypatch):
    def missing():
        raise CorpusError("not here: fetch it first.")

    tiny_corpus(monkeypatch, pairs=missing)
    with pytest.raises(CorpusError):
        run(tiny(), tmp_path, quiet=True)
    assert not runs_in(tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_leaves_no_folder(tmp_path):
    with pytest.raises(ConfigError, match="'cuda' was asked for"):
        run(tiny(device="cuda"), tmp_path, quiet=True)
    assert not runs_in(tmp_path)


@pytest.mark.parametrize(
    "name", ["checkpoints/best/model.safetensors", "metrics.jsonl", "mine.txt"]
)
def test_files_that_are_no_run_are_left_alone(tmp_path, name):
    path = tmp_path / "tiny" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(ConfigError, match="holds files, and is no run"):
        run(tiny(), tmp_path, quiet=True)
    assert [p for p in (tmp_path / "tiny").rglob("*") if p.is_file()] == [path]
    assert path.read_text("utf-8") == "mine"


def test_a_line_of_the_metrics_cut_short_costs_no_other(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "tiny")
    path = folder / "metrics.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[3] = lines[3][:20]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    expected = records(finished)
    del expected[3]
    run(tiny(), tmp_path, resume=True, quiet=True)
    assert records(folder) == expected


def test_a_run_names_every_machine_that_it_was_on(
    finished, tmp_path, monkeypatch
):
    path = shutil.copytree(finished, tmp_path / "tiny") / "experiment.json"
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(module, "machine", lambda: "an abacus")
            run(tiny(), tmp_path, resume=True, quiet=True)
    settings = json.loads(path.read_text("utf-8"))
    assert settings["machine"] == f"{machine()}; then an abacus"
