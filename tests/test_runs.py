"""Laws of stored runs."""

import json

import pytest
import torch

from transformer_course import runs


@pytest.mark.parametrize(
    ("threads", "said"), [(1, ", 1 thread, "), (2, ", 2 threads, ")]
)
def test_machine_counts_its_threads(monkeypatch, threads, said):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert said in runs.machine()


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "curve.json"
    runs.write_json(path, {"猫": [1, 2]})
    assert json.loads(path.read_text("utf-8")) == {"猫": [1, 2]}

    with pytest.raises(TypeError):
        runs.write_json(path, {"never": object()})
    assert json.loads(path.read_text("utf-8")) == {"猫": [1, 2]}
    assert [p.name for p in path.parent.iterdir()] == ["curve.json"]


# --- seed by seed -----------------------------------------------------------


def trained_seeds(path, seeds, stop_at: int | None = None) -> list[int]:
    """Train with the seeds that are missing; which were trained."""
    done = []

    def train_once(seed: int) -> dict:
        if seed == stop_at:
            raise KeyboardInterrupt
        done.append(seed)
        return {"seed": seed, "loss": seed / 3}

    found = runs.add_seeds(path, {"about": "a test"}, seeds, train_once)
    assert [result["seed"] for result in found] == done
    return done


def test_each_seed_is_trained_once_and_in_order(tmp_path):
    path = tmp_path / "variant.json"
    assert trained_seeds(path, (0, 1)) == [0, 1]
    assert trained_seeds(path, (0, 1, 2)) == [2]
    whole = path.read_bytes()
    assert trained_seeds(path, (0, 1, 2)) == []
    assert path.read_bytes() == whole
    stored = json.loads(whole)
    assert stored["about"] == "a test"
    assert [result["seed"] for result in stored["seeds"]] == [0, 1, 2]


def test_what_was_trained_before_a_stop_is_kept(tmp_path):
    path = tmp_path / "variant.json"
    with pytest.raises(KeyboardInterrupt):
        trained_seeds(path, (0, 1, 2), stop_at=2)
    assert trained_seeds(path, (0, 1, 2)) == [2]


STORED = "copying embeddings failures feed-forward heads stacks wrong-masks"


@pytest.mark.parametrize("name", STORED.split())
def test_nothing_is_missing_from_the_stored_runs(name):
    """The tools that made them would train nothing again."""
    folder = runs.folder(name)
    seeds = json.loads((folder / "settings.json").read_text("utf-8"))["seeds"]
    paths = [p for p in folder.glob("*.json") if p.stem != "settings"]
    assert paths
    for path in paths:
        assert list(runs.add_seeds(path, {}, seeds, pytest.fail)) == []
