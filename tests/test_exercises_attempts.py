"""What checks say of code by people who had not seen the catalogue.

``tests/attempts/README.md`` tells how the attempts were written, what each
set measured, and how to record verdicts anew.
"""

import importlib.util
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.engine.diagnose import diagnose
from transformer_course.exercises.engine.exercise import Implementation

ATTEMPTS = Path(__file__).parent / "attempts"
SETS = ("first", "second")
KINDS = {"right": 2, "single": 5, "double": 2}
"""How many attempts of each kind an exercise has, in each set."""

every_set = pytest.mark.parametrize("folder", SETS)
every_exercise = pytest.mark.parametrize("name", EXERCISES)


def path_of(folder: str, name: str) -> Path:
    """The file with the attempts of one set at one exercise."""
    return ATTEMPTS / folder / f"{EXERCISES[name].chapter}__{name}.py"


def attempts_at(folder: str, name: str) -> dict[str, Implementation]:
    """The attempts of one set at one exercise: functions, or classes."""
    path = path_of(folder, name)
    spec = importlib.util.spec_from_file_location(f"{folder}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    keys = [
        f"{kind}_{n + 1}" for kind, many in KINDS.items() for n in range(many)
    ]
    return {
        key: getattr(module, key, None)
        or getattr(module, key.title().replace("_", ""))
        for key in keys
    }


def verdicts_on(folder: str, name: str) -> dict[str, str]:
    """Of each attempt, how the check ends and which mistakes it names."""
    found = {}
    for key, attempt in attempts_at(folder, name).items():
        verdict = diagnose(EXERCISES[name], attempt)
        found[key] = f"{verdict.kind} {verdict.mistake}".strip()
    return found


def recorded(folder: str) -> dict[str, dict[str, str]]:
    """The verdicts that stand written."""
    text = (ATTEMPTS / f"{folder}.json").read_text("utf-8")
    return json.loads(text)


def record(folder: str) -> None:
    """Write the verdicts of today."""
    found = {
        name: verdicts_on(folder, name)
        for name in EXERCISES
        if path_of(folder, name).is_file()
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (ATTEMPTS / f"{folder}.json").write_text(text, "utf-8")


def tally(folder: str) -> Iterator[tuple[str, str]]:
    """Kind of each attempt, and how its check ended."""
    for verdicts in recorded(folder).values():
        for key, verdict in verdicts.items():
            how, _, mistake = verdict.partition(" ")
            two = " and " in mistake
            yield key.partition("_")[0], "two" if two else how


@every_set
@every_exercise
def test_verdicts_are_those_written_down(folder, name):
    """A lecturer's own exercise has none: nobody else has tried it."""
    if name not in recorded(folder) and not path_of(folder, name).exists():
        pytest.skip(f"{name} has no attempts by others: tests/attempts")
    assert verdicts_on(folder, name) == recorded(folder)[name]


@every_set
def test_verdicts_are_of_exercises_that_there_are(folder):
    assert set(recorded(folder)) <= set(EXERCISES)


@every_set
def test_no_right_code_is_refused_and_no_wrong_code_accepted(folder):
    for kind, how in tally(folder):
        assert (how == "correct") == (kind == "right")


@every_set
def test_most_mistakes_are_named(folder):
    count = Counter(tally(folder))
    singles = KINDS["single"] * len(recorded(folder))
    doubles = KINDS["double"] * len(recorded(folder))
    assert count["single", "misconception"] >= 0.9 * singles
    assert count["double", "two"] >= 0.5 * doubles


if __name__ == "__main__":
    for one in sys.argv[1:] or SETS:
        record(one)
        print(
            one, *(f"{pair}: {n}" for pair, n in Counter(tally(one)).items())
        )
