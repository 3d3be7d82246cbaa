"""Instructions that a program checks: right answers pass, others do not."""

import pytest

from transformer_course.data.instructions import KINDS, instructions
from transformer_course.errors import ConfigError

TRAIN = instructions(0, 240)
HELD_OUT = instructions(1, 204, held_out=True)


@pytest.mark.parametrize("given", [TRAIN, HELD_OUT])
def test_each_answer_is_right_and_less_or_more_is_not(given):
    for one in given:
        assert one.is_right(one.answer), one
        assert not one.is_right(""), one
        if one.kind != "list":
            assert not one.is_right(f"{one.answer} Indeed."), one
    assert len({one.prompt for one in given}) == len(given)


def test_kinds_are_alike_in_number():
    kinds = [one.kind for one in HELD_OUT]
    assert {kinds.count(kind) for kind in KINDS} == {34}


def test_held_out_prompts_share_no_wording_and_no_noun_with_training():
    words = {w for one in TRAIN for w in one.prompt.split()}
    for one in HELD_OUT:
        if one.kind == "capitals":
            assert one.answer.lower() not in words
    for kind in KINDS.values():
        seen, kept = kind.wordings[:-2], kind.wordings[-2:]
        assert seen and not {*seen} & {*kept}


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("count", "Small and brown and warm"),
        ("end", "again"),
        ("list", "one, one"),
        ("number", "The answer is 7."),
    ],
)
def test_what_only_looks_right_is_wrong(kind, answer):
    of_kind = [one for one in TRAIN if one.kind == kind]
    assert of_kind and not any(one.is_right(answer) for one in of_kind)


def test_the_same_seed_gives_the_same_prompts():
    again = instructions(0, 240)
    assert [one[:3] for one in again] == [one[:3] for one in TRAIN]
    assert instructions(5, 240)[0].prompt != TRAIN[0].prompt


def test_more_than_there_are_is_refused():
    with pytest.raises(ConfigError, match="not so many"):
        instructions(0, 500, held_out=True)
