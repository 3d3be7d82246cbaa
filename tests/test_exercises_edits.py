"""Mistakes that are edits of a solution; two of them made at once."""

from dataclasses import replace

import pytest
import torch

from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.edits import EditError, edits_of, pairs_of
from course_exercises.engine.exercise import Exercise, case, mistake_of


def scaled(x, by=2.0):
    """Scale, and shift by one."""
    ### BEGIN SOLUTION
    wide = x * by
    return wide + 1
    ### END SOLUTION


class Net(torch.nn.Module):
    """Two parts to be written."""

    def __init__(self):
        super().__init__()
        ### BEGIN SOLUTION
        self.a = 1
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        if x > 0:
            x = x + self.a
        return x
        ### END SOLUTION


TEXT = """
# divided (06_masks#the-causal-mask)
- x * by -> x / by
Your code divides.

It has to multiply.

# not_shifted
- wide + 1 -> wide
Your code does not shift.

# shifted_back (#everybodys-conventions)
- wide + 1 -> wide - 1
or
- return wide + 1
+ wide = wide - 1
+ return wide
Your code shifts the other way.
"""


def made(text, solution=scaled):
    return edits_of(solution, text, "04_attention")


def test_an_edit_changes_the_solution_and_says_what_it_is():
    divided, not_shifted, back, again = (e.implementation for e in made(TEXT))
    assert (divided(6.0), not_shifted(6.0)) == (4.0, 12.0)
    assert back(6.0) == again(6.0) == 11.0
    assert scaled(6.0) == 13.0, "the solution itself is not changed"
    assert divided(6.0, by=3.0) == 3.0
    assert divided.__name__ == "divided"
    assert divided.__doc__ == "Your code divides.\n\nIt has to multiply."
    assert divided.section == "06_masks#the-causal-mask"
    assert not hasattr(not_shifted, "section")
    assert back.section == "04_attention#everybodys-conventions"
    assert mistake_of(again) is back and back.__name__ == again.__name__


@pytest.mark.parametrize(
    ("edit", "given", "result"),
    [
        ("- x + self.a -> x - self.a", 3, 2),
        ("- self.a = 1 -> self.a = 5", 3, 8),
        ("- if x > 0:\n-     x = x + self.a\n+ x = -x", 3, -3),
    ],
)
def test_the_parts_of_a_class_are_changed_where_they_stand(
    edit, given, result
):
    (one,) = made(f"# name\n{edit}\nText.\n", Net)
    assert one.implementation()(given) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# a\n- y * by -> x\nText.\n", "stands 0 times"),
        ("# a\n- wide -> x\nText.\n", "stands 2 times"),
        ("# a\n- x * by -> x *\nText.\n", "is no Python"),
        ("# a\nText.\n", "no line begins with '-'"),
    ],
)
def test_an_edit_that_cannot_be_made_is_an_error_of_its_author(text, said):
    with pytest.raises(EditError, match=f"^a: .*{said}"):
        made(text)


def test_two_are_made_at_once_where_they_do_not_overlap():
    pairs = {
        (one.mistake, other.mistake): both(6.0)
        for one, other, both in pairs_of(scaled, made(TEXT))
    }
    assert pairs == {
        ("divided", "not_shifted"): 3.0,
        ("divided", "shifted_back"): 2.0,
    }


def exercise_with(edits):
    return Exercise(
        solution=scaled,
        section="04_attention#three-tokens-by-hand",
        points=1,
        hints=("", ""),
        cases=[case("a number", torch.tensor([3.0]), 4.0)],
        draw=lambda draw: case("random", draw.normal(3), 3.0),
        others=[],
        mistakes=[edit.implementation for edit in edits],
        edits=edits,
    )


def test_both_mistakes_are_named_and_a_lost_gradient_beside_them():
    exercise = exercise_with(made(TEXT))
    verdict = diagnose(exercise, lambda x, by=2.0: x / by - 1)
    assert verdict.kind == "misconception"
    assert verdict.mistake == "divided and shifted_back"
    assert "1. Your code divides." in verdict.text
    assert "2. Your code shifts the other way." in verdict.text
    assert verdict.section == "06_masks#the-causal-mask"
    cut = diagnose(exercise, lambda x, by=2.0: (x / by - 1).detach())
    assert cut.mistake == "divided and shifted_back and gradient_cut"
    assert "three mistakes at once" in cut.text
    one = diagnose(exercise, lambda x, by: x / by + 1)
    assert one.mistake == "divided"


def test_two_are_shown_where_each_of_them_changes_something():
    """Nothing divides 0, and below 2 the second does what is right."""
    late = "- wide + 1 -> wide + (x < 2)\n"
    text = TEXT.replace("- wide + 1 -> wide\n", late)
    cases = [
        case(f"x is {x}", torch.tensor([x]), 3.0) for x in (0.0, 1.0, 2.0)
    ]
    edited = replace(exercise_with(made(text)), cases=cases)
    verdict = diagnose(edited, lambda x, by: x / by + (x < 2))
    assert verdict.mistake == "divided and not_shifted"
    assert "(x is 2.0)" in verdict.text
    assert "(x is 0.0)" in diagnose(edited, lambda x, by: x * 7).text


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        (lambda x, by: x / by - 2, "unknown"),
        (lambda x, by: x / 0 if by else 0, "unknown"),
        (lambda x, by: x.nope, "error"),
    ],
    ids=["another", "infinite", "an error"],
)
def test_what_no_two_explain_is_not_named(candidate, kind):
    assert diagnose(exercise_with(made(TEXT)), candidate).kind == kind


def test_two_that_cancel_out_do_not_explain_a_lost_gradient():
    text = TEXT + "# twice\n- x * by -> 2 * x * by\nText.\n"
    text += "# halved\n- wide + 1 -> wide / 2 + 1\nText.\n"
    exercise = exercise_with(made(text))
    cut = diagnose(exercise, lambda x, by: (x * by + 1).detach())
    assert (cut.kind, cut.mistake) == ("slip", "gradient_cut")
