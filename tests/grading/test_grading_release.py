"""What is handed out: terms, links, points. Needs no nbgrader."""

import re
from pathlib import Path

import nbformat
import pytest

from course_exercises import check
from tests.grading.grading_class import NAME, QUESTION, assignment
from tools.grading import terms as texts
from tools.grading.answers import answers_in
from tools.grading.assignment import find_assignments
from tools.grading.notebooks import cells_of
from tools.grading.release import Terms, handed_out
from tools.refresh_outputs import ROOT

TERMS = [
    Terms(),
    Terms("Friday, 12 June, 18:00", "on Moodle, under Week 3", False),
    Terms(
        how="here (see [week 3](06_masks.html))", site="https://a.invalid/b"
    ),
]
every = pytest.mark.parametrize(
    "name", [one.name for one in find_assignments()]
)


@every
@pytest.mark.parametrize("terms", TERMS)
def test_points_of_all_that_is_marked_stand_there(name, terms):
    given = assignment(name)
    made = handed_out(given, terms)
    nbformat.validate(made)
    about = made.cells[1].source
    points = re.findall(r"\| (?:\*\*)?(\d+)(?:\*\*)? \|$", about, re.M)
    *parts, total = map(int, points)
    assert sum(parts) == total == sum(given.points.values())
    assert len(parts) == len(given.points)
    for question in given.questions:
        ids = [cell.id for cell in made.cells]
        asked = made.cells[ids.index(question.name) - 1].source
        assert re.search(r"\*(1 point|\d+ points)\.\*$", asked)
    assert "1 points" not in nbformat.writes(made)


def test_when_and_how_to_hand_in_stand_there():
    about = handed_out(assignment(), TERMS[1]).cells[1].source
    assert f"`{NAME}.ipynb`" in about
    assert "on Moodle, under Week 3. **Due: Friday, 12 June, 18:00.**" in about
    assert "Due" not in handed_out(assignment(), TERMS[0]).cells[1].source


@every
def test_links_lead_somewhere_from_where_the_notebook_lies(name):
    made = handed_out(assignment(name), Terms())
    places = links_in(made)
    assert places
    for place in places:
        path = ROOT / "release" / name / place.partition("#")[0]
        assert Path(path.resolve()).is_file(), place


@every
def test_links_lead_to_the_site_if_there_is_one(name):
    made = handed_out(assignment(name), TERMS[2])
    (site,) = {re.match(r"https://[^#]*/", one)[0] for one in links_in(made)}
    assert site == "https://a.invalid/b/"


def links_in(notebook):
    """Where a notebook's links to chapters lead."""
    text = "\n".join(
        cell.source for n, cell in enumerate(notebook.cells) if n != 1
    )
    return re.findall(r"\]\(([^)]*)\)", text)


# --- solutions ---------------------------------------------------------------


@every
def test_without_solutions_none_is_offered(name):
    made = handed_out(assignment(name), TERMS[1])
    text = "\n".join(c.source for c in made.cells if c.id != "part-1")
    assert "solution(" not in text
    assert texts.NO_SOLUTIONS in text
    assert "solution(" in nbformat.writes(
        handed_out(assignment(name), Terms())
    )


def test_without_solutions_the_calls_say_so_in_one_line(monkeypatch):
    monkeypatch.setattr(check, "_withheld", False)
    monkeypatch.setattr(check, "_hints_given", check.Counter())
    assert "def causal_mask" in check.solution("causal_mask").text
    exec(texts.NO_SOLUTIONS, {})
    assert check.solution("causal_mask").text == check.WITHHELD
    last = [check.hint("causal_mask").text for _ in range(3)][-1]
    assert last == f"There are no more hints. {check.WITHHELD}"
    assert "\n" not in last


# --- graded as if there were no terms ----------------------------------------


@every
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("names", ["kept", "lost"])
def test_terms_are_nobody_s_answer(name, terms, names):
    given = assignment(name)
    made = handed_out(given, terms)
    if names == "lost":
        lose_names(made)
    found = answers_in(cells_of(made), given)
    assert set(found.texts.values()) == {""}
    assert not found.loose
    lost = ("has lost its name", "no cell for the answer")
    assert not [n for n in found.notes if not any(one in n for one in lost)]


def lose_names(notebook):
    """What some programs do that save notebooks."""
    for number, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell.id = f"lost-{number}"


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("names", ["kept", "lost"])
def test_what_is_written_below_terms_is_kept(terms, names):
    given = assignment()
    made = handed_out(given, terms)
    made.cells[1].source += "\n\nI was ill."
    asked = next(c for c in made.cells if c.source.endswith("points.*"))
    asked.source += "\n\nIt copies."
    if names == "lost":
        lose_names(made)
    found = answers_in(cells_of(made), given)
    assert found.texts == {QUESTION: "It copies."}
    assert found.loose == "I was ill."
