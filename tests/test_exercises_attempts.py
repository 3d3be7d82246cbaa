"""The verdicts on the stored attempts: `make test-exercises`.

``course_exercises/assignments/attempts/README.md`` says what the attempts are.
"""

from collections import Counter

import pytest

from tools.exercise_attempts import (
    SETS,
    attempted,
    recorded,
    tally,
    verdicts_on,
)

pytestmark = pytest.mark.exhaustive
every_set = pytest.mark.parametrize("folder", SETS)


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder in SETS for name in attempted(folder)],
)
def test_verdicts_are_those_recorded(folder, name):
    assert verdicts_on(folder, name) == recorded()[folder][name]


@every_set
def test_every_verdict_has_its_attempt(folder):
    assert list(recorded()[folder]) == attempted(folder)


@every_set
def test_no_right_code_is_refused_and_no_wrong_code_accepted(folder):
    for kind, verdict in tally(recorded()[folder]):
        assert (verdict == "correct") == (kind == "right")


@every_set
def test_most_mistakes_are_named(folder):
    verdicts = list(tally(recorded()[folder]))
    count = Counter(verdicts)
    total = Counter(kind for kind, _ in verdicts)
    assert count["single", "misconception"] >= 0.9 * total["single"]
    assert count["double", "two"] >= 0.5 * total["double"]
