"""What is kept of n-grams beside the means, and what they draw."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.soseki_ngrams import LENGTH, ORDERS, compare, draw
from transformer_course import runs
from transformer_course.ngram import KneserNey
from transformer_course.tokenizer import EOS

LINES = ["abcab", "abcabcab", "cabab"]
VOCABULARY = ["a", "b", "c", EOS]


def test_the_nats_of_the_texts_add_up_to_the_mean():
    part = SimpleNamespace(tgt=LINES)
    splits = SimpleNamespace(train=part, dev=part, test=part)
    rows, nats, model = compare(
        lambda text: [*text, EOS], VOCABULARY, splits, "characters"
    )
    assert model.order == max(ORDERS)
    for row in rows:
        kept = nats[f"dev-characters-{row['order']}"]
        assert len(kept) == len(LINES)
        mean = kept.sum() / row["dev"]["tokens"]
        assert mean == pytest.approx(row["dev"]["nll"], abs=1e-3)


def test_a_draw_is_fixed_by_its_seed_and_ends_at_eos():
    model = KneserNey([[*line, EOS] for line in LINES], 3, len(VOCABULARY))
    texts = [draw(model, VOCABULARY, seed) for seed in range(20)]
    assert texts == [draw(model, VOCABULARY, seed) for seed in range(20)]
    assert len(set(texts)) > 5
    assert all(set(text) <= set("abc") for text in texts)
    assert all(len(text) <= LENGTH for text in texts)


def test_what_is_stored_adds_up_to_what_is_said():
    with np.load(runs.folder("soseki-ngrams") / "texts.npz") as arrays:
        nats = dict(arrays)
    path = runs.folder("soseki-ngrams") / "ngrams.json"
    stored = json.loads(path.read_text("utf-8"))
    for unit in ("pieces", "characters"):
        for row in stored[unit]:
            for part in ("dev", "test"):
                kept = nats[f"{part}-{unit}-{row['order']}"]
                mean = kept.sum() / row[part]["tokens"]
                assert mean == pytest.approx(row[part]["nll"], abs=2e-4)
