"""A translator whose weights are the mean of two trainings'."""

import pytest
import torch

from experiments import enja_soup
from experiments.lab import Bench
from experiments.translations import smoke_inputs
from transformer_course import checkpoint, runs
from transformer_course.errors import ConfigError
from transformer_course.experiment.folder import find
from transformer_course.tokenizer import Tokenizer
from transformer_course.weights import weights_of


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A tiny training, and the same with weights twice as large."""
    scratch = tmp_path_factory.mktemp("soup") / "outputs"
    [one] = smoke_inputs(scratch)
    loaded = checkpoint.load(find(one))
    with torch.no_grad():
        for weights in loaded.model.parameters():
            weights.mul_(2)
    other = scratch / "other"
    parts = loaded.model, loaded.tokenizer, loaded.details
    checkpoint.save(other, *parts)
    return one, other


def test_each_weight_is_the_mean_of_two(two, tmp_path):
    enja_soup.cooked(two, tmp_path / "soup")
    single, made = (
        weights_of(checkpoint.load(find(path)).model)
        for path in (two[0], tmp_path / "soup")
    )
    for name, weights in made.items():
        torch.testing.assert_close(weights, 1.5 * single[name])


def test_it_is_stored_as_a_training_is(two, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "folder", lambda name: tmp_path / name)
    bench = Bench(tmp_path / "soup", inputs=two, smoke=True)
    assert list(enja_soup.read(bench))
    stored, counts = runs.read("soup"), runs.read_counts("soup")
    assert stored.settings == {"models": list(map(str, two))}
    assert stored.epochs == []
    assert {row["weights"] for row in stored.results["rows"]} == {"average"}
    assert "average-5-words" in counts


def test_models_that_read_other_ids_are_refused(two, tmp_path):
    loaded = checkpoint.load(find(two[0]))
    pieces = Tokenizer.train(["a b c", "c b a d"], 20, "word")
    odd = tmp_path / "odd"
    checkpoint.save(odd, loaded.model, pieces, loaded.details)
    with pytest.raises(ConfigError, match="have different tokenizers"):
        enja_soup.cooked((two[0], odd), tmp_path / "soup")
