"""Surprise is per character, and the clean text holds nothing held out."""

import pytest

from experiments.leaks import (
    END,
    ORDER,
    signs_of,
    split_at_random,
    surprise,
)
from transformer_course.ngram import KneserNey

CHAPTERS = [["猫が寝る。", "猫が鳴く。"], ["犬が鳴く。"]]
LINES = [line for chapter in CHAPTERS for line in chapter]


def test_surprise_is_the_mean_over_characters_and_the_end():
    signs = signs_of(CHAPTERS)
    assert signs == len(set("".join(LINES)) | {END})
    model = KneserNey([line + END for line in LINES], ORDER, signs)
    nats = model.nll("犬が寝る。" + END) + model.nll("猫" + END)
    found = surprise(LINES, ["犬が寝る。", "猫"], signs)
    assert found == pytest.approx(nats / 8, abs=1e-4)


def test_held_out_sentences_are_only_in_the_leaking_text():
    chapters = [[f"{c}{s}" for s in range(20)] for c in "ABC"]
    targets, *learned = split_at_random(chapters, seed=0, size=5)
    leaking, clean = map(set, learned)
    assert len(targets) == 5
    assert not clean & set(targets)
    assert leaking & set(targets)
    assert clean < leaking
