"""Laws of every exercise: who adds one gets these tests for nothing."""

import cProfile
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
import torch
from built_book import BOOK, assert_leads_somewhere

from transformer_course.exercises import catalogue
from transformer_course.exercises.catalogue import EXERCISES, MODULES
from transformer_course.exercises.engine.diagnose import diagnose
from transformer_course.exercises.engine.exercise import (
    BEGIN,
    END,
    STUB,
    mistake_of,
    numel,
    stub_of,
)
from transformer_course.exercises.engine.match import known
from transformer_course.exercises.engine.messages import prose
from transformer_course.exercises.engine.show import WIDTH, short

every_exercise = pytest.mark.parametrize(
    "exercise", EXERCISES.values(), ids=list(EXERCISES)
)


def pairs(kind: str) -> list:
    """Every exercise with each of its implementations of a kind."""
    return [
        pytest.param(exercise, one, id=f"{name}-{one.__name__}")
        for name, exercise in EXERCISES.items()
        for one in getattr(exercise, kind)
    ]


def learned(source: str):
    """What a cell defines that holds this source."""
    namespace = {}
    for module in MODULES:
        namespace |= vars(module)
    exec(compile(source, "<cell>", "exec"), namespace)
    name = re.search(r"^(?:def|class) (\w+)", source, re.M)[1]
    return namespace[name]


@cache
def verdict_of(exercise, implementation):
    """What a check says of it; the check is the same for all tests."""
    return diagnose(exercise, implementation)


# --- right, wrong, unwritten -------------------------------------------------


@every_exercise
def test_the_solution_is_correct(exercise):
    verdict = verdict_of(exercise, exercise.solution)
    assert verdict.is_correct, verdict.text


@every_exercise
def test_the_solution_as_it_is_shown_is_correct(exercise):
    verdict = diagnose(exercise, learned(exercise.source))
    assert verdict.is_correct, verdict.text


@pytest.mark.parametrize(("exercise", "other"), pairs("others"))
def test_solutions_in_other_words_are_correct(exercise, other):
    verdict = verdict_of(exercise, other)
    assert verdict.is_correct, verdict.text


@every_exercise
def test_the_untouched_stub_is_not_written_yet(exercise):
    assert diagnose(exercise, learned(exercise.stub)).kind == "unwritten"


@pytest.mark.parametrize(("exercise", "mistake"), pairs("mistakes"))
def test_a_mistake_is_named_as_itself_and_as_no_other(exercise, mistake):
    verdict = verdict_of(exercise, mistake)
    assert verdict.kind == "misconception", verdict.text
    told = mistake_of(mistake)
    assert verdict.mistake == told.__name__, verdict.text
    assert prose(told.__doc__) in verdict.text


@every_exercise
def test_the_solution_holds_on_many_more_random_inputs(exercise):
    """So do the others: no case may tell right solutions apart."""
    for other in exercise.others:
        for seed in range(100, 130):
            case = exercise.drawn(seed)
            one = exercise.run(exercise.solution, case)
            torch.testing.assert_close(
                exercise.run(other, case), one, equal_nan=True
            )


# --- what an author must not forget ------------------------------------------


def test_names_are_unique_over_the_course():
    names = [e.name for module in MODULES for e in module.EXERCISES]
    assert len(names) == len(set(names))


def test_every_module_of_exercises_is_in_the_catalogue():
    listed = {module.__name__.rpartition(".")[2] for module in MODULES}
    for path in Path(catalogue.__file__).parent.glob("*.py"):
        if re.search(r"^EXERCISES = \[", path.read_text("utf-8"), re.M):
            assert path.stem in listed, f"add {path.stem} to MODULES"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_every_function_of_a_module_is_used(module):
    """No mistake is written and then left out of the catalogue."""
    text = inspect.getsource(module)
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) == module.__name__:
            uses = re.findall(rf"\b{name}\b", text)
            assert len(uses) > 1, f"{name} belongs to no exercise"


