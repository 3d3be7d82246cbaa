"""The rules that every exercise of the catalogue keeps.

Of an exercise's other solutions and of its mistakes, `make test` tries one
each, drawn by a hash of their names; `make test-exercises` tries all of them.
"""

import hashlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from built_book import BOOK, headings, section_ids

from course_exercises.candidate.values import same
from course_exercises.contents import EXERCISES
from course_exercises.engine import reading
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import STUB, numel
from course_exercises.engine.messages import prose
from course_exercises.engine.mistakes import BEGIN, END
from course_exercises.engine.show import WIDTH
from course_exercises.names import CATALOGUE

FEWEST = {"cases": 4, "mistakes": 3, "others": 2}
"""The fewest of each that an exercise has."""
FIRST = 12
"""The most numbers that the input of its first case may have."""
LONG = 8
"""The fewest characters of a line of the solution that gives it away."""
SAID = 40
"""The text of a mistake is longer than this."""

every_exercise = pytest.mark.parametrize(
    "exercise", EXERCISES.values(), ids=list(EXERCISES)
)


def pytest_generate_tests(metafunc):
    """Try a sample of the implementations, or with ``--all`` every one."""
    for argument, kind in {"other": "others", "mistake": "mistakes"}.items():
        if argument not in metafunc.fixturenames:
            continue
        sampled = not metafunc.config.getoption("--all")
        metafunc.parametrize(
            ("exercise", argument),
            [
                pytest.param(exercise, one, id=f"{name}-{name_of(one)}")
                for name, exercise in EXERCISES.items()
                for one in chosen(name, getattr(exercise, kind), sampled)
            ],
        )


def name_of(one) -> str:
    """The name of a mistake, or of another solution."""
    return getattr(one, "name", None) or one.__name__


def chosen(name: str, implementations: list, sampled: bool) -> list:
    """All of them, or the one whose hash comes first."""

    def draw(one) -> bytes:
        return hashlib.sha256(f"{name}-{name_of(one)}".encode()).digest()

    return [min(implementations, key=draw)] if sampled else implementations


def learned(source: str):
    """The function or class that a cell with this source defines."""
    name = re.search(r"^(?:def|class) (\w+)", source, re.M)[1]
    namespace = dict(vars(file_of(EXERCISES[name])))
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace[name]


def file_of(exercise):
    """The module in which an exercise stands."""
    return sys.modules[exercise.solution.__module__]


def assert_is_readable(text: str) -> None:
    """No line is too wide for a notebook, and none has an address in it."""
    assert "0x" not in text
    for line in text.splitlines():
        assert len(line) <= WIDTH + 12, line


# --- right, wrong, unwritten -------------------------------------------------


def test_solutions_in_other_words_are_correct(exercise, other):
    verdict = diagnose(exercise, other)
    assert verdict.is_correct, verdict.text


@every_exercise
def test_the_untouched_stub_is_not_written_yet(exercise):
    assert diagnose(exercise, learned(exercise.stub)).kind == "unwritten"


def test_a_mistake_is_named_as_itself_and_as_no_other(exercise, mistake):
    verdict = diagnose(exercise, mistake.implementation)
    hint = "does another mistake do the same in all cases?"
    assert verdict.kind == "misconception", f"{hint}\n{verdict.text}"
    assert verdict.mistake == mistake.name, verdict.text
    assert prose(mistake.text) in verdict.text
    assert_is_readable(verdict.text)


@every_exercise
@pytest.mark.exhaustive
def test_right_solutions_agree_on_many_more_random_inputs(exercise):
    """No case may tell right solutions apart."""
    for seed in range(100, 130):
        case = exercise.drawn(seed)
        expected = exercise.run(exercise.solution, case)
        for other in exercise.others:
            found = exercise.run(other, case)
            assert same(found, expected, exercise.tolerance), (other, seed)


# --- what an author must not forget ------------------------------------------


def test_every_file_of_the_catalogue_is_an_exercise():
    files = {path for path in CATALOGUE.glob("*/*.py") if path.stem[0] != "_"}
    assert files == {Path(file_of(e).__file__) for e in EXERCISES.values()}


@every_exercise
def test_an_exercise_has_what_it_needs(exercise):
    source = inspect.getsource(inspect.unwrap(exercise.solution))
    assert source.count(BEGIN) == source.count(END) > 0
    assert exercise.stub.count(STUB) == source.count(BEGIN)
    assert inspect.getdoc(exercise.solution) and '"""' in exercise.stub
    assert exercise.points > 0
    for part, fewest in FEWEST.items():
        each = {getattr(one, "name", one) for one in getattr(exercise, part)}
        assert len(each) >= fewest, part
    notes = [case.note.strip() for case in exercise.cases]
    assert all(notes) and len(notes) == len(set(notes))
    assert numel(exercise.cases[0]) <= FIRST, "students are to read it"


def given_away(exercise, said: str) -> list[str]:
    """Lines of the solution that stand in a text."""
    return [
        line
        for line in map(str.strip, exercise.source.splitlines())
        if len(line) >= LONG and line in said and line not in exercise.stub
    ]


@every_exercise
def test_hints_and_mistakes_do_not_give_the_solution_away(exercise):
    first, second = (hint.strip() for hint in exercise.hints)
    assert first and second and first != second
    assert not given_away(exercise, f"{first} {second}")
    for mistake in exercise.mistakes:
        said = " ".join(mistake.text.split())
        assert len(said) > SAID, f"the text of {mistake.name} is too short"
        assert not given_away(exercise, said), mistake.name


@every_exercise
def test_what_is_to_be_read_again_is_in_the_book(exercise):
    """Under the title that the learner is told."""
    sections = {mistake.section for mistake in exercise.mistakes}
    for section in sections | {exercise.section}:
        page, _, anchor = section.partition("#")
        path = BOOK / "en" / f"{page}.ipynb"
        assert anchor, f"{section}: name a section of the page"
        assert anchor in section_ids(path), section
        found = map(reading.plain, headings(path))
        assert reading.title(section) in found
