"""What translators look at, from pieces to words."""

import json

import numpy as np
import torch
from tiny import close, random_ids, tiny_gru, tiny_transformer, with_bos

from experiments.enja_attention import (
    by_words,
    expected,
    weights_of,
    word_starts,
    words_of,
)
from transformer_course import runs
from transformer_course.data.text import ParallelText

SOURCE = ["▁the", "▁ca", "t"]
TARGET = ["▁", "猫", "▁は"]


def test_words_begin_where_their_pieces_do():
    assert word_starts(SOURCE) == [0, 1, 3]
    assert word_starts(TARGET) == [0, 2, 3]


def test_a_word_has_the_weight_of_its_pieces():
    weights = torch.rand(2, 3, len(TARGET) + 1, len(SOURCE) + 1)
    weights = weights.softmax(dim=-1)
    words = torch.tensor(by_words(weights, SOURCE, TARGET)).float()
    assert words.shape == (2, 3, 3, 3)
    close(words.sum(dim=-1), torch.ones(2, 3, 3), tolerance=2e-3)
    close(words[..., 1], weights[..., [0, 2, 3], 1:3].sum(-1), tolerance=2e-3)


def test_a_gru_is_overheard_as_it_is_and_left_so():
    src, tgt = random_ids(1, 5, seed=1), with_bos(random_ids(1, 3, seed=2))
    model = tiny_gru()
    before = model(src, tgt)
    weights = weights_of(model, src, tgt)
    assert weights.shape == (1, 1, 4, 5)
    close(weights.sum(dim=-1), torch.ones(1, 1, 4))
    close(weights_of(model, src, tgt[:, :2]), weights[:, :, :2])
    close(model(src, tgt), before)


def test_what_is_expected_is_the_probability_of_the_next_token():
    src, tgt = random_ids(1, 5, seed=1), [7, 9]
    model = tiny_transformer()
    logits = model(src, with_bos(torch.tensor([tgt])))[0]
    found = expected(model, src, tgt)
    close(torch.tensor(found[:2]), logits.softmax(-1)[[0, 1], tgt])
    assert len(found) == 3


def test_what_was_written_by_hand_is_kept():
    text = ParallelText(["a cat", "a dog"], ["猫 だ", "犬 だ"])
    known = {"犬 だ": {"gloss": ["dog", "is"], "gold": [[1], []]}}
    cat, dog = words_of(text, known)
    assert cat["gloss"] == ["", ""] and cat["gold"] == [[], []]
    assert dog["gloss"] == ["dog", "is"] and dog["gold"] == [[1], []]
    assert dog["source"] == ["a", "dog", "</s>"]


def test_the_stored_maps_fit_their_words():
    folder = runs.folder("enja-attention")
    stored = json.loads((folder / "words.json").read_text("utf-8"))
    assert stored["split"] == "dev" and "Tatoeba" in stored["credit"]
    with np.load(folder / "maps.npz") as arrays:
        maps = dict(arrays)
    for i, one in enumerate(stored["sentences"]):
        rows, columns = len(one["target"]), len(one["source"])
        assert len(one["gloss"]) == len(one["gold"]) == rows - 1
        assert all(one["gloss"])
        assert all(0 <= s < columns - 1 for g in one["gold"] for s in g)
        for name in stored["weights"]:
            assert maps[f"{name}-{i}"].shape[2:] == (rows, columns)
            assert maps[f"{name}-{i}-p"].shape == (rows,)
