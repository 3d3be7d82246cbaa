"""The process that tries answers and says what they do, as plain data.

    python -m course_exercises.candidate < requests

The requests are pickled by whoever asks; each holds an answer as bytes. Each
is tried in a fork, so that none meets what another one left. Lines of JSON are
written: ``begun`` with the number of the answer, the number of cases
``tried``, at last ``findings`` and what was ``printed``, or what was
``not_carried``; in the end, ``done``.
"""

import json
import linecache
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import torch

from course_exercises.candidate import plain
from course_exercises.candidate.findings import study
from course_exercises.candidate.payload import unpack
from course_exercises.candidate.streams import Prints, isolate

Send = Callable[..., None]


def main() -> None:
    """Try the answers on standard input."""
    content = sys.stdin.buffer.read()
    requests = pickle.loads(content)
    with open(os.dup(1), "w", encoding="utf-8") as output:

        def send(**message: Any) -> None:
            output.write(json.dumps(message) + "\n")
            output.flush()

        isolate()
        if b"optim" in content:
            # imports PyTorch's compiler, which is not the answers' time
            torch.optim.SGD([torch.zeros(1, requires_grad=True)])
        for number, request in enumerate(requests):
            send(begun=number)
            child = os.fork()
            if not child:
                _tell(request, send)
                os._exit(0)  # whatever threads the answer has left
            os.waitpid(child, 0)
        send(done=True)


def _tell(request: dict[str, Any], send: Send) -> None:
    """Try one answer, and say what was found."""
    prints = Prints()
    with redirect_stdout(prints), redirect_stderr(Prints()):
        told = _try(request, send)
    send(**told, printed=prints.text())


def _try(request: dict[str, Any], send: Send) -> dict[str, str]:
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
