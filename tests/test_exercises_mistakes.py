"""Mistakes read from their text; two of them made at once."""

import importlib
import inspect
from dataclasses import replace

import pytest
import torch

from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import Exercise, case, exercise_of
from course_exercises.engine.mistakes import (
    EditError,
    hints_of,
    misconceptions_of,
    pairs_of,
)


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
# Hints

1. What do you do
   first?
2. Then you shift.
# Mistakes
## divided (06_masks#the-causal-mask)
```diff
- x * by
+ x / by
```
Your code divides.

It has to multiply.

Seen: https://example.org/a-forum
## not_shifted
```diff
-  + 1
```
Your code does not shift.
## shifted_back (#everybodys-conventions)
```diff
- wide + 1
+ wide - 1
```
```python
return x * by - 1
```
Your code shifts the other way.
"""


def made(text, solution=scaled):
    return misconceptions_of(solution, text, "04_attention#three-tokens")


def mistake(block, name="name", kind="diff"):
    return f"## {name}\n```{kind}\n{block}\n```\nText.\n"


def test_a_mistake_is_the_changed_solution_and_what_is_said_of_it():
    divided, not_shifted, back, again = made(TEXT)
    assert [m.implementation(6.0) for m in (divided, not_shifted)] == [4, 12]
    assert back.implementation(6.0) == again.implementation(6.0) == 11.0
    assert scaled(6.0) == 13.0, "the solution itself is not changed"
    assert divided.implementation(6.0, by=3.0) == 3.0
    assert divided.name == "divided"
    assert divided.text == "Your code divides.\n\nIt has to multiply."
    assert divided.section == "06_masks#the-causal-mask"
    assert not_shifted.section == "04_attention#three-tokens"
    assert back.section == "04_attention#everybodys-conventions"
    assert (again.name, again.text) == (back.name, back.text)
    assert hints_of(TEXT) == ("What do you do first?", "Then you shift.")


@pytest.mark.parametrize(
    ("edit", "given", "result"),
    [
        ("- x + self.a\n+ x - self.a", 3, 2),
        ("- self.a = 1\n+ self.a = 5", 3, 8),
        ("- if x > 0:\n-     x = x + self.a\n+ x = -x", 3, -3),
        ("-  + self.a\n\n- self.a = 1\n+ pass", 3, 3),
    ],
)
def test_the_parts_of_a_class_are_changed_where_they_stand(
    edit, given, result
):
    (one,) = made(mistake(edit), Net)
    assert one.implementation()(given) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (mistake("- y * by\n+ x", "a"), "stands 0 times"),
        (mistake("- x * by\n+ x *", "a"), "is no Python"),
        (mistake("+ y = 1", "a"), "follow those that they replace"),
        (mistake("x * by", "a"), "each line begins with - or"),
        ("## a\nText.\n", "a block of ```diff"),
        (
            "## a (06_masks)\n" + mistake("- x * by\n+ x")[8:],
            r"\(PAGE#SECTION",
        ),
        ("## a\nText.\n```diff\n- x * by\n+ x\n```\n", "below it"),
        (2 * mistake("- x * by\n+ x", "a"), "two mistakes have this name"),
    ],
)
def test_what_cannot_be_made_is_an_error_of_its_author(text, said):
    with pytest.raises(EditError, match=f"^a.*: .*{said}"):
        made(text)


def test_all_of_a_class_of_two_parts_is_no_mistake():
    with pytest.raises(EditError, match="^a: Net is to be written in 2 pla"):
        made(mistake("pass", "a", "python"), Net)


def test_an_error_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "wrong_exercise.py"
    path.write_text(f"{inspect.getsource(scaled)}\n")
    path.with_suffix(".mistakes.md").write_text(mistake("- z\n+ x", "a"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(path.stem)
    with pytest.raises(EditError, match="wrong_exercise.mistakes.md, a: "):
        exercise_of(module.scaled, section="04_attention#three-tokens")


def test_two_are_made_at_once_where_they_do_not_overlap():
    pairs = {
        (one.name, other.name): both(6.0)
        for one, other, both in pairs_of(scaled, made(TEXT))
    }
    assert pairs == {
        ("divided", "not_shifted"): 3.0,
        ("divided", "shifted_back"): 2.0,
    }


def exercise_with(mistakes):
    return Exercise(
        solution=scaled,
        section="04_attention#three-tokens-by-hand",
        points=1,
        hints=("", ""),
        cases=[case("a number", torch.tensor([3.0]), 4.0)],
        draw=lambda draw: case("random", draw.normal(3), 3.0),
        others=[],
        mistakes=mistakes,
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
    text = TEXT.replace("-  + 1\n", "- + 1\n+ + (x < 2)\n")
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
    text = TEXT + mistake("- x * by\n+ 2 * x * by", "twice")
    text += mistake("- wide + 1\n+ wide / 2 + 1", "halved")
    exercise = exercise_with(made(text))
    cut = diagnose(exercise, lambda x, by: (x * by + 1).detach())
    assert (cut.kind, cut.mistake) == ("generic", "gradient_cut")
