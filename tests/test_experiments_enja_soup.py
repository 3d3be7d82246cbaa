"""A translator whose weights are the mean of two trainings'."""

import pytest
import torch
from tiny import decided, tiny_corpus, tiny_splits, tiny_transformer

from experiments import enja_soup
from experiments.lab import Bench
from transformer_course import checkpoint, runs
from transformer_course.errors import ConfigError
from transformer_course.tokenizer import Tokenizer
from transformer_course.weights import weights_of

DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}


@pytest.fixture
def two(tmp_path, monkeypatch):
    """A translator, and the same one with weights three times as large."""
    tiny_corpus(monkeypatch)
    monkeypatch.setattr(runs, "folder", lambda name: tmp_path / "runs" / name)
    text = tiny_splits().train
    pieces = Tokenizer.train([*text.src, *text.tgt], 100, "word")
    size = pieces.vocab_size
    model = decided(tiny_transformer(vocab_size=size, tied=False))
    folders = tmp_path / "one", tmp_path / "other"
    for folder, scale in zip(folders, (1, 3), strict=True):
        with torch.no_grad():
            for weights in model.parameters():
                weights.mul_(scale)
        checkpoint.save(folder, model, pieces, DETAILS)
    return folders


def test_each_weight_is_the_mean_of_two(two, tmp_path):
    enja_soup.cooked(two, tmp_path / "soup")
    made = checkpoint.load(tmp_path / "soup" / "checkpoints" / "average")
    single = weights_of(checkpoint.load(two[0]).model)
    for name, weights in weights_of(made.model).items():
        torch.testing.assert_close(weights, 2 * single[name])
    assert made.details == DETAILS


def test_it_is_stored_as_a_training_is(two, tmp_path):
    bench = Bench(tmp_path / "runs" / "soup", inputs=two, smoke=True)
    assert list(enja_soup.read(bench))
    stored, counts = runs.read("soup"), runs.read_counts("soup")
    assert stored.settings == {"models": list(map(str, two))}
    assert stored.epochs == []
    assert {row["weights"] for row in stored.results["rows"]} == {"average"}
    assert "average-5-words" in counts


def test_models_that_read_other_ids_are_refused(two, tmp_path):
    pieces = Tokenizer.train(["a b c", "c b a d"], 20, "word")
    odd = tmp_path / "odd"
    model = tiny_transformer(vocab_size=pieces.vocab_size)
    checkpoint.save(odd, model, pieces, DETAILS)
    with pytest.raises(ConfigError, match="have different tokenizers"):
        enja_soup.cooked((two[0], odd), tmp_path / "soup")
