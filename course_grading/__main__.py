"""The commands of grading; ``make help`` lists them.

python -m course_grading release [NB ...]
python -m course_grading grade SUBMISSIONS [NB ...]
"""

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path

from course_grading.assignment import find_assignments, source_notebook
from course_grading.course import NOT_GRADED, Course, Result
from course_grading.report import report
from course_grading.roster import read_roster
from course_grading.sandbox import find_sandbox
from course_grading.submissions import find_submissions, printable
from course_grading.tables import write_tables
from transformer_course.errors import CourseError


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 2, and one line, if it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (CourseError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course_grading")
    commands = parser.add_subparsers(required=True)
    release = commands.add_parser("release", help="make what students get")
    release.set_defaults(run=run_release)
    grade = commands.add_parser("grade", help="grade a class")
    grade.set_defaults(run=run_grade)
    grade.add_argument("submissions", type=Path)
    for command in (release, grade):
        command.add_argument("names", nargs="*", metavar="NB")
        command.add_argument("--to", type=Path, default=Path("grading"))
    add = release.add_argument
    add("--no-solutions", action="store_true", help="offer none in it")
    add("--site", default=os.environ.get("SITE_URL", ""), help="of the book")
    add = grade.add_argument
    add("--roster", type=Path, help="the class, from Moodle or Canvas")
    add("--partial", type=float, default=0.0, help="share for known mistakes")
    add("--unsafe", action="store_true", help="run code with your rights")
    add("--due", type=_time, help="'2026-11-30 18:00', to name the late")
    add("--again", action="store_true", help="also what is graded already")
    return parser


def _time(text: str) -> datetime:
    """A time of this machine's clock."""
    return datetime.fromisoformat(text).astimezone()


def run_release(options: argparse.Namespace) -> None:
    """Make the notebooks that students get."""
    course = Course(options.to)
    for name in find_assignments(options.names):
        source = source_notebook(name, not options.no_solutions, options.site)
        print(course.release(name, source))


def run_grade(options: argparse.Namespace) -> None:
    """Grade the submissions, then write feedback, tables and the report."""
    if not 0 <= options.partial <= 1:
        raise CourseError(f"--partial {options.partial}: give 0 to 1")
    sandbox = find_sandbox(options.unsafe)
    print(f"Submissions run in: {sandbox.kind}")
    names = find_assignments(options.names)
    roster = read_roster(options.roster) if options.roster else None
    found = find_submissions(options.submissions, names, roster)
    course = Course(options.to, options.partial, options.unsafe)
    for name in sorted({name for _, name in found.files}):
        if not course.has_release(name):
            course.release(name, source_notebook(name))
    failed = []
    for (student, name), path in found.files.items():
        print(f"{name}  {student}", flush=True)
        try:
            course.grade(name, student, path, options.again)
        except Exception as error:  # must not stop the others' grading
            last = f"{type(error).__name__}: {error}".strip().splitlines()[-1]
            reason = f"reason: {printable(last):.300}"
            verdict = {"kind": NOT_GRADED, "mistake": reason}
            failed.append((name, Result(student, "", 0, 0, True, verdict)))
            print(*map(printable, str(error).splitlines()), sep="\n")
    if not course.graded():
        raise CourseError("nothing could be graded")
    notes = [*found.notes, *found.late(options.due)]
    for name in course.graded():
        notes += [*course.changes(name), *course.feedback(name)]
    results = {name: course.results(name) for name in course.graded()}
    for name, result in failed:
        results.setdefault(name, []).append(result)
    written = write_tables(course.folder, results, roster)
    page = course.folder / "report.html"
    page.write_text(report(results), encoding="utf-8")
    for note in notes:
        print(note)
    print("In", course.folder, *(path.name for path in [*written, page]))
    if waiting := sum(
        result.needs_mark for every in results.values() for result in every
    ):
        print(f"{waiting} answers to be marked by hand: make formgrader")
    if failed:
        names = (f"{result.student} ({name})" for name, result in failed)
        raise CourseError(f"could not be graded: {', '.join(names)}")


if __name__ == "__main__":
    sys.exit(main())
