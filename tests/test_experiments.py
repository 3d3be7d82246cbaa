"""What every experiment has, and what the engine does with it."""

import io
import json
import os
import sys
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from tiny import tiny_corpus

from experiments import store
from experiments.__main__ import command, find, find_all, run_smoke_test
from experiments.lab import Analysis, Experiment, RunContext
from experiments.short_reviews import fine_tune
from transformer_course.checkpoints.pretrained import minilm_folder
from transformer_course.data.grammar import grammar_corpus
from transformer_course.decoding import search
from transformer_course.device import machine
from transformer_course.errors import ConfigError, CourseError
from transformer_course.models.bert import Bert
from transformer_course.models.bert_config import BertConfig

EXPERIMENTS = find_all()
VARIANTS = {name: name for name in ("one/a", "one/b", "two/c")}


def counted(**settings) -> tuple[Experiment, list]:
    """An experiment that notes what it measures."""
    measured = []

    def measure(variant, seed, context):
        measured.append((variant, seed))
        return {"square": seed**2}

    settings = {"variants": VARIANTS, "seeds": (0, 1)} | settings
    return Experiment("counted", "00", measure=measure, **settings), measured


def quiet(folder: Path, only=(), seeds=()) -> RunContext:
    """A context that logs nothing."""
    return RunContext(folder, only, seeds, log=list)


def smokes() -> list:
    """All experiments, of which ``make test`` draws a few of each kind.

    They are drawn by a hash of their names; ``--all`` makes the others too.
    """
    names = sorted(EXPERIMENTS, key=lambda n: sha256(n.encode()).digest())
    left = {Experiment: 3, Analysis: 2}
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


def skip_unless_there(name: str) -> None:
    """One experiment needs the library and the weights of others."""
    if name == "fine-tuning-peer":
        pytest.importorskip("transformers", reason="needs `make test-peers`")
        try:
            minilm_folder()
        except CourseError as missing:
            pytest.skip(str(missing))


@pytest.mark.parametrize("name", smokes())
def test_a_few_of_everything_can_be_made(name, monkeypatch):
    skip_unless_there(name)
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
        assert set(store.records(name)) <= set(one.variants)
        assert store.settings(name).keys() == one.settings().keys()
    for run in (*one.makes, *one.adds_to):
        assert store.folder(run).is_dir()


def test_each_cell_is_measured_once(tmp_path):
    one, measured = counted()
    one.make(quiet(tmp_path))
    one.make(quiet(tmp_path))
    assert measured == [(v, s) for s in (0, 1) for v in VARIANTS]


def test_what_was_stopped_goes_on(tmp_path):
    one, measured = counted()

    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.make(RunContext(tmp_path, log=stop))
    assert set(store.records_in(tmp_path)) == {"one/a"}
    one.make(quiet(tmp_path))
    assert len(measured) == len(set(measured)) == 6


def test_another_process_s_records_are_kept_and_not_made_again(tmp_path):
    def measure(variant, seed, context):
        if not measured:  # meanwhile another process makes all but this one
            other.make(quiet(tmp_path, ("one/b", "two"), (0,)))
        measured.append(variant)
        return {}

    other, measured = counted()[0], []
    one = Experiment("counted", "00", VARIANTS, measure, seeds=(0,))
    one.make(quiet(tmp_path))
    assert measured == ["one/a"]
    assert other.missing(quiet(tmp_path, seeds=(0,))) == []


def test_nothing_stored_is_lost_when_a_seed_is_added(tmp_path):
    one, _ = counted()
    one.make(quiet(tmp_path, seeds=(1,)))
    before = store.records_in(tmp_path)
    one.make(quiet(tmp_path, ("one/b",), (0,)))
    after = store.records_in(tmp_path)
    first, second = after["one/b"]
    assert (first["seed"], first["square"]) == (0, 0)
    assert {**after, "one/b": [second]} == before


def test_variants_groups_and_seeds_can_be_chosen(tmp_path):
    one, _ = counted()
    cells = one.cells(RunContext(tmp_path, ("one",), (1,)))
    assert cells == [("one/a", 1), ("one/b", 1)]
    with pytest.raises(ConfigError, match="no variant 'three'; it has: one/a"):
        one.cells(RunContext(tmp_path, ("three",)))
    with pytest.raises(ConfigError, match="with the seed 2; its seeds: 0, 1"):
        one.cells(RunContext(tmp_path, (), (1, 2)))


def test_a_group_may_have_fewer_seeds(tmp_path):
    one, _ = counted(seeds_of={"one": (1,)})
    named = [
        f"{variant}{seed}" for variant, seed in one.cells(quiet(tmp_path))
    ]
    assert named == ["two/c0", "one/a1", "one/b1", "two/c1"]
    with pytest.raises(ConfigError, match="with the seed 0"):
        one.cells(RunContext(tmp_path, ("one",), (0,)))


