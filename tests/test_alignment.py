"""Counting finds which word translates which."""

import pytest

from transformer_course.data.grammar import grammar_splits
from transformer_course.errors import CourseError
from transformer_course.evaluation.alignment import (
    align,
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


def test_on_the_grammar_it_beats_a_guess():
    train, _, test = grammar_splits(train=800, dev=0, test=100)
    words = pairs_of([(p.src, p.tgt) for p in [*train, *test]])
    gold = [set(p.alignment) for p in test]
    assert alignment_error_rate(align(words)[-100:], gold) < 0.35


def test_the_error_rate_by_hand():
    sure, more = [{(0, 0), (1, 1)}], [{(0, 0), (1, 1), (0, 1)}]
    assert alignment_error_rate(sure, sure) == 0
    assert alignment_error_rate([{(0, 0)}], sure) == pytest.approx(1 / 3)
    assert alignment_error_rate(more, sure) == pytest.approx(1 / 5)
    assert alignment_error_rate([set()], sure) == 1


def test_nothing_to_align_is_told():
    with pytest.raises(CourseError, match="no sentences"):
        align([])
    with pytest.raises(CourseError, match="without words"):
        align([(["a"], [])])
    with pytest.raises(CourseError, match="error rate of nothing"):
        alignment_error_rate([set()], [set()])
