"""Laws of a grid: nothing is trained twice, lost, or compared unfairly."""

import contextlib
import csv
import dataclasses
import functools
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from scipy.stats import ttest_rel
from test_experiment_stopping import poisoned_after
from tiny import Killed, dies_at, tiny_corpus

from transformer_course import checkpoint, files, grid, runs
from transformer_course.config import (
    DataConfig,
    Experiment,
    ModelConfig,
    RecurrentConfig,
    TrainConfig,
)
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.text import Splits
from transformer_course.device import machine
from transformer_course.errors import (
    ConfigError,
    CorpusError,
    CourseError,
    DivergedError,
)
from transformer_course.experiment import Interrupted, RunFolder
from transformer_course.experiment import training as experiment_training
from transformer_course.experiment.recorder import Recorder
from transformer_course.grid import (
    Cell,
    Grid,
    StoredGrid,
    Variant,
    changed_experiment,
    difference,
    read,
    summary,
    train,
    training,
)
from transformer_course.grid.results import CONFIDENCE
from transformer_course.tasks import task

BASE = Experiment(
    "small",
    DataConfig("grammar", pieces="word", token_budget=128),
    ModelConfig(
        vocab_size=60,
        d_model=16,
        n_heads=2,
        d_ff=32,
        n_layers=1,
        dropout=0.1,
        max_length=20,
    ),
    TrainConfig(
        epochs=2,
        peak_rate=0.02,
        warmup=4,
        average_last=2,
        save_every=5,
        device="cpu",
    ),
)
VARIANTS = {
    "heads-1": Variant({"model.n_heads": 1}, "one head", "A"),
    "narrow": Variant({"model.d_model": 8, "model.d_ff": 16}, row="C"),
}


@functools.cache
def small_grammar() -> Splits:
    """A few sentences of the built-in corpus."""
    splits = grammar_corpus()
    train, dev = splits.train.take(range(60)), splits.dev.take(range(6))
    return Splits(train, dev, dev)


@pytest.fixture(autouse=True)
def small_corpus(monkeypatch):
    tiny_corpus(monkeypatch, pairs=small_grammar)


def tiny(seeds=(0, 1), variants=None, **changes) -> Grid:
    base = changed_experiment(BASE, changes)
    chosen = VARIANTS if variants is None else variants
    return Grid("tiny", base, chosen, seeds)


def trained(path: Path, of: Grid | None = None, **options) -> StoredGrid:
    """Train in a folder, quietly, with the checkpoints deleted."""
    options = {"quiet": True, "command": "train it"} | options
    return train(of or tiny(), path / "outputs", path / "runs", **options)


