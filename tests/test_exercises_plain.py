"""Results as JSON: the same again, or a stranger that shows the same."""

import hashlib
import json

import cloudpickle
import numpy as np
import pytest
import torch
from torch import nn

from course_exercises.attempt import Request, tried
from course_exercises.catalogue import EXERCISES
from course_exercises.engine.diagnose import diagnose, expected_of
from course_exercises.engine.values import same
from course_exercises.plain import (
    NUMBERS,
    PARTS,
    decode,
    decode_outcome,
    encode,
    encode_outcome,
)
from course_exercises.worker import Ended, judged


def again(value):
    """Through JSON and back."""
    return decode(json.loads(json.dumps(encode(value))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(10**20),
        0.1,
        float("nan"),
        float("-inf"),
        "日本 \ud800",
        (1, [2.0, ("three",)], {"four": 4, 5: None}),
        torch.tensor(3.0),
        torch.tensor([[1.5, float("nan")], [float("inf"), -0.0]]),
        torch.ones(2, 0, 3),
        torch.arange(6).view(2, 3).T,
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]).conj(),
        torch.tensor([1.5], dtype=torch.bfloat16),
        torch.ones(1).expand(3, 4),
        np.arange(3),
    ],
)
def test_plain_values_come_back(value):
    assert same(again(value), value, 0.0)
    assert type(again(value)) is type(value)


def test_a_parameter_is_its_numbers():
    assert type(again(nn.Parameter(torch.ones(2)))) is torch.Tensor


def test_of_what_is_too_large_the_kind_is_told():
    shape = (1 << 20, 1 << 20)
    huge = again(torch.ones((), dtype=torch.int8).expand(shape))
    assert (huge.shape, huge.dtype) == (shape, torch.int8)
    assert len(again([0] * (1 << 20))) == PARTS
    nested = again([[0] * 1000] * 1000)
    assert len(json.dumps(encode(nested))) < 20 * PARTS


def test_no_solution_gives_as_much_as_is_cut():
    for exercise in EXERCISES.values():
        for outcome in expected_of(exercise):
            told = json.dumps(encode_outcome(outcome))
            assert len(told) < NUMBERS
            back = decode_outcome(json.loads(told))
            assert same(back.value, outcome.value, 0.0)
            assert same(back.gradients, outcome.gradients, 0.0)


class Stubborn:
    def __repr__(self):
        raise ZeroDivisionError

    __str__ = __repr__


def endless_list():
    made = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    "value",
    [
        Stubborn(),
        endless_list(),
        10**10000,
        torch.ones(2).to_sparse(),
        torch.ones(2, device="meta"),
        {1, 2},
        np.array([object()]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_plain_is_equal_to_nothing(value):
    assert not same(again(value), again(value), 1.0)
    assert isinstance(repr(again(value)), str)


def yields(length):
    yield length


def lends(length):
    return np.tri(length)


def names_a_module(length):
    return nn.Linear(2, 2)


def names_a_function(length):
    return torch.tril


def names_a_number(length):
    return np.float32(1.0)


def gives_nothing(length):
    pass_on = length  # noqa: F841


def draws(length):
    return torch.rand(1, 1, length, length) > 0.5


def divides(length):
    return 1 / 0


@pytest.mark.parametrize(
    "code",
    [
        yields,
        lends,
        names_a_module,
        names_a_function,
        names_a_number,
        gives_nothing,
        draws,
        divides,
        lambda length: {length},
        lambda length: "text",
    ],
)
def test_what_is_told_by_way_of_json_is_what_is_told_at_once(code):
    exercise = EXERCISES["causal_mask"]
    assert told(exercise, code).text == diagnose(exercise, code).text


SAMPLE = 8


def is_sampled(name: str) -> bool:
    """Whether `make test` tries this exercise: a hash of its name decides."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest) % SAMPLE == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[] if is_sampled(name) else pytest.mark.exhaustive
        )
        for name in EXERCISES
    ],
)
def test_a_known_mistake_is_named_by_way_of_json(name):
    exercise = EXERCISES[name]
    code = exercise.mistakes[-1]
    assert told(exercise, code) == diagnose(exercise, code)


def told(exercise, code):
    """What the worker says of what an attempt says."""
    return judged(exercise, as_sent(exercise, code), expected_of(exercise))


def as_sent(exercise, code):
    request = Request(exercise.name, cloudpickle.dumps(code), memory=1 << 50)
    result = tried(exercise, request, lambda number: None)
    return json.loads(json.dumps(result))


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": {"text": "", "kind": "correct"}},
        {"outcomes": []},
        {"outcomes": [{"value": 1}]},
        {"parameters": 3},
        {"outcomes": [{"value": {"tensor": {"dtype": "save"}}}]},
    ],
)
def test_what_our_own_code_does_not_say_is_not_believed(change):
    exercise = EXERCISES["causal_mask"]
    result = as_sent(exercise, exercise.others[0]) | change
    with pytest.raises(Ended):
        judged(exercise, result, expected_of(exercise))
