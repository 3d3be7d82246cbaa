"""Laws of the models that chapters share: trained once, and kept."""

import pytest
import torch
from tiny_runs import tiny

from transformer_course.experiment import shared, trained

pytestmark = pytest.mark.usefixtures("small_corpus")


def test_a_chapters_model_is_trained_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    first = trained(tiny(epochs=1))
    monkeypatch.setattr(shared, "run", None)  # a second would fail
    again = trained(tiny(epochs=1))
    for one, other in zip(
        first.model.parameters(), again.model.parameters(), strict=True
    ):
        assert torch.equal(one, other)
    assert not again.model.training
