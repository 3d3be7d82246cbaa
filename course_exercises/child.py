"""The process of one check: run the learner's code, and say what it is.

    python -m course_exercises.child FOLDER

The file ``request`` in the folder is what ``process`` wrote there. Messages
go into the file ``said``, a line of JSON each.
"""

import builtins
import io
import json
import linecache
import os
import pickle
import random
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import cloudpickle
import torch

from course_exercises.engine import messages
from course_exercises.engine.diagnose import (
    expected_of,
    form_of,
    judge,
    outcomes,
)
from course_exercises.engine.verdict import Verdict

PRINTED = 1000
"""Signs of what the code prints that are kept."""


class Prints(io.TextIOBase):
    """Keeps the beginning of what is printed."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._left = PRINTED
        self._cut = False

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        if self._left > 0:
            self._parts.append(text[: self._left])
        self._cut |= len(text) > self._left
        self._left -= min(len(text), self._left)
        return len(text)

    def text(self) -> str:
        """The text that was kept."""
        return "".join(self._parts) + (" …" if self._cut else "")


def main() -> None:
    """Check one implementation, then wait to be ended."""
    folder = Path(sys.argv[1])
    request = pickle.loads((folder / "request").read_bytes())
    with (folder / "said").open("a", encoding="utf-8") as said:

        def say(**message: Any) -> None:
            said.write(json.dumps(message) + "\n")
            said.flush()

        settle()
        try:
            say(verdict=verdict_on(request, say).as_dict())
        except Exception:  # our own fault; the notebook will say so
            say(fault=traceback.format_exc())
        threading.Event().wait()  # whoever ends it finds its children


def settle() -> None:
    """Make this process a place for a learner's code.

    It has no input and no output but what Python catches, and shows things
    as a notebook does.
    """
    notebook = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    threading.Thread(target=end_with, args=(notebook,), daemon=True).start()
    builtins.display = print
    torch.set_num_threads(1)
    random.seed(0)  # the same code, the same verdict


def end_with(notebook: int) -> None:
    """End, children first, when the notebook's end of a pipe is closed."""
    import psutil

    os.read(notebook, 1)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()
    os._exit(1)


def verdict_on(request: dict[str, Any], say: Callable[..., None]) -> Verdict:
    """Run an implementation on every case, and judge it.

    Args:
        request: the exercise's module, the code and its cells.
        say: told when a case begins, and when all have been tried.
    """
    exercise = import_module(request["module"]).EXERCISE
    expected = expected_of(exercise)  # before anything else is run
    for name, text in request["sources"].items():  # errors show their lines
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
    prints = Prints()
    with redirect_stdout(prints), redirect_stderr(Prints()):
        try:
            candidate = cloudpickle.loads(request["candidate"])
        except Exception as error:
            return messages.not_carried(exercise, error)
        found = outcomes(exercise, candidate, lambda now: say(case=now))
        say(tried=True)
        printed = prints.text()
        if not isinstance(found, Verdict):
            form = form_of(exercise, candidate)
            found = judge(exercise, form, found, expected)
    verdict = messages.with_prints(found, printed)
    text = verdict.text.encode("utf-8", "replace").decode()
    return replace(verdict, text=text)


if __name__ == "__main__":
    main()
