"""Pages that a grading leaves, and rubrics. Needs no nbgrader."""

import re

import nbformat
import pytest

from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose
from tests.grading.grading_class import NAME, QUESTION, SOLUTIONS, assignment
from tools.grading import pages, prose
from tools.grading.assignment import find_assignments
from tools.grading.records import Mark, Marked, Record, Tried
from tools.grading.release import Terms, handed_out
from tools.grading.rubrics import RUBRICS, read_rubrics

SITE = "https://a.invalid/book/"
every = pytest.mark.parametrize(
    "name", [one.name for one in find_assignments()]
)


def verdict(name, mistake):
    """The text that a known mistake gets."""
    exercise = EXERCISES[name]
    (wrong,) = [m for m in exercise.mistakes if m.__name__ == mistake]
    return diagnose(exercise, wrong).text


def marked(points=1.0, waiting=True):
    """What is known of somebody who has made one mistake."""
    text = verdict("padding_mask", "padding_inverted")
    tried = Tried(
        "padding_mask",
        points,
        2,
        "misconception",
        "padding_inverted",
        text,
        SOLUTIONS["padding_mask"],
    )
    record = Record(
        "Anna",
        "anna",
        NAME,
        "graded",
        tried=(tried,),
        answers={QUESTION: "It copies."},
    )
    marks = {
        "padding_mask-test": Mark(points, 2, False, False),
        QUESTION: Mark(0.0, 2, False, waiting),
    }
    return Marked(record, marks)


# --- feedback ----------------------------------------------------------------


def test_feedback_has_the_question_and_what_was_asked():
    page = pages.feedback(marked(), assignment())
    assert "A colleague trains without a causal mask and reports" in page
    assert "Say which keys are real tokens, and which are padding." in page
    assert "<h2>In words: – of 2 points, to be marked</h2>" in page
    assert QUESTION not in page  # a name that is the course's own


def test_feedback_says_nothing_twice():
    page = pages.feedback(marked(), assignment())
    docstring = EXERCISES["padding_mask"].solution.__doc__
    for line in filter(None, map(str.strip, docstring.splitlines())):
        assert page.count(line) <= 1


def test_feedback_leads_to_the_section_if_it_is_known_where_that_is():
    known, unknown = (
        pages.feedback(marked(), assignment(), site) for site in (SITE, "")
    )
    section = EXERCISES["padding_mask"].section_of(
        EXERCISES["padding_mask"].mistakes[0]
    )
    address = section.replace("#", ".html#")
    assert f'<a href="{SITE}{address}">Read again' in known
    assert "Read again: chapter 06, section" in unknown
    for page in (known, unknown):
        assert "06_masks.html#" not in re.sub(r'href="[^"]*"', "", page)
    assert "href" not in unknown


@pytest.mark.parametrize("name", EXERCISES)
def test_code_is_shown_without_what_was_handed_out_in_it(name):
    exercise = EXERCISES[name]
    shown = prose.without_docstrings(exercise.stub, exercise)
    assert '"""' not in shown
    compile(shown, name, "exec")
    mine = 'def f():\n    """My own."""\n'
    assert prose.without_docstrings(mine, exercise) == mine


@pytest.mark.parametrize("name", EXERCISES)
def test_the_report_explains_every_mistake(name):
    exercise = EXERCISES[name]
    names = {m.__name__ for m in exercise.mistakes if m.__doc__}
    tried = tuple(Tried(name, 0, 2, "misconception", m, "") for m in names)
    record = Record("A", "a", NAME, "graded", tried=tried)
    page = pages.report({NAME: assignment()}, [Marked(record, {})])
    for mistake in names:
        said = page.partition(f"<code>{mistake}</code><br>")[2]
        assert said[:1] and not said.startswith("Read again"), mistake


# --- rubrics -----------------------------------------------------------------


@every
def test_each_question_has_a_rubric_with_its_points(name):
    questions = {q.name: q.points for q in assignment(name).questions}
    rubrics = read_rubrics(name)
    assert rubrics.keys() == questions.keys()
    for question, most in questions.items():
        text = rubrics[question]
        given = re.findall(r"^\*\*(\d) points?\.\*\*", text, re.M)
        assert list(map(int, given)) == list(range(most, 0, -1))
        assert "**1 points" not in text
        wrong = text.partition("**Often wrong.**")[2]
        assert len(re.findall(r"^- ", wrong, re.M)) >= 3


def test_there_is_no_rubric_without_its_question():
    assert {path.stem for path in RUBRICS.glob("*.md")} == {
        one.name for one in find_assignments() if one.questions
    }


@every
def test_nothing_of_a_rubric_is_handed_out(name):
    made = nbformat.writes(handed_out(assignment(name), Terms()))
    for text in read_rubrics(name).values():
        sentences = re.split(r"(?<=[.:?])\s", re.sub(r"[*`\n]", " ", text))
        long = [one.strip() for one in sentences if len(one) > 30]
        assert long
        assert not [one for one in long if one in made]


def test_who_marks_sees_the_rubric_beside_the_answers():
    page = pages.answers({NAME: assignment()}, [marked()])
    answers, aside = page.index("It copies."), page.index("<aside>")
    assert answers < aside
    assert "the right target goes in" in page[aside:]
    assert "<strong>2 points.</strong>" in page[aside:]
    feedback = pages.feedback(marked(), assignment())
    report = pages.report({NAME: assignment()}, [marked()])
    for other in (feedback, report):
        assert "the right target goes in" not in other


def test_a_question_of_a_lecturer_s_own_needs_no_rubric():
    assert read_rubrics("99_variant") == {}
