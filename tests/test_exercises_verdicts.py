"""Verdicts on mistakes that can be made in any exercise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from course_exercises.candidate.values import like
from course_exercises.contents import EXERCISES
from course_exercises.engine import show
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import Exercise, case, module_case
from course_exercises.engine.mistakes import misconceptions_of


def double(x, by=2.0):
    """Twice as much."""
    ### BEGIN SOLUTION
    return x * by
    ### END SOLUTION


def fails_on_rows(x, by=2.0):
    if x.dim() == 1:
        raise ValueError("only columns")
    return x * by


SECTION = "06_masks#the-causal-mask"
MISTAKES = """
## halved
```diff
- x * by
+ x / by
```
You divide where you should multiply.
## always_two
```diff
- x * by
+ x * 2.0
```
You always double.
## fails_on_rows
```python
return fails_on_rows(x, by)
```
Only columns.
"""
DOUBLE = Exercise(
    solution=double,
    section=SECTION,
    points=1,
    hints=("a", "b"),
    cases=[
        case("one", torch.ones(1)),
        case("three", torch.tensor([1.0, 2.0, 3.0]), 3.0),
        case("a column", torch.ones(2, 1)),
        case("many", torch.arange(60.0).view(6, 10), 4.0),
    ],
    draw=lambda draw: case("random", draw.normal(2, draw.size(1, 3))),
    others=[],
    mistakes=misconceptions_of(double, MISTAKES, SECTION),
)

# --- one candidate, one verdict ----------------------------------------------


def helper(x):
    return torch.cat([x, 3])


def fails_if_large(x, by=2.0):
    if x.numel() > 50:
        raise ValueError("too large for me")
    return x * by


def calls_itself(x, by=2.0):
    return calls_itself(x, by)


def without_return(x, by=2.0):
    x * by


class Remembers:
    """Counts its calls."""

    calls = 0
    __name__ = "double"

    def __call__(self, x, by=2.0):
        self.calls += 1
        return x * by * self.calls


def nan_gradient(x):
    return (x - x).sqrt() * 0


CANDIDATES = {
    "correct: Tried on 10 inputs": "by * x",
    "generic changed_input: `x` in place": "x.mul_(by)",
    "generic wrong_type: a NumPy array": "x.detach().numpy() * by",
    "generic wrong_type: a list": "(x * by).tolist()",
    "generic wrong_type: `yield`": "(yield x * by)",
    "generic wrong_shape: (1, 1); the exercise asks": "x[None] * by",
    "generic wrong_dtype: int64": "(x * by).long()",
    "generic gradients_fail: want a grad": "torch.from_numpy(x.numpy() * by)",
    "generic returned_none: `return`": without_return,
    "generic not_repeated: random numbers": "x * by + torch.randn(1)",
    "generic not_repeated: second time": Remembers(),
    "generic not_a_number: NaN": "x * by * float('nan')",
    "generic wrong_arguments: called as double(x": lambda x: x,
    "generic wrong_kind: asks for a function": nn.Identity,
    "generic gradient_cut: though the": "(x * by).detach()",
    "generic wrong_gradient: though the": "x * by / 2 + (x * by / 2).detach()",
    "generic gradient_not_a_number: though the": "x * by + nan_gradient(x)",
    "limit memory: more memory": "torch.ones(1 << 45)",
    "error NotImplementedError: not implemented": "x ^ x",  # PyTorch's own
    "error TypeError: in helper: return torch": "helper(x)",
    "error ValueError: on 1 of 10 inputs": fails_if_large,
    "error RecursionError: every input": calls_itself,
    "error SystemExit: every input": "exit(1)",
    "unknown: never uses `by`": "x * 7",
    "unknown: differs on 1 of 10 inputs": "(lambda: x * by + (x > 50))()",
    "unknown: 9 of 60 numbers differ, first [5, 1]": "x * by + (x > 50)",
    "unknown: 2.0004": "x * by * 1.0002",
    # the gradient is wrong on a smaller input than the result
    "unknown: (a column)": "x.detach() * by if len(x) == 1 else x * by + 1",
    "misconception halved: (one): x = [1.]": "x / by",
    "misconception always_two: (three)": "x * 2.0",
    "misconception fails_on_rows: ValueError: only columns": fails_on_rows,
    "misconception halved+changed_input: 2. Your": "x.div_(by)",
    "misconception wrong_shape+halved: 2. You divide": "(x / by)[None]",
    "misconception wrong_shape+halved: 1. Your": "(x / by)[None].double()",
    "misconception wrong_dtype+halved: 1. Your result": "(x / by).double()",
    "misconception halved+gradient_cut: No gradient": "(x / by).detach()",
    "misconception halved+wrong_gradient: The": (
        "x / by / 2 + (x / by / 2).detach()"
    ),
    "misconception halved: You divide": (
        "x / by + (nan_gradient(x) if x.numel() == 1 else 0)"
    ),
}
"""By the verdict's kind, the mistakes that it names, words of its text: a
function, or what it returns."""


@pytest.mark.parametrize(
    ("expected", "candidate"), CANDIDATES.items(), ids=list(CANDIDATES)
)
def test_the_verdict_names_what_is_wrong(expected, candidate):
    if isinstance(candidate, str):
        candidate = eval(f"lambda x, by=2.0: {candidate}", globals())
    verdict = diagnose(DOUBLE, candidate)
    named, _, said = expected.partition(": ")
    mistake = verdict.mistake.replace(" and ", "+")
    assert f"{verdict.kind} {mistake}".strip() == named, verdict.text
    assert said in " ".join(verdict.text.split()), verdict.text
    for seldom in ("though", "never uses"):
        assert (seldom in verdict.text) == (seldom in said)
    for never in ("return x * by", "0x", "outcome.py", "not written yet"):
        assert never not in verdict.text
    assert all(len(s) <= show.WIDTH + 4 for s in verdict.text.splitlines())


class Stubborn:
    def __repr__(self):
        raise ZeroDivisionError

    __eq__ = None


@pytest.mark.parametrize(
    "value",
    [
        Stubborn(),
        {1, 2},
        np.array([object()]),
        10**10000,
        [0] * 20_000,
        torch.ones(1 << 18),
        torch.ones(1, dtype=torch.complex64).conj(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_of_any_type_or_size_is_judged_and_shown(value):
    verdict = diagnose(DOUBLE, lambda x, by=2.0: value)
    assert verdict.kind in ("generic", "unknown")
    assert len(verdict.text) < 2000


@pytest.mark.parametrize("body", ["pass", "...", "'''Doc.'''", "return"])
def test_an_empty_body_is_not_written_yet(body):
    namespace = {}
    exec(f"def candidate(x, by=2.0):\n    {body}", namespace)
    assert diagnose(DOUBLE, namespace["candidate"]).kind == "unwritten"


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (lambda x: x / 2 or 0, "correct"),
        (lambda x: x // 2, "unknown"),
        (lambda x: x / 2 or False, "generic"),
    ],
    ids=["a right int", "wrong ints", "False"],
)
def test_an_int_may_stand_for_a_float(candidate, kind):
    halves = replace(
        DOUBLE,
        solution=lambda x: x / 2,
        cases=[case("two", 2), case("nothing", 0), case("three", 3)],
        draw=lambda draw: case("random", draw.size(0, 9)),
        mistakes=[],
    )
    verdict = diagnose(halves, candidate)
    assert verdict.kind == kind, verdict.text


# --- what is shown -----------------------------------------------------------


def test_a_mistake_may_be_an_error_with_the_same_message_only():
    def other_message(x, by=2.0):
        if x.dim() == 1:
            raise ValueError("something else")
        return x * by

    assert diagnose(DOUBLE, other_message).kind == "error"


def test_a_parameter_that_the_solution_ignores_too_is_not_named():
    exercise = replace(DOUBLE, solution=lambda x, by=2.0: 2.0 * x)
    verdict = diagnose(exercise, lambda x, by=2.0: torch.ones(1))
    assert verdict.kind == "unknown"
    assert "never uses `x`." in verdict.text


def test_a_list_that_is_changed_is_noticed_too():
    exercise = EXERCISES["merge_pair"]

    def merge_pair(pieces, pair):
        merged = exercise.solution(pieces, pair)
        pieces.clear()
        return merged

    assert diagnose(exercise, merge_pair).mistake == "changed_input"


def test_of_several_results_the_wrong_one_is_named():
    exercise = replace(
        DOUBLE, solution=lambda x, by=2.0: (x, x * by), mistakes=[]
    )
    verdict = diagnose(exercise, lambda x, by=2.0: (x, (x * by)[None]))
    assert "Your second result has the shape (1, 1)" in verdict.text


def test_the_smallest_case_says_whether_it_is_an_error():
    def padding_mask(ids, pad_id=0):
        if len(ids) > 1:
            raise ValueError("one at a time")
        return (ids > pad_id - 1)[:, None, None, :]

    assert diagnose(EXERCISES["padding_mask"], padding_mask).kind == "unknown"


def test_functions_are_shown_by_name_and_long_values_are_cut_off():
    text = show.assignments({"steps": [double, helper], "by": double})
    assert text.splitlines() == [
        "steps = 1. the function double",
        "        2. the function helper",
        "by = the function double",
    ]
    text = show.short("吾輩は猫である。" * 100)
    assert text.endswith(" …") and 100 < len(text) < 400


def test_a_notebook_shows_a_link():
    exercise = EXERCISES["padding_mask"]
    verdict = diagnose(exercise, exercise.mistakes[0].implementation)
    shown = verdict._repr_markdown_()
    assert "](<../book/en/06_masks.ipynb#" in shown
    assert verdict.text.partition("Read again")[0].strip() in shown


def test_shape_and_dtype_change_only_where_no_number_is_lost():
    half = torch.tensor([0.5, 2.0])
    hiding = torch.tensor([0.0, -torch.inf])  # not: False, True
    for wanted in (torch.bool, torch.int64):
        for kept in (half, hiding):
            left = like(kept, torch.ones(2, dtype=wanted))
            assert torch.equal(left, kept) and left.dtype == kept.dtype
    mask = like(torch.tensor([1.0, 0.0]), torch.ones(2).bool())
    assert mask.dtype == torch.bool and mask.tolist() == [True, False]
    table = torch.arange(6.0).view(2, 3)
    assert like(table, torch.ones(3, 2)) is table, "it may be transposed"
    assert torch.equal(like(table[None], torch.ones(6)), table.flatten())
    assert like([table, 3], (torch.ones(6), 3))[0].shape == (6,)
    assert torch.equal(like(2, torch.tensor(0.5)), torch.tensor(2.0))


# --- classes -----------------------------------------------------------------


class Scale(nn.Module):
    """Multiply by learned factors, and shift."""

    def __init__(self, d_model: int):
        super().__init__()
        self.first = nn.Parameter(torch.ones(d_model))
        self.second = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return x * self.first + self.second


def test_a_class_is_built_given_weights_and_called():
    class Other(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.second = nn.Parameter(torch.ones(d_model))
            self.first = nn.Parameter(torch.ones(d_model))

        forward = Scale.forward

    exercise = replace(
        DOUBLE,
        solution=Scale,
        cases=[module_case("one", (2,), torch.ones(1, 2))],
        draw=lambda draw: module_case("random", (3,), draw.normal(2, 3)),
        mistakes=[],
    )
    assert diagnose(exercise, Scale).is_correct
    assert diagnose(exercise, Other).is_correct
    Other.forward = lambda self, x: self.first * x
    verdict = diagnose(exercise, Other)
    assert verdict.kind == "unknown" and "built as Scale(2)" in verdict.text
    Other.__init__ = lambda self, width: nn.Module.__init__(self)
    Other.forward = lambda self, x: x
    verdict = diagnose(exercise, Other)
    assert verdict.mistake == "wrong_parameters"
    text = " ".join(verdict.text.split())
    assert "It lacks: first (2,), second (2,)." in text
