"""Laws of a grid: nothing is trained twice, lost, or compared unfairly."""

import dataclasses
from pathlib import Path

import pytest
import torch
from scipy.stats import ttest_rel
from tiny import Killed, dies_at, tiny_corpus

from transformer_course import files
from transformer_course.errors import ConfigError, CourseError, DivergedError
from transformer_course.models.config import ModelConfig
from transformer_course.training import checkpoint
from transformer_course.training.config import (
    DataConfig,
    Experiment,
    TrainConfig,
)
from transformer_course.training.grid import (
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
from transformer_course.training.grid.results import CONFIDENCE

BASE = Experiment(
    "small",
    DataConfig("grammar", pieces="word", token_budget=64),
    ModelConfig(
        vocab_size=30,
        d_model=16,
        n_heads=2,
        d_ff=32,
        n_layers=1,
        dropout=0.1,
        max_length=8,
    ),
    TrainConfig(
        epochs=1,
        peak_rate=0.02,
        warmup=4,
        save_every=2,
        device="cpu",
    ),
)
HEADS = {"heads-1": Variant({"model.n_heads": 1}, "one head", "A")}


pytestmark = pytest.mark.usefixtures("small_corpus")


def tiny(seeds=(0, 1), variants=HEADS, **changes) -> Grid:
    return Grid("tiny", changed_experiment(BASE, changes), variants, seeds)


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
        tiny_corpus(patch)
        trained(path)
    return path


@pytest.fixture
def begun(monkeypatch):
    """Names of the experiments that are run, in order."""
    names, run = [], training.run

    def counted(settings, *args, **kwargs):
        names.append(settings.name)
        return run(settings, *args, **kwargs)

    monkeypatch.setattr(training, "run", counted)
    return names


# --- what is trained ---------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.heads": 1}, r"'model.heads'.*model.n_heads"),
        ({"model.n_heads": "1"}, "model.n_heads cannot be '1'"),
        ({"model.n_heads": 3}, "cannot be split over 3 heads"),
        ({"model.n_heads": 2}, "changes nothing"),
        ({"train.seed": 1}, "list seeds in the grid"),
    ],
)
def test_an_impossible_variant_is_refused(changes, said):
    with pytest.raises(ConfigError, match=f"variant 'odd'.*{said}"):
        tiny(variants={"odd": Variant(changes)})


@pytest.mark.parametrize("seeds", [(), (0, 1, 0)])
def test_seeds_are_there_and_differ(seeds):
    with pytest.raises(ConfigError, match="all different"):
        tiny(seeds)


def test_a_cell_differs_from_the_base_in_its_changes_and_seed_only():
    settings = tiny().experiment(Cell("heads-1", 1))
    assert settings.model == dataclasses.replace(BASE.model, n_heads=1)
    assert settings.train == dataclasses.replace(BASE.train, seed=1)
    assert settings.data == BASE.data


def test_each_cell_is_trained_once_and_its_checkpoints_are_deleted(
    whole, begun
):
    names = {p.name for p in (whole / "outputs" / "tiny").glob("[!.]*")}
    assert names == {cell.name for cell in tiny().cells}
    assert not list(whole.rglob("*.safetensors"))
    before = results(whole)
    trained(whole)
    assert not begun
    assert results(whole) == before


def test_only_some_variants_can_be_trained(tmp_path, begun):
    found = trained(tmp_path, tiny((0,)), only=["heads-1"])
    assert begun == ["heads-1-seed0"]
    assert [bool(row.metrics) for row in found.rows] == [False, True]
    with pytest.raises(ConfigError, match=r"no variant deep;.*heads-1"):
        trained(tmp_path, only=["deep"])


def test_changed_settings_are_named_and_nothing_is_trained(whole, begun):
    changed = tiny(**{"train.peak_rate": 0.01})
    with pytest.raises(
        ConfigError, match=r"base-seed0.*train.peak_rate 0.02, but 0.01"
    ):
        trained(whole, changed)
    assert not begun


# --- what does not end well --------------------------------------------------


def test_a_killed_grid_goes_on_as_if_it_had_not_been(
    whole, tmp_path, monkeypatch
):
    one_cell = tiny((0,), {})
    for target, name, call in (
        (checkpoint, "_replace", 3),
        (training.runs, "write_json", 3),
    ):
        with monkeypatch.context() as patch:
            dies_at(patch, target, name, call)
            with pytest.raises(Killed):
                trained(tmp_path, one_cell)
    trained(tmp_path, one_cell)
    name = "cells/base-seed0.json"
    assert results(tmp_path)[name] == results(whole)[name]
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_training_that_diverges_is_recorded_and_the_others_go_on(
    tmp_path, monkeypatch, begun
):
    run = training.run

    def diverges(settings, *args, **kwargs):
        if settings.train.seed == 1:
            settings = changed_experiment(settings, {"train.epochs": 1})
            run(settings, *args, **kwargs)
            raise DivergedError("the loss is nan")
        return run(settings, *args, **kwargs)

    monkeypatch.setattr(training, "run", diverges)
    (row,) = trained(tmp_path, tiny((1, 0), {})).rows
    assert row.diverged == row.metrics["bleu"].n == 1
    begun.clear()
    trained(tmp_path, tiny((1, 0), {}))
    assert not begun


def test_a_cell_under_way_elsewhere_is_left_alone(tmp_path, begun, capsys):
    lock = tmp_path / "outputs" / "tiny" / ".locks" / "base-seed0"
    with files.locked(lock) as mine:
        assert mine
        trained(tmp_path, tiny((0,), {}), quiet=False)
    assert not begun
    assert "1 under way in other processes" in capsys.readouterr().out


# --- the table ---------------------------------------------------------------


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
    files = {"table.csv": found.csv(), "table.md": found.markdown()}
    for name, text in files.items():
        assert (whole / "runs" / name).read_text("utf-8") == text


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
    del shifted[Cell("base", 1)]
    fewer = dataclasses.replace(found, cells=shifted).rows[1]
    assert fewer.differences["bleu"].n == 1


def test_the_interval_is_the_paired_t_test_s():
    one, other = [1.0, 2.5, 2.0, 4.0], [0.5, 2.0, 2.5, 2.0]
    apart = [a - b for a, b in zip(one, other, strict=True)]
    interval = ttest_rel(one, other).confidence_interval(CONFIDENCE)
    found = difference(apart)
    assert (found.low, found.high) == pytest.approx(tuple(interval))
    assert found.mean == pytest.approx(sum(apart) / 4)
    assert summary([3.0]) == (3.0, None, 1)  # one seed has no spread


def test_reading_a_grid_that_is_not_there_says_so(tmp_path):
    with pytest.raises(CourseError, match="no stored grid"):
        read("nowhere", tmp_path)
