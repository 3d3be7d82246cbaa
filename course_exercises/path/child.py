"""The process that checks the parts of a file, one after the other.

    python -m course_exercises.path.child FOLDER

The folder holds ``request`` in JSON. Messages go into its file ``messages``,
as in :mod:`course_exercises.child`.
"""

import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from types import ModuleType
from typing import Any

import torch

from course_exercises.candidate.outcome import describe
from course_exercises.candidate.streams import Prints
from course_exercises.child import serve
from course_exercises.engine import messages
from course_exercises.engine.diagnose import diagnose
from course_exercises.engine.verdict import Verdict
from course_exercises.path.laws import broken_laws
from course_exercises.path.parts import NAMES, exercise_of, solution_text
from transformer_course.models.custom import CLASS, definitions


def main() -> None:
    """Check the parts that are asked for, then wait to be killed."""

    def answer(content: bytes, send: Callable[..., None]) -> None:
        request = json.loads(content)
        if "laws" in request:
            send(laws=broken_laws(_transformer(request)))
        else:
            check(request, send)

    serve(answer)


def _transformer(request: dict[str, Any]) -> Callable[..., Any]:
    """The class of the file, which prints nothing."""
    try:
        with redirect_stdout(Prints()), redirect_stderr(Prints()):
            return vars(definitions(request["text"], request["path"]))[CLASS]
    except BaseException as error:
        why = error  # it may hold no value when the function is called

        def failing(*sizes: int) -> None:
            raise why

        return failing


def check(request: dict[str, Any], send: Callable[..., None]) -> None:
    """Check parts in the order given.

    Args:
        request: ``text`` and ``path`` of the file, the ``names`` to check,
            and which parts are known to be ``right``.
        send: called with the part that begins, the cases tried, the verdict.
    """
    right = set(request["right"])
    # imports PyTorch's compiler, which is not the learner's time
    torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    for name in request["names"]:
        send(part=name)
        prints = Prints()
        with redirect_stdout(prints), redirect_stderr(Prints()):
            verdict = _verdict(request, name, right, send)
        verdict = messages.finished(verdict, prints.text())
        if verdict.is_correct:
            right.add(name)
        send(verdict=asdict(verdict))
    send(done=True)


def _verdict(
    request: dict[str, Any],
    name: str,
    right: set[str],
    send: Callable[..., None],
) -> Verdict:
    """Judge one part; the course's stand in for others that are not right."""
    exercise = exercise_of(name)
    try:
        module = definitions(request["text"], request["path"])
    except BaseException as error:
        failure = describe(error, exercise.solution)
        return messages.file_fails(exercise, failure)
    candidate = vars(module).get(name)
    _stand_in(module, set(NAMES) - right - {name})
    if not callable(candidate):
        return messages.wrong_kind(exercise)
    return diagnose(exercise, candidate, lambda n: send(tried=n))


def _stand_in(module: ModuleType, names: set[str]) -> None:
    """Put the course's parts in the place of the learner's."""
    own = vars(definitions(solution_text(), "the course's my_transformer.py"))
    vars(module).update({name: own[name] for name in names})


if __name__ == "__main__":
    main()
