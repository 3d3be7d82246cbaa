"""What a grading leaves: tables of marks, and pages to be read.

Each page is one file that loads nothing. What students wrote is shown as
text, never as HTML.
"""

import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from course_exercises import contents
from course_exercises.engine.messages import prose
from tools.grading.assignment import Assignment, asked_of, test_cell
from tools.grading.prose import (
    from_markdown,
    from_verdict,
    to_section,
    without_docstrings,
)
from tools.grading.records import Mark, Marked, Tried
from tools.grading.rubrics import read_rubrics
from tools.grading.tables import total, waiting
from tools.grading.texts import counted
from transformer_course import files

REPORT = "report.html"
ANSWERS = "answers.html"
FEEDBACK = "feedback"
LOOSE = "Text that stands at no question"
WORDS = {
    "correct": "correct",
    "misconception": "a known mistake",
    "slip": "a slip",
    "unknown": "wrong in another way",
    "error": "an error",
    "limit": "stopped",
    "unwritten": "not written",
    "refused": "could not be tried",
}
"""The kinds of verdict, in the order of the report."""
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.5rem }
pre { background: #f5f5f5; padding: .8rem; overflow-x: auto;
  font-size: .85rem; border-left: 4px solid #999; white-space: pre-wrap }
pre.correct { border-color: #2a7 } pre.wrong { border-color: #c60 }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #ccc;
  text-align: left; vertical-align: top }
td.n, th.n { text-align: right }
blockquote { margin: 0; padding: 0 1rem; border-left: 4px solid #ccc }
body.wide { max-width: 80rem }
.marking { display: grid; gap: 2rem;
  grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) }
.marking aside { position: sticky; top: 0; align-self: start;
  max-height: 100vh; overflow-y: auto; font-size: .9rem }
@media (max-width: 50rem) { .marking { display: block }
  .marking aside { position: static } }
"""


def write_pages(
    folder: Path,
    known: dict[str, Assignment],
    marked: Sequence[Marked],
    site: str = "",
) -> None:
    """Write every page of a grading anew.

    Args:
        folder: of the grading.
        known: the assignments.
        marked: all marks.
        site: where the book is, for links; "" if that is not known.
    """
    for one in marked:
        record = one.record
        if record.status == "damaged":
            continue  # what the student had before is better than nothing
        path = folder / FEEDBACK / record.student_id
        path.mkdir(parents=True, exist_ok=True)
        page = feedback(one, known[record.assignment], site)
        files.write_atomic(path / f"{record.assignment}.html", page)
    files.write_atomic(folder / REPORT, report(known, marked, site))
    files.write_atomic(folder / ANSWERS, answers(known, marked, site))


def feedback(one: Marked, assignment: Assignment, site: str = "") -> str:
    """The page that a student gets."""
    record, marks = one.record, one.marks
    of = sum(assignment.points.values())
    left = waiting(marks)
    parts = [
        f"<h1>{escape(assignment.title)}</h1>",
        f"<p>{escape(record.student)}: <b>{total(marks):g} of "
        f"{counted(of, 'point')}</b>"
        + (f", and {counted(left, 'answer')} to be marked" if left else "")
        + ".</p>",
        *(f"<p>{escape(note)}.</p>" for note in record.notes),
    ]
    for tried in record.tried:
        mark = marks.get(test_cell(tried.exercise))
        parts += _exercise(tried, mark, site)
    for question in assignment.questions:
        if question.name in record.answers:
            parts += _answer(
                from_markdown(assignment.asked(question), site),
                record.answers[question.name],
                marks.get(question.name),
                question.points,
            )
    if record.loose:
        parts += [f"<h2>{LOOSE}</h2>", f"<pre>{escape(record.loose)}</pre>"]
    return _page(record.assignment, parts)


def _exercise(tried: Tried, mark: Mark | None, site: str) -> list[str]:
    points = mark.points if mark else 0.0
    look = "correct" if tried.kind == "correct" else "wrong"
    changed = " (marked by hand)" if mark and mark.by_hand else ""
    exercise = contents.EXERCISES.get(tried.exercise)
    parts = [
        f"<h2>{escape(tried.exercise)}: {points:g} of "
        f"{counted(tried.of, 'point')}{changed}</h2>",
        f"<p>{_as_html(asked_of(exercise))}</p>" if exercise else "",
        f'<pre class="{look}">{from_verdict(tried.text, site)}</pre>',
    ]
    if mark and mark.comment:
        parts.append(f"<p><b>Comment:</b> {escape(mark.comment)}</p>")
    code = without_docstrings(tried.code, exercise) if exercise else tried.code
    if code.strip() and tried.kind != "unwritten":
        parts += ["<p>Your code:</p>", f"<pre>{escape(code)}</pre>"]
    return parts


def _answer(asked: str, text: str, mark: Mark | None, of: int) -> list[str]:
    left = mark is None or mark.waiting
    points = f"{'–' if left else f'{mark.points:g}'} of {counted(of, 'point')}"
    still = ", to be marked" if left else ""
    shown = f"<pre>{escape(text)}</pre>" if text else "<p>Not written.</p>"
    parts = [
        f"<h2>In words: {points}{still}</h2>",
        f"<blockquote>{asked}</blockquote>",
        shown,
    ]
    if mark and mark.comment and not left:
        parts.append(f"<p><b>Comment:</b> {escape(mark.comment)}</p>")
    return parts


def report(
    known: dict[str, Assignment], marked: Sequence[Marked], site: str = ""
) -> str:
    """The page about the class. It names nobody, and can be shown."""
    parts = ["<h1>How the class did</h1>"]
    for name, assignment in known.items():
        ours = [one for one in marked if one.record.assignment == name]
        if ours:
            parts += _about(assignment, ours, site)
    return _page("How the class did", parts)


def _about(
    assignment: Assignment, ours: Sequence[Marked], site: str
) -> list[str]:
    states = Counter(one.record.status for one in ours)
    left = sum(waiting(one.marks) for one in ours)
    count = len(ours) - states["missing"]
    parts = [
        f"<h2>{escape(assignment.name)}</h2>",
        f"<p>{count} of {len(ours)} handed in, {states['unreadable']} of "
        f"these a file that cannot be read. Answers that wait for marks by "
        f"hand: {left}.</p>",
    ]
    by_exercise: dict[str, list[Tried]] = defaultdict(list)
    for one in ours:
        if one.record.status == "graded":
            for tried in one.record.tried:
                by_exercise[tried.exercise].append(tried)
    parts.append(_table(by_exercise))
    for name, tries in by_exercise.items():
        parts += _seen(name, tries, site)
    return parts


def _table(by_exercise: dict[str, list[Tried]]) -> str:
    """How often each kind of verdict was given."""
    there = {tried.kind for tries in by_exercise.values() for tried in tries}
    kinds = [kind for kind in WORDS if kind in there]
    head = "".join(f'<th class="n">{WORDS[kind]}</th>' for kind in kinds)
    lines = []
    for name, tries in by_exercise.items():
        counts = Counter(tried.kind for tried in tries)
        cells = "".join(f'<td class="n">{counts[k]}</td>' for k in kinds)
        lines.append(f"<tr><td>{escape(name)}</td>{cells}</tr>")
    return (
        f"<table><thead><tr><th>exercise</th>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _as_html(text: str) -> str:
    """Paragraphs, words that are stressed, and names in code."""
    text = escape(text).replace("\n\n", "<br>")
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*(\S[^*]*)\*", r"<em>\1</em>", text)


def _seen(name: str, tries: Sequence[Tried], site: str) -> list[str]:
    """The mistakes of one exercise, the most frequent first."""
    exercise = contents.EXERCISES.get(name)
    texts = {
        mistake.__name__: (
            prose(mistake.__doc__),
            exercise.section_of(mistake),
        )
        for mistake in (exercise.mistakes if exercise else ())
        if mistake.__doc__  # others are variants of one that has
    }
    counts = Counter(
        (tried.kind, _public(tried))
        for tried in tries
        if tried.kind in ("misconception", "slip", "error", "limit")
    )
    if not counts:
        return []
    parts = [f"<h3>{escape(name)}</h3>", "<table><tbody>"]
    for (kind, mistake), count in counts.most_common():
        text, section = texts.get(mistake, ("", ""))
        said = _as_html(text)
        read = to_section(section, site) if section else ""
        where = f"<br>Read again: {read}" if section else ""
        parts.append(
            f'<tr><td class="n">{count}</td><td>{WORDS[kind]}: '
            f"<code>{escape(mistake)}</code>"
            f"{'<br>' + said if said else ''}{where}</td></tr>"
        )
    return [*parts, "</tbody></table>"]


def _public(tried: Tried) -> str:
    """What a verdict is called; no name that a student has thought of."""
    is_own = tried.kind == "error" and not hasattr(builtins, tried.mistake)
    return "an exception of its own" if is_own else tried.mistake


def answers(
    known: dict[str, Assignment], marked: Sequence[Marked], site: str = ""
) -> str:
    """All answers in words, question by question, for whoever marks them."""
    parts = [
        "<h1>Answers in words</h1>",
        "<p>Marks go into the table <code>manual_marks.csv</code>.</p>",
    ]
    for name, assignment in known.items():
        rubrics = read_rubrics(name)
        for question in assignment.questions:
            asked = from_markdown(assignment.asked(question), site)
            parts += [
                f"<h2>{escape(name)}, {escape(question.name)}: "
                f"{counted(question.points, 'point')}</h2>",
                '<div class="marking"><div>',
                f"<blockquote>{asked}</blockquote>",
                *_answers_to(question.name, name, marked),
                "</div><aside>",
                from_markdown(rubrics.get(question.name, ""), site),
                "</aside></div>",
            ]
        parts += _loose(name, marked)
    return _page("Answers in words", parts, "wide")


def _answers_to(
    question: str, assignment: str, marked: Iterable[Marked]
) -> list[str]:
    parts = []
    for one in marked:
        text = one.record.answers.get(question, "")
        mark = one.marks.get(question)
        if one.record.assignment != assignment or mark is None or not text:
            continue
        state = "to be marked" if mark.waiting else f"{mark.points:g}"
        parts.append(
            f"<p><b>{escape(one.record.student)}</b>: {state}</p>"
            f"<pre>{escape(text)}</pre>"
        )
    return parts


def _loose(assignment: str, marked: Iterable[Marked]) -> list[str]:
    parts = [
        f"<p><b>{escape(one.record.student)}</b></p>"
        f"<pre>{escape(one.record.loose)}</pre>"
        for one in marked
        if one.record.assignment == assignment and one.record.loose
    ]
    title = f"<h2>{escape(assignment)}: {LOOSE.lower()}</h2>"
    return [title, *parts] if parts else []


def _page(title: str, parts: Iterable[str], look: str = "") -> str:
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f'<body class="{look}">\n{body}\n</body></html>\n'
    )
