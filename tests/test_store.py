"""Laws of stored runs."""

import json

import pytest
import torch

from experiments import store
from transformer_course.device import machine
from transformer_course.errors import CourseError


def test_machine_counts_its_threads(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert ", 2 threads, " in machine()


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "curve.json"
    store.write_json(path, {"猫": [1, 2]})
    assert json.loads(path.read_text("utf-8")) == {"猫": [1, 2]}

    with pytest.raises(TypeError):
        store.write_json(path, {"never": object()})
    assert json.loads(path.read_text("utf-8")) == {"猫": [1, 2]}
    assert [p.name for p in path.parent.iterdir()] == ["curve.json"]


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
    assert run.settings == {"name": "x"}
    assert run.steps == [RECORDS[0] | {"loss": 0.333333}]
    assert run.epochs == RECORDS[1:]
    assert (run.command, run.results) == ("train x", {"bleu": 1.0})


def test_the_machine_is_the_one_that_trained(output):
    store.write_json(output / "experiment.json", {"machine": "A"})
    store.save(output, "one", "", {})
    assert store.read("one").machine == "A"


def assert_one_line(call, *words):
    with pytest.raises(CourseError) as caught:
        call()
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


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
    assert store.records("cats")["a"] == [{"seed": 0}, {"seed": 1}]
    text = (store.folder("cats") / store.RECORDS).read_text("utf-8")
    assert '\n{"seed": 0},\n{"seed": 1}\n' in text


def test_an_experiment_that_is_not_stored_is_named(output):
    assert_one_line(lambda: store.records("dogs"), "dogs")
