"""The texts of verdicts.

Plain text, the same in every run: no times, addresses or process numbers.
"""

import inspect
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from course_exercises.candidate.findings import signature_of
from course_exercises.candidate.outcome import INSIDE, Failure, Outcome
from course_exercises.candidate.values import same
from course_exercises.engine import reading, show
from course_exercises.engine.exercise import (
    DRAWN,
    Case,
    Exercise,
)
from course_exercises.engine.match import Example
from course_exercises.engine.mistakes import Mistake
from course_exercises.engine.verdict import Kind, Verdict
from course_exercises.language import fill, language, say
from transformer_course.files import encodable

PRINTED_LINES = 6
MAX_TEXT = 10_000
"""Characters of a verdict."""
NUMBERS = ["no", "one", "two", "three", "four"]
LIMITS = {
    "memory": "your code wants more memory than it may have. Is some tensor "
    "far larger than its inputs, or does something grow without end?",
    "time": "your code did not end within {seconds:g} s, and was stopped. "
    "Does a loop never reach its end, or print very much?",
    "processes": "your code started very many processes, and was stopped.",
    "output": "your code wrote far more than it may, and was stopped.",
    "crash": "your code ended the Python process that it ran in. Your "
    "notebook is not harmed: it ran beside it.",
}
"""What a learner reads when a limit was exceeded, by its name."""
NO_HYPHENS = {"width": show.WIDTH, "break_on_hyphens": False}


def paragraph(text: str) -> str:
    """Fill one paragraph to the width of a verdict."""
    text = " ".join(text.split())
    if language() != "en":
        return fill(text, show.WIDTH)
    return textwrap.fill(text, **NO_HYPHENS)


def prose(docstring: str) -> str:
    """Fill each paragraph of a docstring."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(docstring))
    return "\n\n".join(map(paragraph, parts))


def _verdict(
    exercise: Exercise,
    kind: Kind,
    mistake: str,
    first: str,
    *parts: str,
    section: str = "",
) -> Verdict:
    """Put the exercise's name in front and the section to read behind."""
    parts = (paragraph(f"{exercise.name}: {first}"), *parts)
    if section:
        parts = (*parts, reading.reference(section))
    text = "\n\n".join(part for part in parts if part)
    return Verdict(text, kind, exercise.name, mistake, section)


def correct(exercise: Exercise, expected: Sequence[Outcome]) -> Verdict:
    """Say what "correct" means: the inputs, and what was compared."""
    notes = say("; ").join(map(exercise.note, exercise.cases))
    has_gradients = any(outcome.gradients for outcome in expected)
    compared = say("values, shapes, kinds of number")
    compared += say(", gradients") if has_gradients else ""
    tried = say(
        "Tried on {number} inputs: {notes}; and {drawn} random ones. "
        "Compared: {compared}. A second call gave the same, and no input was "
        "changed.",
        number=len(exercise.tried),
        notes=notes,
        drawn=DRAWN,
        compared=compared,
    )
    first = say("correct.")
    return _verdict(exercise, "correct", "", first, paragraph(tried))


def unwritten(exercise: Exercise) -> Verdict:
    """The stub was not touched."""
    return _verdict(
        exercise,
        "unwritten",
        "",
        say(
            "not written yet. Put your code in place of the line that raises "
            "NotImplementedError, run that cell, then this one."
        ),
    )


def no_python(exercise: Exercise, problem: str) -> Verdict:
    """A part of a file whose text is no Python."""
    first = say("this is no Python yet.")
    return _verdict(exercise, "error", "SyntaxError", first, problem)


def missing(exercise: Exercise, renamed: str) -> Verdict:
    """A part that a file does not have, and what may be meant to be it."""
    text = say("it is not in your file.")
    if renamed:
        text += say(
            " Is {renamed} meant to be it? Call it {name}.",
            renamed=renamed,
            name=exercise.name,
        )
    return _verdict(exercise, "unwritten", "missing", text)


def file_fails(exercise: Exercise, failure: Failure) -> Verdict:
    """A file that cannot be loaded, so that no part can be tried."""
    return _verdict(
        exercise,
        "error",
        failure.kind,
        say(
            "the file raises an error when it is loaded, outside its "
            "functions."
        ),
        _failure(failure),
    )


