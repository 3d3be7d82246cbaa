"""The corpus of chapter 23: what a worksheet hides, and what the texts say."""

import re

import pytest

from transformer_course.data.school import questions, school_texts
from transformer_course.errors import ConfigError

SPLITS = school_texts(train=900, dev=20, test=20)
TEXT = " / ".join(SPLITS.train.tgt)
SHOWN = questions(0, 150)
HELD_OUT = questions(1, 60, held_out=True)


def test_each_answer_is_right_and_others_are_not():
    for one in (*SHOWN, *HELD_OUT):
        assert one.is_right(one.answer)
        assert not one.is_right("") and not one.is_right(f"{one.answer} , x")
    fruits = next(q for q in SHOWN if q.prompt == "name two fruits .")
    assert fruits.is_right("pear , plum")
    assert not fruits.is_right("pear , pear") and not fruits.is_right("pear")


def test_a_question_on_a_worksheet_is_followed_by_another():
    sheets = [t for t in SPLITS.train.tgt if t.startswith(("what", "name"))]
    assert len(sheets) > 50
    for sheet in sheets:
        for line in sheet.split(" / "):
            assert re.fullmatch(r"(what|name|where|who) .*[?.]", line)


def test_held_out_answers_stand_in_the_texts_but_not_behind_questions():
    lessons = re.findall(r"teacher : (.*?[?.]) \w+ : ", TEXT)
    assert len({*lessons}) > 100
    assert not {*lessons} & {one.prompt for one in HELD_OUT}
    assert not {one.prompt for one in SHOWN} & {o.prompt for o in HELD_OUT}
    capitals = [one for one in HELD_OUT if one.kind == "capital"]
    assert len(capitals) > 3
    for one in capitals:
        country = one.prompt.removeprefix("what is the capital of ")[:-2]
        assert re.search(f"{country} [^/]*{one.answer} \\.", TEXT)


def test_the_parts_are_others_and_the_same_each_time():
    assert school_texts(900, 20, 20) == SPLITS
    assert not {*SPLITS.train.tgt} & {*SPLITS.dev.tgt, *SPLITS.test.tgt}


def test_more_questions_than_there_are_are_refused():
    with pytest.raises(ConfigError, match="not so many"):
        questions(0, 700)
