"""Counting finds which word translates which."""

import numpy as np
import pytest

from transformer_course.data.grammar import grammar_splits
from transformer_course.errors import CourseError
from transformer_course.evaluation.alignment import (
    _candidates,
    align,
    align_both_ways,
    alignment_error_rate,
)

TEXT = [
    ("drink tea", "お茶 飲む"),
    ("drink milk", "ミルク 飲む"),
    ("buy milk", "ミルク 買う"),
    ("buy tea", "お茶 買う"),
]


def pairs_of(lines):
    return [(src.split(), tgt.split()) for src, tgt in lines]


def test_words_that_go_together_are_found():
    for found in align(pairs_of(TEXT)):
        assert found == {(0, 1), (1, 0)}


def test_a_word_that_goes_with_none_has_no_link():
    """は is in every sentence, and no English word is."""
    with_topic = [(src, f"は {tgt}") for src, tgt in TEXT]
    for found in align(pairs_of(with_topic), rounds=10):
        assert found == {(0, 2), (1, 1)}


def test_places_tell_twins_apart():
    """Both words are always together: only where they stand is left."""
    text = [("a b", "x y")] * 3 + [("a c", "x z"), ("d b", "w y")]
    assert align(pairs_of(text), places=True)[0] == {(0, 0), (1, 1)}


@pytest.mark.parametrize(("n", "m"), [(1000, 3), (3, 1000), (1, 1)])
def test_places_are_told_apart_in_sentences_of_any_length(n, m):
    found = _candidates([(["a"] * n, ["x"] * m)])
    assert len(found.of_place) == (n + 1) * m
    assert (np.unique(found.of_place, return_counts=True)[1] == n + 1).all()


def test_no_written_word_is_the_word_that_is_missing():
    for word in ("<no word>", "None", ""):
        assert len(_candidates([([word], ["x"])]).of_word) == 2


def test_on_the_grammar_it_beats_a_guess_and_both_ways_are_surer():
    train, _, test = grammar_splits(train=800, dev=0, test=100)
    words = pairs_of([(p.src, p.tgt) for p in [*train, *test]])
    gold = [set(p.alignment) for p in test]
    one = align(words)[-100:]
    both = align_both_ways(words)[-100:]
    assert alignment_error_rate(one, gold) < 0.35

    def precision(found):
        right = sum(len(a & g) for a, g in zip(found, gold, strict=True))
        return right / sum(map(len, found))

    assert precision(both) > precision(one)


def test_the_error_rate_by_hand():
    sure, possible = [{(0, 0), (1, 1)}], [{(0, 0), (1, 1), (0, 1)}]
    assert alignment_error_rate(sure, sure) == 0
    assert alignment_error_rate([{(0, 0)}], sure) == pytest.approx(1 / 3)
    assert alignment_error_rate(possible, sure, possible) == 0
    assert alignment_error_rate(possible, sure) == pytest.approx(1 / 5)
    assert alignment_error_rate([set()], sure) == 1


def test_nothing_to_align_is_told():
    with pytest.raises(CourseError, match="no sentences"):
        align([])
    with pytest.raises(CourseError, match="without words"):
        align([(["a"], [])])
    with pytest.raises(CourseError, match="error rate of nothing"):
        alignment_error_rate([set()], [set()])
