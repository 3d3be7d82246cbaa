"""What every experiment has, and what the lab does with it."""

import dataclasses
import json
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import pytest
from tiny import tiny_corpus

from experiments import store
from experiments.__main__ import find_all, run_smoke_test
from experiments.lab import (
    Analysis,
    Entries,
    Experiment,
    Files,
    Groups,
    Rows,
    RunContext,
    Table,
)
from transformer_course.data.grammar import grammar_corpus
from transformer_course.decoding import search
from transformer_course.errors import ConfigError

EXPERIMENTS = find_all()
VARIANTS = {name: name for name in ("one/a", "one/b", "two/c")}


def counted(files: Files | None = None, **settings) -> tuple[Experiment, list]:
    """An experiment that notes what it measures."""
    measured = []

    def measure(variant, seed, context):
        measured.append((variant, seed))
        return {"seed": seed}

    settings = {"variants": VARIANTS, "seeds": (0, 1)} | settings
    about = {"about": lambda variant: {"about": variant}}
    settings |= {"measure": measure, "files": files or Files()}
    return Experiment("counted", "00", **about | settings), measured


def smokes() -> list:
    """All experiments, of which ``make test`` draws a few of each kind.

    They are drawn by a hash of their names; ``--all`` makes the others too.
    """
    names = sorted(EXPERIMENTS, key=lambda n: sha256(n.encode()).digest())
    left = {Experiment: 2, Analysis: 2, Table: 1}
    found = []
    for name in names:
        kind = type(EXPERIMENTS[name])
        marks = () if left[kind] > 0 else pytest.mark.exhaustive
        left[kind] -= 1
        found.append(pytest.param(name, marks=marks))
    return found


def there() -> dict[Path, int]:
    """The files of the stored runs, and when each was written."""
    found = store.folder("").rglob("*")
    return {path: path.stat().st_mtime_ns for path in found}


few_sentences = cache(partial(grammar_corpus, train=200, dev=120, test=20))


@pytest.mark.parametrize("name", smokes())
def test_a_few_of_everything_can_be_made(name, monkeypatch):
    tiny_corpus(monkeypatch, pairs=few_sentences)
    monkeypatch.setattr(search, "EXTRA_LENGTH", 4)  # untrained: no end
    before, said = there(), []
    run_smoke_test(
        EXPERIMENTS[name], RunContext(store.folder(name), log=said.append)
    )
    assert said and all(line.startswith(f"{name}: ") for line in said)
    assert there() == before


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_stored_is_found(name):
    one = EXPERIMENTS[name]
    if isinstance(one, Experiment):
        assert one.missing(RunContext(store.folder(name))) == []
    for run in (*one.makes, *one.adds_to):
        assert store.folder(run).is_dir()


@pytest.mark.parametrize(
    "files", [Files(), Groups(), Entries("all.json", "rows")]
)
def test_each_cell_is_measured_once(files, tmp_path):
    seeds = (0,) if isinstance(files, Entries) else (0, 1)
    one, measured = counted(files, seeds=seeds)
    one.make(RunContext(tmp_path, log=list))
    assert measured == [(v, s) for s in seeds for v in VARIANTS]
    one.make(RunContext(tmp_path, log=list))
    assert len(measured) == len(set(measured))
    assert one.missing(RunContext(tmp_path)) == []


def test_what_was_stopped_goes_on(tmp_path):
    one, measured = counted(Groups())

    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.make(RunContext(tmp_path, log=stop))
    stored = json.loads((tmp_path / "one.json").read_text("utf-8"))
    assert stored == {"a": [{"seed": 0}]}
    one.make(RunContext(tmp_path, log=list))
    assert len(measured) == len(set(measured)) == 6


def test_variants_groups_and_seeds_can_be_chosen(tmp_path):
    one, _ = counted()
    assert one.cells(RunContext(tmp_path, ("one",), (1,))) == [
        ("one/a", 1),
        ("one/b", 1),
    ]
    with pytest.raises(ConfigError, match="no variant 'three'; it has: one/a"):
        one.cells(RunContext(tmp_path, ("three",)))


def test_a_row_is_known_by_what_it_says(tmp_path):
    rows = Rows("rows", lambda record: record["name"])
    one, _ = counted(rows, seeds=(0, 1))

    def measure(variant, seed, context):
        return {"name": variant.partition("/")[2], "seed": seed}

    one = dataclasses.replace(one, measure=measure)
    one.make(RunContext(tmp_path, ("one/b",), log=list))
    stored = json.loads((tmp_path / "one.json").read_text("utf-8"))
    assert stored["rows"] == [{"name": "b", "seed": s} for s in (0, 1)]
    assert one.missing(RunContext(tmp_path, seeds=(0,))) == [
        ("one/a", 0),
        ("two/c", 0),
    ]


def test_a_group_may_have_fewer_seeds(tmp_path):
    one, _ = counted(seeds_of={"one": (1,)})
    assert one.cells(RunContext(tmp_path)) == [
        ("two/c", 0),
        ("one/a", 1),
        ("one/b", 1),
        ("two/c", 1),
    ]


def test_what_is_not_usual_is_made_when_it_is_named(tmp_path):
    one, _ = counted(default_variants=("one",), seeds=(0,))
    assert len(one.cells(RunContext(tmp_path))) == 2
    assert one.cells(RunContext(tmp_path, ("two",))) == [("two/c", 0)]


@pytest.mark.parametrize("wrong", [{"seeds": (0, 0)}, {"variants": {}}])
def test_an_experiment_has_variants_and_different_seeds(wrong):
    with pytest.raises(ConfigError, match="counted"):
        counted(**wrong)


def test_settings_are_written_when_something_is_missing(tmp_path):
    one, _ = counted(settings=lambda: {"steps": 3})
    one = dataclasses.replace(one, files=Groups())
    one.make(RunContext(tmp_path, log=list))
    path = tmp_path / "settings.json"
    about = json.loads(path.read_text("utf-8"))
    assert about["command"] == "python -m experiments counted"
    assert about["seeds"] == [0, 1] and about["steps"] == 3
    path.unlink()
    one.make(RunContext(tmp_path, log=list))
    assert not path.exists()
