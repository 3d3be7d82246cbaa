"""Surprise is per character, and the clean text holds nothing held out."""

import pytest

from tools import measure_leaks
from tools.measure_leaks import END, ORDER, signs_of, surprise
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


def test_held_out_sentences_are_only_in_the_leaking_text(monkeypatch):
    read, judged = [], []

    def spy(learned, targets, vocab_size):
        read.append(set(learned))
        judged.append(targets)
        return 1.0

    monkeypatch.setattr(measure_leaks, "surprise", spy)
    monkeypatch.setattr(measure_leaks, "HELD_OUT", 5)
    chapters = [[f"{c}{s}" for s in range(20)] for c in "ABC"]
    sizes = measure_leaks.at_random(chapters, seed=0)
    leaking, clean = read
    assert judged[0] == judged[1] and len(judged[0]) == 5
    assert not clean & set(judged[0])
    assert leaking & set(judged[0])
    assert clean < leaking
    assert (sizes["train_leaking"], sizes["train_clean"]) == (
        len(leaking),
        len(clean),
    )