def results(path: Path) -> dict[str, bytes]:
    """Every file that is stored."""
    folder = path / "runs"
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A grid that nothing has disturbed."""
    path = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        tiny_corpus(patch, pairs=small_grammar)
        trained(path)
    return path


@pytest.fixture
def count_trainings(monkeypatch):
    """Names of the experiments that are run, in order."""
    names, run = [], training.run

    def counted(settings, *args, **kwargs):
        names.append(settings.name)
        return run(settings, *args, **kwargs)

    monkeypatch.setattr(training, "run", counted)
    return names


# --- what a grid is ---------------------------------------------------------


def test_a_grid_is_every_variant_with_every_seed():
    names = [cell.name for cell in tiny().cells]
    assert names == [
        "base-seed0",
        "heads-1-seed0",
        "narrow-seed0",
        "base-seed1",
        "heads-1-seed1",
        "narrow-seed1",
    ]


def test_a_cell_differs_from_the_base_in_its_changes_and_seed_only():
    settings = tiny().experiment(Cell("narrow", 1))
    assert settings.model == dataclasses.replace(
        BASE.model, d_model=8, d_ff=16
    )
    assert settings.train == dataclasses.replace(BASE.train, seed=1)
    assert settings.data == BASE.data


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.heads": 1}, r"'model.heads'.*model.n_heads"),
        ({"n_heads": 1}, r"'n_heads'.*model.n_heads"),
        ({"models.n_heads": 1}, "'models.n_heads'"),
        ({"model.n_heads": "1"}, "model.n_heads cannot be '1'"),
        ({"model.norm_first": 1}, "model.norm_first cannot be 1"),
        ({"model.dropout": "0"}, "dropout cannot be .0.: expected float"),
        ({"model.position": "sine"}, "model.position cannot be 'sine'"),
        ({"model.n_heads": 3}, "cannot be split over 3 heads"),
        (
            {"model.n_heads": 16, "model.position": "rotary"},
            "d_head is 1",
        ),
        ({"model.n_heads": 2}, "changes nothing"),
        ({}, "changes nothing"),
        ({"train.seed": 1}, "list seeds in the grid"),
    ],
)
def test_an_impossible_variant_is_refused_before_anything_is_trained(
    changes, said, count_trainings
):
    with pytest.raises(ConfigError, match=f"variant 'odd'.*{said}"):
        tiny(variants={"odd": Variant(changes)})
    assert not count_trainings


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"train.peak_rate": None}, None),
        ({"train.peak_rate": 1.0}, 1.0),
        ({"data.train_pairs": 10}, 10),
        ({"model.position": "learned"}, "learned"),
    ],
)
def test_a_setting_takes_every_value_of_its_type(changes, value):
    changed = dataclasses.asdict(changed_experiment(BASE, changes))
    part, name = next(iter(changes)).split(".")
    assert changed[part][name] == value


@pytest.mark.parametrize("name", ["a/b", "", "two words", "base"])
def test_a_variant_is_named_as_a_folder_can_be(name):
    with pytest.raises(ConfigError, match=repr(name)):
        tiny(variants={name: Variant({"model.n_heads": 1})})


@pytest.mark.parametrize("seeds", [(), (0, 1, 0)])
def test_seeds_are_there_and_differ(seeds):
    with pytest.raises(ConfigError, match="all different"):
        tiny(seeds)


def test_a_grid_may_vary_another_kind_of_model():
    base = dataclasses.replace(
        BASE, model=RecurrentConfig(vocab_size=60, d_model=8, d_hidden=8)
    )
    gru = Grid("gru", base, {"blind": Variant({"model.attention": False})})
    assert not gru.experiment(Cell("blind", 0)).model.attention


def test_weights_are_counted_as_the_model_has_them():
    made = checkpoint.build(BASE.model)
    counted = grid.weights(BASE.model)
    assert counted == sum(p.numel() for p in made.parameters())


# --- what is trained and stored ---------------------------------------------


def test_each_cell_is_trained_once_and_its_checkpoints_are_deleted(whole):
    names = {p.name for p in (whole / "outputs" / "tiny").glob("[!.]*")}
    assert names == {cell.name for cell in tiny().cells}
    assert not list(whole.rglob("*.safetensors"))
    assert len(list(whole.rglob("metrics.jsonl"))) == len(names)


def test_checkpoints_are_kept_when_asked_for(tmp_path):
    found = trained(tmp_path, tiny((0,), {}), keep=True)
    folder = tmp_path / "outputs" / "tiny" / "base-seed0"
    model = checkpoint.load(RunFolder(folder).chosen()).model
    (row,) = found.rows
    assert row.weights == sum(p.numel() for p in model.parameters())


def test_a_record_has_the_scores_of_the_best_weights_and_the_curve(whole):
    for cell, record in read("tiny", whole / "runs").cells.items():
        folder = whole / "outputs" / "tiny" / cell.name
        quality = RunFolder(folder)._recorded_quality()
        assert record["dev"]["bleu"] == pytest.approx(
            max(quality.values()), rel=1e-5
        )
        best = record["chosen"].split()[0].replace("epoch", "best")
        assert quality[best] == max(quality.values())
        assert [p["epoch"] for p in record["curve"]] == [1, 2]
        assert all(
            "dev_nll" in p and "train_nll" in p for p in record["curve"]
        )


def test_nothing_that_is_stored_tells_the_time(whole):
    text = b"".join(results(whole).values()).decode()
    assert "seconds" not in text
    assert "tokens/s" not in text


def test_settings_command_and_machine_are_stored(whole):
    found = read("tiny", whole / "runs")
    assert found.command == "train it"
    assert found.machine == machine()
    assert found.base["model"] == dataclasses.asdict(BASE.model)
    assert found.variants["heads-1"] == VARIANTS["heads-1"]


def test_a_finished_grid_is_not_trained_again(
    whole, count_trainings, tmp_path
):
    before = results(whole)
    trained(whole)
    assert not count_trainings
    assert results(whole) == before


def test_more_seeds_and_variants_leave_the_others_as_they_are(
    tmp_path, count_trainings
):
    trained(tmp_path, tiny((0,), {}))
    heads = {"heads-1": VARIANTS["heads-1"]}
    grown = trained(tmp_path, tiny((0, 1), heads))
    assert len(count_trainings) == len(set(count_trainings)) == 4
    assert [row.metrics["bleu"].n for row in grown.rows] == [2, 2]


def test_only_some_variants_can_be_trained(tmp_path, count_trainings):
    found = trained(tmp_path, tiny((0,)), only=["heads-1"])
    assert count_trainings == ["heads-1-seed0"]
    assert [bool(row.metrics) for row in found.rows] == [False, True, False]
    with pytest.raises(ConfigError, match=r"no variant deep;.*heads-1"):
        trained(tmp_path, only=["deep"])


@pytest.mark.parametrize("stored", [True, False])
def test_changed_settings_are_named_and_nothing_is_trained(
    tmp_path, count_trainings, stored
):
    trained(tmp_path, tiny((0,), {}), keep=True)
    if not stored:  # begun, and not finished
        (tmp_path / "runs" / "cells" / "base-seed0.json").unlink()
    count_trainings.clear()
    changed = tiny((0, 1), **{"train.peak_rate": 0.01})
    with pytest.raises(
        ConfigError, match=r"base-seed0.*train.peak_rate 0.02, but 0.01"
    ):
        trained(tmp_path, changed)
    assert not count_trainings


def test_a_younger_setting_had_its_default_before(tmp_path, count_trainings):
    trained(tmp_path, tiny((0,), {}))
    path = tmp_path / "runs" / "cells" / "base-seed0.json"
    record = json.loads(path.read_text("utf-8"))
    del record["settings"]["model"]["tied"]
    runs.write_json(path, record)
    trained(tmp_path, tiny((0,), {}))
    assert count_trainings == ["base-seed0"]


def test_a_training_that_diverges_is_recorded_and_the_others_go_on(
    tmp_path, monkeypatch, count_trainings
):
    run = training.run

    def diverges(settings, *args, **kwargs):
        if settings.train.seed == 1:
            settings = changed_experiment(settings, {"train.epochs": 1})
            run(settings, *args, **kwargs)
            raise DivergedError("the loss is nan")
        return run(settings, *args, **kwargs)

    monkeypatch.setattr(training, "run", diverges)
    found = trained(tmp_path, tiny(variants={}, seeds=(1, 0)))
    (row,) = found.rows
    assert row.diverged == row.metrics["bleu"].n == 1
    assert "1 (1 diverged)" in found.markdown()
    assert [len(c) for c in found.curves("base", "dev_bleu")] == [1, 2]
    count_trainings.clear()
    trained(tmp_path, tiny(variants={}, seeds=(1, 0)))
    assert not count_trainings


def test_a_fault_of_all_cells_stops_the_grid(tmp_path, monkeypatch):
    def missing():
        raise CorpusError("no corpus")

    tiny_corpus(monkeypatch, pairs=missing)
    with pytest.raises(CorpusError, match="no corpus"):
        trained(tmp_path)
    assert not list(tmp_path.rglob("cells/*"))


# --- stopped in the middle --------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name", "call"),
    [
        (experiment_training, "prepare", 2),
        (checkpoint, "_put_in_place", 3),
        (task, "evaluate", 3),
        (training, "_scored", 1),
        (training.runs, "write_json", 2),
        (training.runs, "write_text", 3),
        (training.shutil, "rmtree", 1),
    ],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_grid_killed_anywhere_goes_on_as_if_it_had_not_been(
    whole, tmp_path, monkeypatch, target, name, call
):
    two_cells = tiny((0,), {"heads-1": VARIANTS["heads-1"]})
    with monkeypatch.context() as patch:
        dies_at(patch, target, name, call)
        with pytest.raises(Killed):
            trained(tmp_path, two_cells)
    trained(tmp_path, two_cells)
    assert_same_records(tmp_path, whole, 2)
    assert not list(tmp_path.rglob("*.safetensors"))


def assert_same_records(one: Path, other: Path, number: int) -> None:
    """Every cell of the one has the same record in the other."""
    mine, yours = results(one), results(other)
    cells = [name for name in mine if name.startswith("cells")]
    assert len(cells) == number
    assert [mine[name] for name in cells] == [yours[name] for name in cells]


def test_a_cell_goes_on_from_its_last_checkpoint(whole, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        dies_at(patch, Recorder, "step", 18)
        with pytest.raises(Killed):
            trained(tmp_path, tiny((0,), {}))
    steps, step = [], Recorder.step

    def noted(self, progress, *args):
        steps.append(progress.step)
        return step(self, progress, *args)

    monkeypatch.setattr(Recorder, "step", noted)
    trained(tmp_path, tiny((0,), {}))
    assert steps[0] == 16  # saved after the 15th
    assert_same_records(tmp_path, whole, 1)


def test_ctrl_c_saves_and_the_same_command_goes_on(
    whole, tmp_path, monkeypatch
):
    write, records = Recorder._write, []

    def press_ctrl_c(self, **record):
        write(self, **record)
        records.append(record)
        if len(records) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_write", press_ctrl_c)
        with pytest.raises(Interrupted, match="base-seed0.*same command"):
            trained(tmp_path, tiny((0,), {}))
    trained(tmp_path, tiny((0,), {}))
    assert_same_records(tmp_path, whole, 1)


# --- several processes ------------------------------------------------------


def test_a_cell_under_way_elsewhere_is_left_alone(
    tmp_path, count_trainings, capsys
):
    lock = tmp_path / "outputs" / "tiny" / ".locks" / "base-seed0"
    with files.locked(lock) as mine:
        assert mine
        trained(tmp_path, tiny(variants={}), quiet=False)
    assert count_trainings == ["base-seed1"]
    assert "1 under way in other processes" in capsys.readouterr().out
    trained(tmp_path, tiny(variants={}))
    assert count_trainings == ["base-seed1", "base-seed0"]


WORKER = """
import sys
from pathlib import Path
sys.path.append(sys.argv[1])
from test_grid import *
tiny_corpus(pytest.MonkeyPatch(), pairs=small_grammar)
trained(Path(sys.argv[2]), quiet=False)
"""


@pytest.mark.exhaustive
def test_two_processes_share_the_cells(whole, tmp_path):
    tests = str(Path(__file__).parent)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, tests, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [worker.communicate(timeout=600)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    begun = [
        line.split()[1].rstrip(":")
        for text in said
        for line in text.splitlines()
        if "begins" in line
    ]
    assert sorted(begun) == sorted(cell.name for cell in tiny().cells)
    assert results(tmp_path) == results(whole)


@pytest.mark.exhaustive
def test_a_killed_process_leaves_no_lock(tmp_path):
    script = (
        "import sys, time; from pathlib import Path\n"
        "from transformer_course.files import locked\n"
        "with locked(Path(sys.argv[1])) as mine:\n"
        "    print(mine, flush=True); time.sleep(60)\n"
    )
    lock = tmp_path / "lock"
    worker = subprocess.Popen(
        [sys.executable, "-c", script, str(lock)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout.readline() == "True\n"
    with files.locked(lock) as mine:
        assert not mine
    worker.kill()
    worker.communicate()
    with files.locked(lock) as mine:
        assert mine


# --- what is said -----------------------------------------------------------


def test_progress_says_what_is_done_and_what_remains(tmp_path, capsys):
    two_cells = tiny(variants={})
    trained(tmp_path, two_cells, quiet=False)
    lines = capsys.readouterr().out.splitlines()
    assert "tiny: 2 cells, 0 are done" in lines[0]
    assert "base-seed0: begins" in lines[1]
    assert "base-seed0: done, dev BLEU" in lines[2]
    assert "1 to go, about" in lines[2]
    assert "to go" not in lines[-1]
    trained(tmp_path, two_cells, quiet=False)
    assert "2 cells, 2 are done" in capsys.readouterr().out


# --- the table --------------------------------------------------------------


def test_the_table_is_the_mean_and_spread_of_the_records(whole):
    found = read("tiny", whole / "runs")
    for row in found.rows:
        for metric, cell in row.metrics.items():
            values = torch.tensor(
                [
                    found.cells[Cell(row.variant, s)]["dev"][metric]
                    for s in found.seeds
                ],
                dtype=torch.float64,
            )
            assert cell.n == 2
            assert cell.mean == pytest.approx(values.mean().item())
            assert cell.spread == pytest.approx(values.std().item())


def test_differences_are_paired_by_seed(whole):
    """Whatever a seed adds to all its cells cancels out."""
    found = read("tiny", whole / "runs")
    shifted = {
        cell: record | {"dev": {"bleu": record["dev"]["bleu"] + cell.seed}}
        for cell, record in found.cells.items()
    }
    moved = dataclasses.replace(found, cells=shifted)
    for one, other in zip(found.rows[1:], moved.rows[1:], strict=True):
        assert other.differences["bleu"] == pytest.approx(
            one.differences["bleu"]
        )
    assert not found.rows[0].differences


def test_a_seed_that_one_of_the_two_lacks_is_left_out(whole):
    found = read("tiny", whole / "runs")
    fewer = {c: r for c, r in found.cells.items() if c != Cell("base", 1)}
    rows = dataclasses.replace(found, cells=fewer).rows
    assert rows[1].metrics["bleu"].n == 2
    assert rows[1].differences["bleu"].n == 1
    assert rows[1].differences["bleu"].low is None


def test_the_interval_is_the_paired_t_test_s():
    one, other = [1.0, 2.5, 2.0, 4.0], [0.5, 2.0, 2.5, 2.0]
    apart = [a - b for a, b in zip(one, other, strict=True)]
    interval = ttest_rel(one, other).confidence_interval(CONFIDENCE)
    found = difference(apart)
    assert (found.low, found.high) == pytest.approx(tuple(interval))
    assert found.mean == pytest.approx(sum(apart) / 4)


def test_one_seed_has_no_spread():
    assert summary([3.0]) == (3.0, None, 1)
    assert difference([3.0]) == (3.0, None, None, 1)


def test_json_csv_and_markdown_agree(whole):
    found = read("tiny", whole / "runs")
    stored = json.loads((whole / "runs" / "table.json").read_text("utf-8"))
    text = (whole / "runs" / "table.csv").read_text("utf-8")
    assert text == found.csv()
    sheet = list(csv.DictReader(io.StringIO(text)))
    for row, kept in zip(found.rows, stored["rows"], strict=True):
        mean, spread, n = kept["metrics"]["bleu"]
        assert (mean, spread, n) == row.metrics["bleu"]
        (line,) = (
            line
            for line in sheet
            if line["variant"] == row.variant and line["metric"] == "bleu"
        )
        assert float(line["mean"]) == mean
        assert f"{mean:.1f} ± {spread:.1f}" in found.markdown()
    assert (whole / "runs" / "table.md").read_text("utf-8") == found.markdown()


def test_the_markdown_is_a_table(whole):
    lines = read("tiny", whole / "runs").markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 3
    assert len({line.count("|") for line in table}) == 1
    assert "one head" in table[3]
    assert "d_model 8, d_ff 16" in table[4]


def test_curves_are_the_records_of_each_epoch(whole):
    found = read("tiny", whole / "runs")
    curves = found.curves("narrow", "dev_nll")
    assert [len(curve) for curve in curves] == [2, 2]


def test_reading_a_grid_that_is_not_there_says_so(tmp_path):
    with pytest.raises(CourseError, match="no stored grid"):
        read("nowhere", tmp_path)
    with contextlib.suppress(CourseError):
        read("nowhere")


def test_a_cell_that_ends_in_no_numbers_does_not_end_the_grid(
    whole, tmp_path, monkeypatch
):
    """In its first epoch, of which nothing is recorded yet."""
    lines = (whole / "outputs/tiny/base-seed0/metrics.jsonl").read_text()
    poisoned_after(monkeypatch, lines.count('"step", ') // 2)
    found = trained(tmp_path, tiny(variants={}))
    (row,) = found.rows
    assert row.diverged == row.metrics["bleu"].n == 1
    assert [len(c) for c in found.curves("base", "dev_bleu")] == [0, 2]
