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
