"""Verdicts on mistakes that can be made in any exercise."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from course_exercises.contents import EXERCISES
from course_exercises.engine import show
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import (
    Exercise,
    build_and_call,
    case,
    module_case,
)
from course_exercises.engine.values import in_form


def double(x, by=2.0):
    """Twice as much."""
    ### BEGIN SOLUTION
    return x * by
    ### END SOLUTION


def halved(x, by=2.0):
    """You divide where you should multiply."""
    return x / by


def always_two(x, by=2.0):
    """You always double."""
    return x * 2.0


def fails_on_rows(x, by=2.0):
    """Only columns."""
    if x.dim() == 1:
        raise ValueError("only columns")
    return x * by


DOUBLE = Exercise(
    solution=double,
    section="06_masks#the-future",
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
    mistakes=[halved, always_two, fails_on_rows],
)


def test_right():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: by * x)
    assert verdict.is_correct and "Tried on 10 inputs" in verdict.text


def test_pytorch_s_own_not_implemented_is_an_error():
    """It has a message; what a stub raises has none."""
    verdict = diagnose(DOUBLE, lambda x, by=2.0: x ^ x)
    assert verdict.kind == "error" and "not implemented" in verdict.text
    assert "not written yet" not in verdict.text


def test_a_generator_is_said_to_be_one_and_has_no_address():
    def yields(x, by=2.0):
        yield x * by

    verdict = diagnose(DOUBLE, yields)
    assert verdict.kind == "slip" and "`yield`" in verdict.text
    assert "0x" not in verdict.text


def in_place(x, by=2.0):
    return x.mul_(by)


def numpy_result(x, by=2.0):
    return x.detach().numpy() * by


def list_result(x, by=2.0):
    return (x * by).tolist()


def too_many_axes(x, by=2.0):
    return x[None] * by


def whole_numbers(x, by=2.0):
    return (x * by).long()


def cut_off(x, by=2.0):
    return (x * by).detach()


def broken_by_gradients(x, by=2.0):
    return torch.from_numpy(x.numpy() * by)


def half_cut_off(x, by=2.0):
    return x * by / 2 + (x * by / 2).detach()


def nan_gradient(x, by=2.0):
    poison = (x - x).sqrt() * 0
    return x * by + poison


def without_return(x, by=2.0):
    x * by


def random_result(x, by=2.0):
    return x * by + torch.randn(1)


def not_a_number(x, by=2.0):
    return x * by * float("nan")


class Remembers:
    """Counts its calls."""

    def __init__(self):
        self.calls = 0
        self.__name__ = "double"

    def __call__(self, x, by=2.0):
        self.calls += 1
        return x * by * self.calls


GRADIENTS = {"gradient_cut", "wrong_gradient", "gradient_not_a_number"}


@pytest.mark.parametrize(
    ("candidate", "name", "said"),
    [
        (in_place, "changed_input", "`x` in place"),
        (numpy_result, "wrong_type", "a NumPy array"),
        (list_result, "wrong_type", "a list"),
        (too_many_axes, "wrong_shape", "(1, 1); the exercise asks for (1,)"),
        (whole_numbers, "wrong_dtype", "int64; the exercise asks for float32"),
        (cut_off, "gradient_cut", "No gradient flows"),
        (broken_by_gradients, "gradients_fail", "want a gradient"),
        (half_cut_off, "wrong_gradient", "The gradient of your result"),
        (nan_gradient, "gradient_not_a_number", "contains NaN"),
        (without_return, "returned_none", "`return`"),
        (random_result, "not_repeated", "random numbers"),
        (not_a_number, "not_a_number", "NaN"),
        (lambda x: x, "wrong_arguments", "called as double(x, by=2.0)"),
        (Remembers(), "not_repeated", "second time"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_slips_are_named(candidate, name, said):
    verdict = diagnose(DOUBLE, candidate)
    found = verdict.mistake if verdict.kind == "slip" else verdict.kind
    assert found == name, verdict.text
    assert said in verdict.text.replace("\n", " "), verdict.text
    assert "return x * by" not in verdict.text
    right = "not right yet, though the result is." in verdict.text
    assert right == (name in GRADIENTS)
    if name in ("changed_input", "gradients_fail"):
        assert "gradients\n" not in verdict.text


def half(x):
    """The half."""
    return x / 2


HALF = Exercise(
    solution=half,
    section="06_masks#the-future",
    points=1,
    hints=("a", "b"),
    cases=[case("two", 2), case("nothing", 0), case("three", 3)],
    draw=lambda draw: case("random", draw.size(0, 9)),
    others=[],
    mistakes=[],
)


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (lambda x: x / 2 or 0, "correct"),
        (lambda x: x // 2, "unknown"),
        (lambda x: x / 2 or False, "slip"),
    ],
    ids=["an int that is right", "ints that are not", "False"],
)
def test_a_whole_number_may_stand_for_a_float(candidate, kind):
    verdict = diagnose(HALF, candidate)
    assert verdict.kind == kind, verdict.text


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
def test_a_result_of_any_kind_or_size_is_judged_and_shown(value):
    verdict = diagnose(DOUBLE, lambda x, by=2.0: value)
    assert verdict.kind in ("slip", "unknown")
    assert len(verdict.text) < 2000


def test_more_memory_than_there_is_is_told_as_that():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: torch.ones(1 << 45))
    assert (verdict.kind, verdict.mistake) == ("limit", "memory")


def test_an_error_is_told_with_the_learner_s_own_line():
    def helper(x):
        return torch.cat([x, 3])

    def candidate(x, by=2.0):
        return helper(x)

    verdict = diagnose(DOUBLE, candidate)
    assert (verdict.kind, verdict.mistake) == ("error", "TypeError")
    assert "return torch.cat([x, 3])" in verdict.text
    assert "of the cell with helper:" in verdict.text
    assert "every input" in verdict.text
    assert "outcome.py" not in verdict.text and "File" not in verdict.text


def test_an_error_on_some_inputs_says_on_how_many():
    def candidate(x, by=2.0):
        if x.numel() > 50:
            raise ValueError("too large for me")
        return x * by

    verdict = diagnose(DOUBLE, candidate)
    assert "on 1 of 10 inputs" in verdict.text
    assert "ValueError: too large for me" in verdict.text


def test_recursion_without_end_is_an_error():
    def candidate(x, by=2.0):
        return candidate(x, by)

    limit = sys.getrecursionlimit()
    verdict = diagnose(DOUBLE, candidate)
    assert verdict.mistake == "RecursionError"
    assert sys.getrecursionlimit() == limit


def test_leaving_python_is_an_error():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: sys.exit(1))
    assert (verdict.kind, verdict.mistake) == ("error", "SystemExit")


@pytest.mark.parametrize("body", ["pass", "...", "'''Doc.'''", "return"])
def test_an_empty_body_is_not_written_yet(body):
    namespace = {}
    exec(f"def candidate(x, by=2.0):\n    {body}", namespace)
    assert diagnose(DOUBLE, namespace["candidate"]).kind == "unwritten"


def test_a_mistake_is_shown_on_the_smallest_input_that_tells():
    verdict = diagnose(DOUBLE, halved)
    assert verdict.mistake == "halved"
    assert "(one)" in verdict.text and "x = [1.]" in verdict.text
    verdict = diagnose(DOUBLE, always_two)
    assert "(three)" in verdict.text
    assert "[3. 6. 9.]" in verdict.text and "[2. 4. 6.]" in verdict.text


def test_a_mistake_may_be_an_error_that_says_the_same():
    assert diagnose(DOUBLE, fails_on_rows).mistake == "fails_on_rows"

    def other_words(x, by=2.0):
        if x.dim() == 1:
            raise ValueError("something else")
        return x * by

    assert diagnose(DOUBLE, other_words).kind == "error"


def test_what_is_wrong_in_an_unknown_way_names_what_is_not_used():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: x * 7)
    assert verdict.kind == "unknown"
    assert "never uses `by`" in verdict.text
    used = diagnose(DOUBLE, lambda x, by=2.0: (lambda: x * by * 3)())
    assert used.kind == "unknown" and "never uses" not in used.text


def test_what_is_wrong_in_an_unknown_way_says_on_how_many_inputs():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: x * by + (x > 50))
    assert "differs on 1 of 10 inputs" in verdict.text


def test_what_the_solution_does_not_use_either_is_not_reproached():
    def ignoring_by(x, by=2.0):
        return 2.0 * x

    exercise = replace(DOUBLE, solution=ignoring_by)
    verdict = diagnose(exercise, lambda x, by=2.0: torch.ones(1))
    assert verdict.kind == "unknown"
    assert "never uses `x`" in verdict.text and "`by`" not in verdict.text


def test_functions_are_shown_by_their_names():
    text = show.assignments({"steps": [halved, always_two], "by": halved})
    assert text.splitlines() == [
        "steps = 1. the function halved",
        "        2. the function always_two",
        "by = the function halved",
    ]


def test_a_long_note_is_broken_into_lines():
    long = replace(DOUBLE.cases[0], note="a note that goes on " * 8)
    verdict = diagnose(replace(DOUBLE, cases=[long]), halved)
    assert all(len(line) <= show.WIDTH for line in verdict.text.splitlines())


def test_large_results_are_compared_where_they_differ_first():
    def candidate(x, by=2.0):
        return x * by + (x > 50)

    verdict = diagnose(DOUBLE, candidate)
    assert "9 of 60 numbers differ, first [5, 1]" in verdict.text


def test_a_small_difference_is_shown_with_the_digits_that_it_needs():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: x * by * 1.0002)
    assert "2.0004" in verdict.text


def test_a_mistake_and_a_changed_input_are_both_told():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: x.div_(by))
    assert verdict.kind == "misconception"
    assert verdict.mistake == "halved and changed_input"
    assert "1. You divide" in verdict.text
    assert "2. Your code changes its argument `x`" in verdict.text


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (lambda x, by=2.0: (x / by)[None], "wrong_shape"),
        (lambda x, by=2.0: (x / by).flatten(), "wrong_shape"),
        (lambda x, by=2.0: (x / by).double(), "wrong_dtype"),
        (lambda x, by=2.0: (x / by)[None].double(), "wrong_shape"),
    ],
    ids=["an axis more", "one axis", "float64", "both"],
)
def test_a_mistake_is_seen_behind_a_slip_of_form(candidate, name):
    verdict = diagnose(DOUBLE, candidate)
    assert verdict.kind == "misconception"
    assert verdict.mistake == f"{name} and halved"
    assert "1. Your result" in verdict.text
    assert "2. You divide" in verdict.text
    right = diagnose(DOUBLE, lambda x, by=2.0: candidate(x * by * by, by))
    assert (right.kind, right.mistake) == ("slip", name)


def test_form_is_mended_only_where_no_number_is_lost():
    half = torch.tensor([0.5, 2.0])
    hiding = torch.tensor([0.0, -torch.inf])  # not: False, True
    for wanted in (torch.bool, torch.int64, torch.uint8):
        for kept in (half, hiding):
            left = in_form(kept, torch.ones(2, dtype=wanted))
            assert torch.equal(left, kept) and left.dtype == kept.dtype
    whole = in_form(torch.tensor([1.0, 0.0]), torch.ones(2).bool())
    assert whole.dtype == torch.bool and whole.tolist() == [True, False]
    table = torch.arange(6.0).view(2, 3)
    assert in_form(table, torch.ones(3, 2)) is table, "that may be turned"
    assert in_form(table, torch.ones(1, 7)) is table
    assert torch.equal(in_form(table[None], torch.ones(6)), table.flatten())
    assert in_form([table, 3], (torch.ones(6), 3))[0].shape == (6,)
    assert torch.equal(in_form(2, torch.tensor(0.5)), torch.tensor(2.0))
    assert in_form(2, torch.ones(1)) == 2


def test_gradients_are_compared_with_those_of_the_mistake():
    verdict = diagnose(DOUBLE, lambda x, by=2.0: (x / by).detach())
    assert verdict.mistake == "halved and gradient_cut"
    verdict = diagnose(
        DOUBLE, lambda x, by=2.0: x / by / 2 + (x / by / 2).detach()
    )
    assert verdict.mistake == "halved and wrong_gradient"
    assert "gradient of your result" in verdict.text


def test_one_gradient_at_a_kink_is_not_held_against_a_mistake():
    def halved_with_a_kink(x, by=2.0):
        poison = (x - x).sqrt() * 0
        return x / by + (poison if x.numel() == 1 else 0)

    assert diagnose(DOUBLE, halved_with_a_kink).mistake == "halved"


def test_of_several_results_the_wrong_one_is_named():
    exercise = replace(
        DOUBLE,
        solution=lambda x, by=2.0: (x, x * by),
        mistakes=[],
    )
    verdict = diagnose(exercise, lambda x, by=2.0: (x, (x * by)[None]))
    assert "Your second result has the shape (1, 1)" in verdict.text


def test_a_class_is_no_function():
    assert diagnose(DOUBLE, Scale).mistake == "wrong_kind"


# --- classes -----------------------------------------------------------------


class Scale(nn.Module):
    """Multiply by learned factors."""

    def __init__(self, d_model: int):
        super().__init__()
        self.first = nn.Parameter(torch.ones(d_model))
        self.second = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        """One factor a column."""
        ### BEGIN SOLUTION
        return x * self.first + self.second
        ### END SOLUTION


SCALE = Exercise(
    solution=Scale,
    section="06_masks#the-future",
    points=1,
    hints=("a", "b"),
    cases=[module_case("one", (2,), torch.ones(1, 2))],
    draw=lambda draw: module_case("random", (3,), draw.normal(2, 3)),
    others=[],
    mistakes=[],
    run=build_and_call,
)


def test_a_class_is_built_given_weights_and_called():
    class Other(nn.Module):
        def __init__(self, d_model):
            super().__init__()
            self.second = nn.Parameter(torch.ones(d_model))
            self.first = nn.Parameter(torch.ones(d_model))

        def forward(self, x):
            return self.second + self.first * x

    assert diagnose(SCALE, Scale).is_correct
    assert diagnose(SCALE, Other).is_correct
    Other.forward = lambda self, x: self.first * x
    verdict = diagnose(SCALE, Other)
    assert verdict.kind == "unknown" and "built as Scale(2)" in verdict.text
    Other.__init__ = lambda self, width: nn.Module.__init__(self)
    Other.forward = lambda self, x: x
    verdict = diagnose(SCALE, Other)
    assert verdict.mistake == "wrong_parameters"
    assert "It lacks: first (2,), second (2,)." in " ".join(
        verdict.text.split()
    )


def test_a_wrong_result_is_shown_before_a_wrong_gradient():
    """Even where the gradient is wrong on a smaller input."""

    def wrong_on_many(x, by=2.0):
        return x.detach() * by if x.numel() == 1 else x * by + 1

    verdict = diagnose(DOUBLE, wrong_on_many)
    assert verdict.kind == "unknown" and "gradient" not in verdict.text
    assert "[3. 4. 5.]" not in verdict.text and "(a column)" in verdict.text


def test_a_notebook_links_it():
    mistake = EXERCISES["padding_mask"].mistakes[0]
    verdict = diagnose(EXERCISES["padding_mask"], mistake)
    shown = verdict._repr_markdown_()
    page = verdict.section.partition("#")[0]
    assert f"](<../book/en/{page}.ipynb#" in shown
    said = shown.partition("Read again")[0].replace("```text", "")
    assert said.replace("```", "").strip() in repr(verdict)
    assert (
        diagnose(
            EXERCISES["padding_mask"], EXERCISES["padding_mask"].solution
        )._repr_markdown_()
        is None
    )


def test_the_smallest_example_says_whether_it_is_an_error():
    def padding_mask(ids, pad_id=0):
        if len(ids) > 1:
            raise ValueError("one at a time")
        return (ids > pad_id - 1)[:, None, None, :]

    assert diagnose(EXERCISES["padding_mask"], padding_mask).kind == "unknown"