def test_other_than_default_variants_are_made_when_they_are_named(tmp_path):
    one, _ = counted(default_variants=("one",), seeds=(0,))
    assert len(one.cells(RunContext(tmp_path))) == 2
    assert one.cells(RunContext(tmp_path, ("two",))) == [("two/c", 0)]


def test_command_and_settings_are_stored_beside_the_records(tmp_path):
    one, _ = counted(settings=lambda: {"steps": 3})
    one.make(quiet(tmp_path))
    stored = json.loads((tmp_path / store.RECORDS).read_text("utf-8"))
    assert stored["command"] == "python -m experiments counted"
    assert stored["settings"] == {"steps": 3}
    assert set(stored["records"]) == set(VARIANTS)


def test_fine_tuning_trains_all_weights_of_the_body():
    """The function that chapter 18 runs in a cell too long for the tests."""
    torch.manual_seed(0)
    body = Bert(BertConfig(vocab_size=30, d_model=16, n_heads=2, d_ff=16))
    before = {name: w.clone() for name, w in body.named_parameters()}
    rows = [[2, 5 + i % 2, 3] for i in range(32)]
    head, losses = fine_tune(body, rows, torch.arange(32) % 2)
    same = {n for n, w in body.named_parameters() if w.equal(before[n])}
    assert all(name.startswith("pooler") for name in same)  # not read
    assert len(losses) == 6 and head.weight.shape == (2, 16)


# --- the command -------------------------------------------------------------


def test_an_experiment_is_named_as_its_module():
    for name, one in find_all().items():
        assert find(name) is one
    for wrong in ("nrms", "feed_forward", "lab"):
        with pytest.raises(ConfigError, match=f"{wrong}'; there are:"):
            find(wrong)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("heads outputs/x", "does not take inputs"),
        ("enja-heads --seeds 1", "does not take seeds"),
        ("table-3 --seeds 7", "with the seed 7"),
    ],
)
def test_what_would_not_be_looked_at_is_refused(typed, told):
    with pytest.raises(SystemExit, match=rf"\Aerror: .*{told}.*\Z"):
        command(typed.split())


def test_ctrl_c_is_one_line(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "make", pressed)
    leaving = SystemExit, KeyboardInterrupt
    with pytest.raises(leaving, match="stopped; the same command"):
        command(["heads"])


def test_a_reader_of_the_list_may_leave(monkeypatch):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Left())
    command([])


def test_machine_counts_its_threads(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert ", 2 threads, " in machine()


# --- a training, stored and read --------------------------------------------

RECORDS = [
    {"kind": "step", "step": 1, "loss": 1 / 3},
    {"kind": "epoch", "epoch": 1, "step": 1, "dev_nll": 2.0},
]


@pytest.fixture
def output(tmp_path, monkeypatch):
    """A training's folder; stored runs go beside it."""
    monkeypatch.setattr(store, "folder", lambda name: tmp_path / "runs" / name)
    folder = tmp_path / "outputs"
    folder.mkdir()
    store.write_json(folder / "experiment.json", {"name": "x", "machine": "A"})
    lines = [json.dumps(record) + "\n" for record in RECORDS]
    store.write_file(folder / "metrics.jsonl", "".join(lines))
    return folder


def test_what_is_stored_of_a_training_is_read(output):
    store.save(output, "one", "train x", {"bleu": 1.0})
    run = store.read("one")
    assert (run.settings, run.machine) == ({"name": "x"}, "A")
    assert run.steps == [RECORDS[0] | {"loss": 0.333333}]
    assert run.epochs == RECORDS[1:]
    assert (run.command, run.results) == ("train x", {"bleu": 1.0})


# --- the records of an experiment --------------------------------------------

HEAD = {"command": "x", "settings": {"steps": 3}}


def test_records_are_read_by_variant_and_by_group(output):
    for variant in ("one/猫", "one/b", "two"):
        place = store.folder("cats")
        store.add_record(place, variant, {"seed": 0, "of": variant}, HEAD)
    assert [*store.records("cats")] == ["one/猫", "one/b", "two"]
    found = store.records("cats", "one")
    assert found["猫"] == [{"seed": 0, "of": "one/猫"}]
    assert [*found] == ["猫", "b"]
    assert store.settings("cats") == {"steps": 3}


def test_records_are_sorted_by_seed_and_each_has_a_line(output):
    for seed in (1, 0):
        store.add_record(store.folder("cats"), "a", {"seed": seed}, HEAD)
    text = (store.folder("cats") / store.RECORDS).read_text("utf-8")
    assert '\n{"seed": 0},\n{"seed": 1}\n' in text


def test_an_experiment_that_is_not_stored_is_named(output):
    with pytest.raises(CourseError, match="dogs"):
        store.records("dogs")
