"""The process of one check: run the learner's code and judge it.

    python -m course_exercises.child FOLDER

The folder holds the pickled ``request`` that ``process`` has written.
Messages go into its file ``messages``, one JSON object a line.
"""

import json
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

from course_exercises.candidate.__main__ import remember
from course_exercises.candidate.payload import unpack
from course_exercises.candidate.streams import Prints, isolate
from course_exercises.engine import messages
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.verdict import Verdict


def main() -> None:
    """Check one implementation, then wait to be killed."""

    def check(content: bytes, send: Callable[..., None]) -> None:
        verdict = verdict_on(pickle.loads(content), send)
        send(verdict=asdict(verdict))

    serve(check)


def serve(work: Callable[[bytes, Callable[..., None]], None]) -> None:
    """Do what the folder's request asks, then wait to be killed.

    Args:
        work: takes the request, and a function that sends a message.
    """
    folder = Path(sys.argv[1])
    content = (folder / "request").read_bytes()
    with (folder / "messages").open("a", encoding="utf-8") as file:

        def send(**message: Any) -> None:
            file.write(json.dumps(message) + "\n")
            file.flush()

        notebook = os.dup(0)
        threading.Thread(
            target=end_with, args=(notebook,), daemon=True
        ).start()
        isolate()
        try:
            work(content, send)
        except Exception:  # a fault of the engine; the notebook reports it
            send(fault=traceback.format_exc())
        threading.Event().wait()  # the notebook kills it with its children


def end_with(notebook: int) -> None:
    """End, children first, when the notebook's end of a pipe is closed."""
    os.read(notebook, 1)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()
    os._exit(1)


def verdict_on(request: dict[str, Any], send: Callable[..., None]) -> Verdict:
    """Run an implementation on every case, and judge it.

    Args:
        request: the exercise's module, the pickled code and its sources.
        send: called with the number of cases tried.
    """
    exercise = import_module(request["module"]).EXERCISE
    remember(request["sources"])
    prints = Prints()
    with redirect_stdout(prints), redirect_stderr(Prints()):
        try:
            candidate, _ = unpack(request["candidate"])
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            return messages.not_carried(exercise, why)
        verdict = diagnose(exercise, candidate, lambda n: send(tried=n))
    return messages.finished(verdict, prints.text())


if __name__ == "__main__":
    main()
