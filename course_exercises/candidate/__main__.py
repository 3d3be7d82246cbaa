"""The process that tries an answer and says what it does, as plain data.

    python -m course_exercises.candidate < request

The request is pickled by whoever asks, and holds the answer as bytes. Lines
of JSON are written: that it has ``started``, the number of cases ``tried``, at
last ``findings`` and what was ``printed``, or what was ``not_carried``.
"""

import json
import linecache
import os
import pickle
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from course_exercises.candidate import plain
from course_exercises.candidate.findings import study
from course_exercises.candidate.payload import unpack
from course_exercises.candidate.streams import Prints, isolate


def main() -> None:
    """Try the answer on standard input."""
    request = pickle.loads(sys.stdin.buffer.read())
    with open(os.dup(1), "w", encoding="utf-8") as output:

        def send(**message: Any) -> None:
            output.write(json.dumps(message) + "\n")
            output.flush()

        isolate()
        send(started=True)
        prints = Prints()
        with redirect_stdout(prints), redirect_stderr(Prints()):
            told = _try(request, send)
        send(**told, printed=prints.text())
    os._exit(0)  # whatever threads the answer has left


def _try(request: dict[str, Any], send: Any) -> dict[str, str]:
    remember(request["sources"])
    try:
        answer, names = unpack(request["answer"])
    except Exception as error:
        return {"not_carried": f"{type(error).__name__}: {error}"}
    names.update(request["stand_ins"])
    findings = study(request["task"], answer, lambda n: send(tried=n))
    return {"findings": plain.dumps(findings)}


def remember(sources: dict[str, str]) -> None:
    """Keep the source of cells, by file name, for the lines of errors."""
    for name, text in sources.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)


if __name__ == "__main__":
    main()
