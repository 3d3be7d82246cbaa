"""The report on a class: which exercises went wrong, and how.

It is one page that loads nothing and names nobody.
"""

import builtins
from collections import Counter, defaultdict
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt

from course_exercises.contents import find
from course_exercises.engine.reading import reference
from course_grading.course import Result

KINDS = {
    "correct": "correct",
    "misconception": "known mistake",
    "generic": "generic mistake",
    "unknown": "wrong in another way",
    "error": "raises an error",
    "limit": "stopped",
    "unwritten": "not written",
    "refused": "could not be checked",
    "none": "no verdict",
}
"""Kinds of verdict, in the order of the table."""
PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Class report</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 55rem;
  margin: 2rem auto; padding: 0 1rem }}
td, th {{ padding: .3rem .7rem; border-bottom: 1px solid #ccc;
  text-align: left; vertical-align: top }}
td.n, th.n {{ text-align: right }}
pre {{ white-space: pre-wrap; font: inherit; margin: 0 }}
</style></head>
<body><h1>Class report</h1>
{body}
</body></html>
"""


def report(results: dict[str, Sequence[Result]]) -> str:
    """The page, in HTML.

    Args:
        results: by the name of the assignment.
    """
    parts = [_assignment(name, every) for name, every in results.items()]
    return PAGE.format(body="\n".join(parts))


def _assignment(name: str, results: Sequence[Result]) -> str:
    students = {result.student for result in results}
    failed = {result.student for result in results if not result.cell}
    waiting = sum(result.needs_mark for result in results if result.cell)
    unsafe = "These submissions ran without a sandbox, with the rights of "
    unsafe += "whoever graded: they could change marks. "
    by_exercise = defaultdict(list)
    for result in results:
        if result.cell in _exercises(results):
            by_exercise[result.cell].append(result.verdict)
    parts = [
        f"<h2>{escape(name)}</h2>",
        f"<p>Submissions: {len(students)}. Answers to be marked by hand: "
        f"{waiting}. Could not be graded: {len(failed)}. "
        f"{unsafe if any(result.unsafe for result in results) else ''}</p>",
        _counts(by_exercise),
    ]
    for exercise, verdicts in by_exercise.items():
        parts += _mistakes(exercise, verdicts)
    return "\n".join(parts)


def _exercises(results: Sequence[Result]) -> set[str]:
    """The exercises; what has no verdict from anybody is a question."""
    return {
        result.cell for result in results if result.cell and result.verdict
    }


Verdicts = Sequence[dict[str, str] | None]


def _counts(by_exercise: dict[str, Verdicts]) -> str:
    """How often each exercise had each kind of verdict."""
    counts = {
        exercise: Counter(v["kind"] if v else "none" for v in verdicts)
        for exercise, verdicts in by_exercise.items()
    }
    kinds = [k for k in KINDS if any(count[k] for count in counts.values())]
    head = "".join(f'<th class="n">{KINDS[kind]}</th>' for kind in kinds)
    rows = "".join(
        f"<tr><td>{escape(exercise)}</td>"
        + "".join(f'<td class="n">{count[kind]}</td>' for kind in kinds)
        + "</tr>"
        for exercise, count in counts.items()
    )
    return f"<table><tr><th>exercise</th>{head}</tr>{rows}</table>"


def _mistakes(name: str, verdicts: Verdicts) -> list[str]:
    """The mistakes in one exercise, the most frequent first."""
    counts = Counter(
        (v["kind"], v["mistake"]) for v in verdicts if v and v["mistake"]
    )
    if not counts:
        return []
    exercise = find(name)
    texts = {
        mistake.name: f"{mistake.text}\n\n{reference(mistake.section)}"
        for mistake in exercise.mistakes
    }
    rows = "".join(
        f'<tr><td class="n">{count}</td><td>{KINDS[kind]}: '
        f"<code>{escape(_public(kind, mistake))}</code>"
        f"{_shown(texts.get(mistake, ''))}</td></tr>"
        for (kind, mistake), count in counts.most_common()
    )
    return [f"<h3>{escape(name)}</h3>", f"<table>{rows}</table>"]


def _shown(text: str) -> str:
    """Markdown of the catalogue as HTML."""
    return MarkdownIt().render(text)


def _public(kind: str, mistake: str) -> str:
    """The name of a mistake, but for exceptions that a student named."""
    named = kind == "error" and not hasattr(builtins, mistake)
    return "an exception of its own" if named else mistake
