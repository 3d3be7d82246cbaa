"""The n-gram model is one, and the clean text holds nothing held out."""

import math

import pytest

from tools import measure_leaks
from tools.measure_leaks import END, NGrams

LINES = ["猫が寝る。", "猫が鳴く。", "犬が鳴く。", ""]


@pytest.mark.parametrize("context", ["", "猫", "猫が", "見た事のない"])
def test_probabilities_sum_to_one(context):
    model = NGrams(LINES)
    signs = {*"".join(LINES), END, "鳥"}  # 鳥 stands for all unseen ones
    total = sum(model.probability(sign, context) for sign in signs)
    assert total == pytest.approx(1)


def test_what_was_read_is_less_surprising():
    model = NGrams(LINES)
    assert model.nll(["猫が鳴く。"]) < model.nll(["鳥が飛ぶ。"])


def test_nll_is_the_mean_over_characters_and_the_end():
    model = NGrams(LINES)
    p = model.probability("犬", "") * model.probability(END, "犬")
    assert model.nll(["犬"]) == pytest.approx(-math.log(p) / 2)


def test_held_out_sentences_are_only_in_the_leaking_text(monkeypatch):
    read, judged = [], []

    class Spy:
        def __init__(self, sentences):
            read.append(set(sentences))

        def nll(self, sentences):
            judged.append(list(sentences))
            return 1.0

    monkeypatch.setattr(measure_leaks, "NGrams", Spy)
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
