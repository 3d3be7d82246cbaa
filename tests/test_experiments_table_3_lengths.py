"""How much of a BLEU is length."""

import pytest

from experiments.table_3_lengths import lengths
from transformer_course.score import corpus_bleu

REFERENCES = ["犬 は 猫 を 見 る 。", "彼女 は とても 長い 本 を 読 む 。"]


def test_without_its_penalty_bleu_is_the_precisions_alone():
    short = ["犬 は 猫 を", "彼女 は とても 長い 本"]
    found = lengths(short, REFERENCES)
    assert (found["words"], found["reference_words"]) == (9, 16)
    assert found["bleu"] == round(corpus_bleu(short, REFERENCES).value, 2)
    assert found["bleu_without_penalty"] == pytest.approx(100)
    assert found["bleu"] < 50


def test_who_writes_too_much_pays_no_penalty():
    long = [f"{line} {line}" for line in REFERENCES]
    found = lengths(long, REFERENCES)
    assert found["words"] == 2 * found["reference_words"]
    assert found["bleu"] == found["bleu_without_penalty"] < 100


def test_nothing_written_has_no_score():
    found = lengths(["", ""], REFERENCES)
    assert found["words"] == found["bleu"] == 0
