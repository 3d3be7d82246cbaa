"""Check each part of a learner's file, in a process of its own.

A part is tried with those of the learner's parts that are right, and the
course's in place of the others, so one mistake counts once.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_exercises.engine import messages
from course_exercises.engine.verdict import Verdict
from course_exercises.language import say
from course_exercises.path.file import LearnersFile, sources
from course_exercises.path.parts import (
    NAMES,
    exercise_of,
    in_order_of_need,
    needs,
)
from course_exercises.process import (
    COMPARING,
    PAUSE,
    START,
    CheckError,
    Child,
    Limits,
)

LIMITS = Limits()


def broken_laws(file: LearnersFile) -> dict[str, str]:
    """The laws that a file's Transformer breaks, and what each means.

    The course's parts stand in for those that are not written yet.

    Raises:
        CheckError: the process could not be started, or failed.
    """
    text, _ = file.completed()
    with _child(text=text, path=str(file.path), laws=True) as child:
        deadline = time.monotonic() + START + LIMITS.seconds
        while time.monotonic() < deadline and not child.has_ended():
            for message in child.messages():
                if "laws" in message:
                    return message["laws"]
            time.sleep(PAUSE)
    raise CheckError(
        "the laws could not be tried: your code ended its process, or did "
        f"not end within {LIMITS.seconds:g} s. {child.errors()}"
    )


@dataclass(frozen=True)
class Checker:
    """Checks files, and remembers what was said of parts that stay."""

    limits: Limits = LIMITS
    """Of time and memory, for each part."""
    said: dict[tuple[str, ...], Verdict] = field(default_factory=dict)
    """By the part's name, its text and those of all that it uses."""

    def check(
        self,
        file: LearnersFile,
        progress: Callable[[str], None] = lambda name: None,
    ) -> dict[str, Verdict]:
        """Judge every part of a file.

        Args:
            file: the learner's.
            progress: called with each part's name before it is checked.

        Returns:
            The verdicts by part, in the order of the file.

        Raises:
            CheckError: the process could not be started, or failed.
        """
        texts, written = dict(sources(file)), set(file.written)
        found = {
            name: _without_trial(file, name)
            for name in NAMES
            if name not in written
        }
        todo = [name for name in in_order_of_need() if name in written]

        def key(name: str) -> tuple[str, ...]:
            right = [n for n in needs(name) if _is_right(found, n)]
            return name, *(texts[n] for n in ("", name, *right))

        while todo:
            while todo and (known := self.said.get(key(todo[0]))):
                found[todo.pop(0)] = known
            # todo changes as verdicts come
            for name, verdict in self._tried(file, [*todo], found, progress):
                found[name] = self.said[key(name)] = verdict
                todo.remove(name)
        return {name: found[name] for name in NAMES}

    def _tried(
        self,
        file: LearnersFile,
        todo: list[str],
        found: dict[str, Verdict],
        progress: Callable[[str], None],
    ) -> Iterator[tuple[str, Verdict]]:
        """The verdicts of one process: until a part exceeds a limit."""
        if not todo:
            return
        right = [name for name in found if found[name].is_correct]
        path = str(file.path.resolve())
        with _child(
            text=file.text, path=path, names=todo, right=right
        ) as child:
            yield from _verdicts(child, progress, self.limits)


@contextmanager
def _child(**request: Any) -> Iterator[Child]:
    """A process that runs a learner's code, with what it is asked."""
    with tempfile.TemporaryDirectory(
        prefix="transformer-course-", ignore_cleanup_errors=True
    ) as folder:
        content = json.dumps(request).encode()
        child = Child(Path(folder), content, "course_exercises.path.child")
        try:
            yield child
        finally:
            child.end()


def _verdicts(
    child: Child, progress: Callable[[str], None], limits: Limits
) -> Iterator[tuple[str, Verdict]]:
    """Wait for verdicts, or for a limit to be exceeded."""
    deadline = time.monotonic() + START
    memory, name, number = None, None, 0
    while True:
        has_ended = child.has_ended()  # if so, all its messages are there
        for message in child.messages():
            match message:
                case {"part": str(name)}:
                    progress(name)
                    number = 0
                    memory = memory or child.memory() + limits.memory
                    deadline = time.monotonic() + limits.seconds
                case {"tried": int(tried)}:
                    last = len(exercise_of(name).tried)
                    number = min(tried, last - 1)
                    if tried == last:
                        deadline = time.monotonic() + COMPARING
                case {"verdict": fields}:
                    yield name, Verdict(**fields)
                    deadline = time.monotonic() + COMPARING
                case {"done": True}:
                    return
                case {"fault": text}:
                    raise CheckError(f"a check failed: {text}")
        is_late = time.monotonic() > deadline
        if name is None and (has_ended or is_late):
            raise CheckError(
                "the process that checks the file did not start. "
                + child.errors()
            )
        exceeded = (
            (has_ended and "crash")
            or (is_late and "time")
            or (memory and child.exceeds(memory) and "memory")
        )
        if exceeded:
            exercise = exercise_of(name)
            case = exercise.tried[number]
            yield (
                name,
                messages.limit(exercise, exceeded, case, limits.seconds),
            )
            return
        time.sleep(PAUSE)


def _is_right(found: dict[str, Verdict], name: str) -> bool:
    return name in found and found[name].is_correct


def _without_trial(file: LearnersFile, name: str) -> Verdict:
    """What is said of a part that cannot be tried."""
    if name in file.broken:
        return messages.no_python(exercise_of(name), file.broken[name])
    if name in file.missing:
        return messages.missing(exercise_of(name), file.renamed(name))
    said = say("{name}: not written yet.", name=name)
    return Verdict(said, "unwritten", name)
