"""Check the stored attempts at the exercises, and record the verdicts.

    python -m tools.exercise_attempts

``course_exercises/assignments/attempts/README.md`` says where the attempts
come from. After a change that is meant to change verdicts, run this and read
the difference of ``verdicts.json``; ``make test-exercises`` compares with it.
"""

import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from course_exercises.contents import EXERCISES
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.exercise import Implementation

ATTEMPTS = (
    Path(__file__).resolve().parents[1]
    / "course_exercises/assignments/attempts"
)
VERDICTS = ATTEMPTS / "verdicts.json"
SETS = ("first", "second")
_ATTEMPT = re.compile(r"(right|single|double)_?(\d)", re.I)
"""The name of a function, ``single_3``, or of a class, ``Single3``."""


def path_of(folder: str, name: str) -> Path:
    """The file with the attempts of one set at one exercise."""
    return ATTEMPTS / folder / f"{EXERCISES[name].chapter}__{name}.py"


def attempted(folder: str) -> list[str]:
    """The exercises that a set has attempts at."""
    return [name for name in EXERCISES if path_of(folder, name).is_file()]


def attempts_at(folder: str, name: str) -> dict[str, Implementation]:
    """The attempts of one set at one exercise, by names like ``single_3``."""
    spec = importlib.util.spec_from_file_location(
        f"{folder}_{name}", path_of(folder, name)
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        f"{match[1].lower()}_{match[2]}": attempt
        for called, attempt in vars(module).items()
        if (match := _ATTEMPT.fullmatch(called))
    }


def verdicts_on(folder: str, name: str) -> dict[str, str]:
    """The verdict on each attempt: its kind and the mistakes it names."""
    found = {}
    for key, attempt in attempts_at(folder, name).items():
        verdict = diagnose(EXERCISES[name], attempt)
        found[key] = f"{verdict.kind} {verdict.mistake}".strip()
    return found


def recorded() -> dict[str, dict[str, dict[str, str]]]:
    """The stored verdicts, by set, exercise and attempt."""
    return json.loads(VERDICTS.read_text("utf-8"))


def tally(verdicts: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    """The kind of each attempt of a set, and the kind of its verdict."""
    for of_one in verdicts.values():
        for key, verdict in of_one.items():
            kind, _, mistake = verdict.partition(" ")
            yield (
                key.partition("_")[0],
                "two" if " and " in mistake else kind,
            )


def main() -> None:
    """Record today's verdicts, and print how many there are of each kind."""
    found = {
        folder: {name: verdicts_on(folder, name) for name in attempted(folder)}
        for folder in SETS
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    VERDICTS.write_text(text, "utf-8")
    for folder, verdicts in found.items():
        counts = Counter(tally(verdicts)).items()
        print(folder, *(f"{pair}: {count}" for pair, count in counts))


if __name__ == "__main__":
    main()
