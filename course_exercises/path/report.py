"""What a check of a file says: as text, in a terminal's colours, as a page."""

import html
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from course_exercises.engine import reading
from course_exercises.engine.verdict import Verdict
from course_exercises.language import fill, language, say
from course_exercises.path.file import LearnersFile
from course_exercises.path.parts import (
    DECODER,
    PARTS,
    chapter_of,
    exercise_of,
)

_BOX = re.compile(r"\[(\w+) *\]")
_COLOURS = {"right": "32", "wrong": "31", "course": "2"}
MARKS = {"right": "✓", "wrong": "✗", "course": "·"}
"""Right, wrong; and the course's, since the learner's is not written yet."""
WIDTH = 79
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
  max-width: 52rem; padding: 0 1rem }
pre { font: 14px/1.35 ui-monospace, monospace; overflow-x: auto }
.right { background: #2a9d5c; color: #fff }
.wrong { background: #c8452f; color: #fff }
.course { color: #777; outline: 1px dashed #999; outline-offset: -1px }
"""


def state_of(verdict: Verdict) -> str:
    """A key of :data:`MARKS`."""
    if verdict.is_correct:
        return "right"
    return "course" if verdict.kind == "unwritten" else "wrong"


def text(
    file: LearnersFile, verdicts: dict[str, Verdict], colours: bool
) -> str:
    """The whole answer of a check.

    Args:
        file: the learner's.
        verdicts: of all parts.
        colours: for a terminal.
    """
    paint = _in_colours if colours else _plain
    wrong = [v for v in verdicts.values() if state_of(v) == "wrong"]
    messages = [
        f"{'─' * WIDTH}\n{MARKS['wrong']} {verdict.text}" for verdict in wrong
    ]
    messages += [
        verdict.text
        for verdict in verdicts.values()
        if verdict.mistake == "missing"
    ]
    if "" in file.broken:
        messages.append(f"{file.path.name}, {file.broken['']}")
    parts = [table(verdicts, paint), picture(verdicts, paint), *messages]
    return "\n\n".join([*parts, summary(file, verdicts)])


def table(
    verdicts: dict[str, Verdict], paint: Callable[[str, str], str]
) -> str:
    """A line for each part, by chapter."""
    lines = []
    for number, names in PARTS.items():
        for name in names:
            verdict = verdicts[name]
            state = state_of(verdict)
            said = {
                "right": say("right"),
                "course": say("not written yet: the course's stands in"),
                "wrong": say(
                    "wrong: {mistake}", mistake=_in_words(verdict.mistake)
                )
                if verdict.mistake
                else say("wrong"),
            }[state]
            text = f"{MARKS[state]} {name:<30}{said}"
            lines.append(f"{number}  {paint(text, state)}")
            number = "  "
    return "\n".join(lines)


def _in_words(name: str) -> str:
    """The name of a mistake as words: of norm_first, or NormFirst."""
    return re.sub(r"_|(?<=[a-z])(?=[A-Z])", " ", name).lower()


def picture(
    verdicts: dict[str, Verdict], paint: Callable[[str, str], str]
) -> str:
    """The whole model, with the learner's parts marked."""

    def box(match: re.Match) -> str:
        state = state_of(verdicts[match[1]])
        shown = f"{MARKS[state]} {match[1]}"
        return paint(shown.ljust(len(match[0])), state)

    drawing = Path(__file__).with_name("picture.txt").read_text("utf-8")
    lines = _BOX.sub(box, drawing).splitlines()
    return "\n".join(map(str.rstrip, lines))


def summary(file: LearnersFile, verdicts: dict[str, Verdict]) -> str:
    """How many parts are right, and what comes next."""
    count = sum(verdict.is_correct for verdict in verdicts.values())
    text = say(
        "{count} of {total} parts are right. ",
        count=count,
        total=len(verdicts),
    )
    left = [name for name, v in verdicts.items() if not v.is_correct]
    if set(left) <= {*PARTS[DECODER]}:
        text += say("This Transformer is all yours. Now try:")
        text += (
            f"\n\n    transformer-course check {file.path} --laws\n"
            f"    python {file.path}\n"
            f"    transformer-course train grammar --model {file.path}\n"
            + "\n"
            * bool(left)
        )
    if not left:
        chat = f"transformer-course chat smollm2 --decoder {file.path}"
        return f"{text}    {chat}"
    wrong = [n for n in left if state_of(verdicts[n]) == "wrong"]
    name = (wrong or left)[0]
    todo = (
        'First mend {name}, chapter {chapter}, "{title}".'
        if wrong
        else 'Next: {name}, chapter {chapter}, "{title}".'
    )
    return text + say(
        todo,
        name=name,
        chapter=chapter_of(name),
        title=reading.title(exercise_of(name).section),
    )


def page(file: LearnersFile, verdicts: dict[str, Verdict]) -> str:
    """The answer as a page in HTML."""

    def paint(text: str, state: str) -> str:
        return f'<span class="{state}">{html.escape(text)}</span>'

    wrong = "".join(
        f"<pre>{html.escape(verdict.text)}</pre>"
        for verdict in verdicts.values()
        if state_of(verdict) == "wrong"
    )
    title = html.escape(file.path.name)
    return (
        f'<!doctype html><html lang="{language()}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>{html.escape(summary(file, verdicts))}</p>"
        f"<pre>{picture(verdicts, paint)}</pre>{wrong}"
        f"<pre>{table(verdicts, paint)}</pre></html>\n"
    )


def laws_text(broken: dict[str, str], count: int) -> str:
    """Which laws are broken, and what each means."""
    if not broken:
        return say("All {count} laws hold.", count=count)
    said = "{broken} of {count} laws are broken."
    lines = [say(said, broken=len(broken), count=count), ""]
    for name, meaning in broken.items():
        title = f"{MARKS['wrong']} {name.replace('_', ' ')}: "
        text = title + meaning
        lines.append(
            textwrap.fill(text, WIDTH, subsequent_indent="  ")
            if language() == "en"
            else fill(text, WIDTH)
        )
    return "\n".join(lines)


def _plain(text: str, state: str) -> str:
    return text


def _in_colours(text: str, state: str) -> str:
    return f"\x1b[{_COLOURS[state]}m{text}\x1b[0m"