def wrong_kind(exercise: Exercise) -> Verdict:
    """A class in place of a function, or the reverse."""
    text = (
        "the exercise asks for a class, and yours is a function."
        if inspect.isclass(exercise.solution)
        else "the exercise asks for a function, and yours is a class."
    )
    return _verdict(exercise, "generic", "wrong_kind", say(text))


def wrong_call(exercise: Exercise, signature: str) -> Verdict:
    """Parameters that do not take the exercise's arguments."""
    return _verdict(
        exercise,
        "generic",
        "wrong_arguments",
        say(
            "its arguments are not those that the exercise asks for. Yours "
            "is {yours}; it is called as {wanted}.",
            yours=f"{exercise.name}{signature}",
            wanted=f"{exercise.name}{signature_of(exercise.solution)}",
        ),
    )


def error(exercise: Exercise, example: Example, count: int) -> Verdict:
    """An error, with the learner's line that raised it.

    Args:
        exercise: the exercise.
        example: the smallest case that raises it.
        count: the number of cases that do.
    """
    failure = example.found.failure
    return _verdict(
        exercise,
        "error",
        failure.kind,
        say(
            "your code raises an error, on {inputs}.",
            inputs=_inputs(exercise, count),
        ),
        _failure(failure),
        paragraph(
            say(
                "The smallest of them ({note}):",
                note=exercise.note(example.case),
            )
        ),
        _given(exercise, example.case),
    )


def _inputs(exercise: Exercise, count: int) -> str:
    """Write "every input", or "3 of 10 inputs"."""
    number = len(exercise.tried)
    if count == number:
        return say("every input")
    return say("{count} of {number} inputs", count=count, number=number)


def _failure(failure: Failure) -> str:
    """An error as Python prints it: type, message, line."""
    first = failure.message.partition("\n")[0]
    if failure.kind == "RecursionError":
        first = say("it calls itself, and never stops doing so")
    text = textwrap.fill(
        f"{failure.kind}: {first}" if first else failure.kind,
        initial_indent="    ",
        subsequent_indent="      ",
        **NO_HYPHENS,
    )
    if failure.line is None:
        return text
    where = say("in line {line}", line=failure.line)
    if failure.function.isidentifier():  # not so: <lambda>, <listcomp>
        where += say(", in {function}", function=failure.function)
    return f"{text}\n    {where}:\n        {failure.source}"


def generic(exercise: Exercise, found: Mistake, example: Example) -> Verdict:
    """A generic mistake, and nothing else."""
    is_right = all(
        same(value, example.expected.value, exercise.tolerance)
        for value in (example.found.value, example.found.again)
    )
    return _verdict(
        exercise,
        "generic",
        found.name,
        say("not right yet, though the result is.")
        if is_right
        else say("not right yet."),
        paragraph(found.text),
        _difference(exercise, example),
    )


def misconception(
    exercise: Exercise, mistakes: Sequence[Mistake], example: Example
) -> Verdict:
    """Mistakes of the catalogue, and generic ones beside them.

    Args:
        exercise: the exercise.
        mistakes: one, or several that are made at once.
        example: a case that shows them.
    """
    texts = [exercise.words(one.name, one.text) for one in mistakes]
    like = say("a well-known mistake")
    if len(texts) > 1:
        number = say(NUMBERS[len(texts)])
        like = say("{number} mistakes at once", number=number)
        texts = [f"{n}. {text}" for n, text in enumerate(texts, 1)]
    return _verdict(
        exercise,
        "misconception",
        " and ".join(one.name for one in mistakes),
        say("not right yet. It behaves like {like}:", like=like),
        *map(prose, texts),
        _difference(exercise, example),
        section=next(one.section for one in mistakes if one.section),
    )


