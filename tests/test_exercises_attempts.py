"""The verdicts on stored attempts at the exercises: `make test-exercises`.

    python tests/test_exercises_attempts.py    records them anew

``exercise_attempts.md`` says what the attempts are.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose

STORED = Path(__file__).with_name("exercise_attempts.jsonl")
ATTEMPTS = [json.loads(line) for line in STORED.open(encoding="utf-8")]
SETS = list(dict.fromkeys(attempt["set"] for attempt in ATTEMPTS))

pytestmark = pytest.mark.exhaustive
every_set = pytest.mark.parametrize("name", SETS)


def verdict_on(attempt: dict[str, str]) -> str:
    """The kind of the verdict, and the mistakes that it names."""
    names = {"__name__": "attempt"}
    exec(compile(attempt["source"], "<attempt>", "exec"), names)
    name = attempt["exercise"]
    verdict = diagnose(EXERCISES[name], names[name])
    return f"{verdict.kind} {verdict.mistake}".strip()


def tally(name: str) -> Counter[tuple[str, str]]:
    """Count the attempts of a set, by their kind and that of the verdict."""
    count: Counter[tuple[str, str]] = Counter()
    for attempt in ATTEMPTS:
        if attempt["set"] == name:
            kind, _, mistake = attempt["verdict"].partition(" ")
            found = "two" if " and " in mistake else kind
            count[attempt["name"].partition("_")[0], found] += 1
    return count


@pytest.mark.parametrize(
    "exercise", dict.fromkeys(attempt["exercise"] for attempt in ATTEMPTS)
)
def test_verdicts_are_those_recorded(exercise):
    for attempt in ATTEMPTS:
        if attempt["exercise"] == exercise:
            assert verdict_on(attempt) == attempt["verdict"], attempt


@every_set
def test_no_right_code_is_refused_and_no_wrong_code_accepted(name):
    for kind, verdict in tally(name):
        assert (verdict == "correct") == (kind == "right")


@every_set
def test_most_mistakes_are_named(name):
    count = tally(name)
    total = Counter()
    for (kind, _), number in count.items():
        total[kind] += number
    assert count["single", "misconception"] >= 0.85 * total["single"]
    assert count["double", "two"] >= 0.5 * total["double"]


def record() -> None:
    """Store today's verdicts, and print how many there are of each kind."""
    for attempt in ATTEMPTS:
        attempt["verdict"] = verdict_on(attempt)
    lines = (json.dumps(attempt, ensure_ascii=False) for attempt in ATTEMPTS)
    STORED.write_text("\n".join(lines) + "\n", "utf-8")
    for name in SETS:
        print(name, dict(tally(name)))


if __name__ == "__main__":
    record()