@every_exercise
def test_an_exercise_says_what_it_asks(exercise):
    source = inspect.getsource(inspect.unwrap(exercise.solution))
    assert source.count(BEGIN) == source.count(END) > 0
    assert exercise.stub.count(STUB) == source.count(BEGIN)
    assert inspect.getdoc(exercise.solution)
    assert '"""' in exercise.stub
    assert exercise.points > 0


@every_exercise
def test_an_exercise_has_what_it_needs(exercise):
    assert len(exercise.others) >= 2
    assert len(exercise.mistakes) >= 3
    assert len(exercise.cases) >= 4
    assert all(case.note.strip() for case in exercise.cases)
    notes = [case.note for case in exercise.cases]
    assert len(notes) == len(set(notes))
    assert numel(exercise.cases[0]) <= 12, "the smallest case comes first"


@every_exercise
def test_hints_do_not_give_the_solution_away(exercise):
    said = " ".join(exercise.hints)
    lines = [line.strip() for line in exercise.source.splitlines()]
    asked = set(exercise.stub.splitlines())
    for line in lines:
        assert len(line) < 8 or line in asked or line not in said
    assert all(hint.strip() for hint in exercise.hints)
    assert exercise.hints[0] != exercise.hints[1]


@pytest.mark.parametrize(("exercise", "mistake"), pairs("mistakes"))
def test_a_mistake_does_not_give_the_solution_away(exercise, mistake):
    said = " ".join(mistake_of(mistake).__doc__.split())
    assert len(said) > 40
    for line in map(str.strip, exercise.source.splitlines()):
        if line not in exercise.stub and len(line) >= 8:
            assert line not in said


@every_exercise
def test_what_is_to_be_read_again_is_in_the_book(exercise):
    sections = {exercise.section_of(m) for m in exercise.mistakes}
    for section in sections | {exercise.section}:
        page, _, anchor = section.partition("#")
        assert (BOOK / "en" / f"{page}.ipynb").is_file(), section
        assert anchor, f"{section}: name a section of the page"
        assert_leads_somewhere(section)


@every_exercise
def test_texts_are_plain_and_fit(exercise):
    """No line is too wide for a notebook, and none has an address in it."""
    for one in (exercise.solution, *exercise.mistakes):
        text = verdict_of(exercise, one).text
        assert "0x" not in text
        for line in text.splitlines():
            assert len(line) <= WIDTH + 12, line


@every_exercise
def test_a_check_is_quick(exercise):
    """Code is stopped after 10 s; with shapes checked in every call, the most
    work that a check takes is a million calls, a third of a second."""
    known.cache_clear()
    profile = cProfile.Profile()
    profile.runcall(diagnose, exercise, exercise.mistakes[-1])
    assert sum(entry.callcount for entry in profile.getstats()) < 5_000_000


# --- stubs -------------------------------------------------------------------


def test_a_stub_keeps_what_stands_around_the_solution():
    source = "\n".join(
        [
            "class Net:",
            "    def __init__(self):",
            f"        {BEGIN}",
            "        self.a = 1",
            "",
            "        self.b = 2",
            f"        {END}",
            "",
            "    def forward(self, x):",
            "        y = x",
            f"        {BEGIN}",
            "        return y",
            f"        {END}",
        ]
    )
    assert stub_of(source).splitlines() == [
        "class Net:",
        "    def __init__(self):",
        f"        {STUB}",
        "",
        "    def forward(self, x):",
        "        y = x",
        f"        {STUB}",
    ]


def test_a_long_value_without_spaces_is_cut_not_lost():
    text = "吾輩は猫である。" * 100
    shown = short(text)
    assert shown.startswith("'吾輩は猫である。") and shown.endswith(" …")
    assert len(shown) < len(text)
    assert short("名前はまだ無い。") == "'名前はまだ無い。'"