def unknown(
    exercise: Exercise,
    ignored: Sequence[str],
    example: Example,
    count: int,
) -> Verdict:
    """A wrong result that the catalogue does not know.

    Args:
        exercise: the exercise.
        ignored: the parameters that only the learner's code never uses.
        example: the case to show.
        count: the number of wrong cases.
    """
    never = say(" and ").join(f"`{name}`" for name in ignored)
    return _verdict(
        exercise,
        "unknown",
        "",
        say(
            "not right yet. It differs on {inputs}, and we do not recognise "
            "the mistake.",
            inputs=_inputs(exercise, count),
        ),
        say("Your code never uses {never}.", never=never) if never else "",
        _difference(exercise, example),
        section=exercise.section,
    )


def _difference(exercise: Exercise, example: Example) -> str:
    """A case, its expected result and the learner's."""
    case, found, expected = example
    if found.failure:
        result = _failure(found.failure)
        value = show.short(expected.value)
        result = f"{say('expected')}\n{value}\n{say('yours')}\n{result}"
    elif same(found.value, expected.value, exercise.tolerance):
        result = _gradients(found, expected)
    else:
        result = show.beside(expected.value, found.value)
    where = say(
        "The smallest of our inputs where it shows ({note}):",
        note=exercise.note(case),
    )
    return (
        f"{paragraph(where)}\n\n"
        f"{_given(exercise, case)}\n\n{textwrap.indent(result, '    ')}"
    ).rstrip()


def _gradients(found: Outcome, expected: Outcome) -> str:
    """The first gradient that differs, where results agree."""
    if found.again_failure:
        return ""
    for one, other in zip_longest(expected.gradients, found.gradients):
        if not same(one, other, 1e-3):
            return f"{say('gradients')}\n{show.beside(one, other)}"
    return ""


def _given(exercise: Exercise, case: Case) -> str:
    """The arguments of a case."""
    text = show.assignments(exercise.arguments(case))
    if case.build:
        built = ", ".join(map(show.short, case.build))
        called = say(
            "built as {built}, called with", built=f"{exercise.name}({built})"
        )
        text = f"{called}\n{text}"
    if case.weights:
        weights = show.assignments(case.weights)
        text += f"\n{say('and with the weights')}\n{weights}"
    return textwrap.indent(text, "    ")


def limit(
    exercise: Exercise, name: str, case: Case, seconds: float = 0.0
) -> Verdict:
    """A limit that was exceeded.

    Args:
        exercise: the exercise.
        name: a key of :data:`LIMITS`.
        case: the case that was tried.
        seconds: the time limit.
    """
    return _verdict(
        exercise,
        "limit",
        name,
        say(LIMITS[name], seconds=seconds),
        paragraph(
            say(
                "It happened on this input ({note}):", note=exercise.note(case)
            )
        ),
        _given(exercise, case),
    )


def not_carried(exercise: Exercise, why: str) -> Verdict:
    """Code that the process of the check cannot load."""
    return _verdict(
        exercise,
        "refused",
        "",
        say(
            "your code could not be brought to the process that checks it: "
            "{why}. {advice}",
            why=why,
            advice=say(INSIDE),
        ),
    )


def left_out(exercise: Exercise, names: dict[str, str]) -> Verdict:
    """Code that the process of the check has only in part.

    Args:
        exercise: the exercise.
        names: the reasons, by what could not be taken.
    """
    each = "; ".join(f"`{name}` ({why})" for name, why in names.items())
    return _verdict(
        exercise,
        "refused",
        "",
        say(
            "your code does not give the right result where it is checked, "
            "in another process, to which not all that it may use could be "
            "brought: {each}. Whether it is right cannot be said. {advice}",
            each=each,
            advice=say(INSIDE),
        ),
    )


def finished(verdict: Verdict, printed: str = "") -> Verdict:
    """A verdict with what the code printed, short enough to be read.

    Lines keep their indentation, so that a tensor's columns stay aligned.
    """
    parts = [verdict.text]
    if printed.strip():
        width = show.WIDTH - 6
        lines = [
            line if len(line) <= width else f"{line[: width - 2]} …"
            for line in map(str.rstrip, printed.strip("\n").splitlines())
        ]
        more = ["…"] if len(lines) > PRINTED_LINES else []
        lines = [f"    | {line}" for line in lines[:PRINTED_LINES] + more]
        parts += ["", say("Your code printed:"), "", *lines]
    text = encodable("\n".join(parts))
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]} …"
    return replace(verdict, text=text)
