"""The corpus of chapter 23: what a worksheet hides, and what the texts say."""

import re
from functools import partial

import pytest

from transformer_course.data.grammar.draws import Draws
from transformer_course.data.school import (
    LATER,
    big_sum,
    calculate,
    count_on,
    questions,
    school_texts,
    steps_hold,
)
from transformer_course.errors import ConfigError

SPLITS = school_texts(train=900, dev=20, test=20)
TEXT = " / ".join(SPLITS.train.tgt)
LAST = " / ".join(school_texts(500, 0, 0, kinds=LATER).train.tgt)
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


def test_more_questions_than_there_are_are_refused(monkeypatch):
    monkeypatch.setattr("transformer_course.data.school.PATIENCE", 5)
    with pytest.raises(ConfigError, match="not so many"):
        questions(0, 700)


def test_the_steps_of_a_sum_are_equal_and_lead_to_its_answer():
    draws = Draws(0)
    for n in [*range(1, 10)] * 4:
        one = count_on(draws, n)
        *sums, last = one.steps.split(" = ")
        assert one.prompt == f"what is {sums[0]} ?" and len(sums) == n
        assert last == one.answer == str(sum(map(int, sums[0].split(" + "))))
        assert sums[-1].endswith(" + 1")
        assert steps_hold(one.steps) and not steps_hold(one.answer)
    assert not steps_hold("137 + 2 = 138 + 1 = 140")


def test_held_out_sums_are_others():
    draws = Draws(0)
    for many in (partial(count_on, draws, 3), partial(big_sum, draws)):
        held_out = {many(True).prompt for _ in range(150)}
        assert len(held_out) > 50
        assert not held_out & {many(False).prompt for _ in range(400)}


def test_no_text_has_the_sums_that_are_held_out_for_the_calculator():
    sums = re.findall(
        r"(\d+) \+ (\d+) \. (?:the )?calculator[ a-z:]+ (\d+)", LAST
    )
    sums += re.findall(r"types (\d+) \+ (\d+) \. the \w+ shows (\d+)", TEXT)
    assert len(sums) > 150
    for m, n, shown in (map(int, one) for one in sums):
        assert m + n == shown and (m + 2 * n) % 5


def test_no_text_has_the_held_out_sums_of_a_large_and_a_small_number():
    small = r"asks for (\d+) \+ (\d) \. \w+ writes : ([\d+= ]+) \."
    assert not re.search(small, TEXT)
    sums = re.findall(small, LAST)
    assert 20 < sum(steps_hold(written) for *_, written in sums) < len(sums)
    for m, n, written in sums:
        assert (int(m) + 2 * int(n)) % 5
        assert int(written.split()[-1]) == int(m) + int(n)


def test_a_calculator_answers_calls_alone():
    for one in (big_sum(Draws(seed)) for seed in range(20)):
        assert calculate(one.call) == one.answer
    for text in ("call 1 + 2 + 3", "1 + 2", "call one + two", ""):
        assert calculate(text) is None


@pytest.mark.parametrize("text", [TEXT, LAST])
def test_what_is_dictated_is_written(text):
    lines = re.findall(r"\w+ reads ([\d ]+) \. \w+ writes ([\d ]+) \.", text)
    assert len(lines) > 50
    assert all(read == written for read, written in lines)
