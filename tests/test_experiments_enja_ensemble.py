"""What is stored of several trainings that translate together."""

import pytest
import torch
from tiny import decided, tiny_gru, tiny_splits, tiny_transformer

from experiments import enja_ensemble
from experiments.lab import Bench
from transformer_course import checkpoint, runs
from transformer_course.score import bleu_of_counts
from transformer_course.tokenizer import Tokenizer


@pytest.fixture
def folders(tmp_path, monkeypatch):
    splits = tiny_splits()
    tokenizer = Tokenizer.train(
        [*splits.train.src, *splits.train.tgt], 100, "word"
    )
    size = tokenizer.vocab_size
    made = {
        "one": decided(tiny_transformer(vocab_size=size, tied=False)),
        "other": decided(tiny_gru(vocab_size=size)),
    }
    details = {"corpus": "grammar", "src": "en", "tgt": "ja"}
    for name, model in made.items():
        checkpoint.save(tmp_path / name, model, tokenizer, details)
    monkeypatch.setattr(
        enja_ensemble, "splits_for", lambda details, bench: splits
    )
    monkeypatch.setattr(runs, "folder", lambda name: tmp_path / "runs" / name)
    return tuple(tmp_path / name for name in made)


def test_scores_and_counts_are_stored_as_those_of_a_training(
    folders, tmp_path
):
    bench = Bench(tmp_path / "runs" / "both", inputs=folders)
    assert list(enja_ensemble.read(bench))
    stored, counts = runs.read("both"), runs.read_counts("both")
    assert stored.settings == {"models": list(map(str, folders))}
    assert stored.epochs == []
    (best,) = stored.results["dev_bleu_of_the_beam"].values()
    for row in stored.results["rows"]:
        assert best[str(row["alpha"])] == max(best.values())
        found = counts[f"ensemble-{row['beam']}-words"].astype(int)
        if row["sentences"] == "unseen":
            found = found[counts["unseen"]]
        assert round(bleu_of_counts(found), 2) == row["bleu"]
    weights = sum(
        torch.numel(p)
        for folder in folders
        for p in checkpoint.load(folder).model.parameters()
    )
    assert stored.results["parameters"] == weights
