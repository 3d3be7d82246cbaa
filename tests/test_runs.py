"""Laws of stored runs."""

import pytest
import torch

from transformer_course import runs


@pytest.mark.parametrize(
    ("threads", "said"), [(1, ", 1 thread, "), (2, ", 2 threads, ")]
)
def test_machine_counts_its_threads(monkeypatch, threads, said):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert said in runs.machine()
