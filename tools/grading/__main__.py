"""The command line of handing out and grading; see ``make help``."""

import argparse
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from course_exercises.process import Limits
from tools.grading.assignment import find_assignments, recognised
from tools.grading.judge import SECONDS
from tools.grading.policy import Hidden, Policy
from tools.grading.records import Record, read_records
from tools.grading.roster import Roster, read_roster
from tools.grading.submissions import Found, find_submissions
from tools.grading.texts import counted, one_line
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError

SITE = "address of the book, for links; else they lead to the course's folder"


def main(arguments: list[str] | None = None) -> int:
    """Hand out, or grade; 2 and a line if that cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        if importlib.util.find_spec("nbgrader") is None:
            raise CourseError(
                "nbgrader is not installed in this environment. make release "
                "and make grade install it; by hand: pip install -r "
                "requirements-grading.txt"
            )
        options.run(options)
    except (CourseError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def tell(line: str) -> None:
    """Print a line, whatever signs are in it."""
    sign = sys.stdout.encoding or "utf-8"
    print(line.encode(sign, "replace").decode(sign), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.grading",
        description="Hand out assignments, and grade them.",
    )
    commands = parser.add_subparsers(required=True)
    release = commands.add_parser("release", help="make what students get")
    release.add_argument("names", nargs="*", metavar="NB")
    add = release.add_argument
    add("--to", type=Path, default=Path("release"))
    add("--due", default="", help='such as "12 June, 18:00"')
    add("--hand-in", default="", help='such as "on Moodle, under Week 3"')
    add("--no-solutions", action="store_true", help="none can be asked for")
    add("--site", default=os.environ.get("SITE_URL", ""), help=SITE)
    release.set_defaults(run=run_release)
    grade = commands.add_parser("grade", help="grade a class")
    grade.add_argument("submissions", type=Path)
    grade.add_argument("names", nargs="*", metavar="NB")
    add = grade.add_argument
    add("--to", type=Path, default=Path("grading"), help="folder for marks")
    add("--roster", type=Path, help="the class, as Moodle or Canvas exports")
    add("--seed", type=int, default=Hidden.seed, help="of hidden inputs")
    add("--drawn", type=int, default=Hidden.drawn, help="hidden inputs")
    add("--seconds", type=float, default=SECONDS, help="for an exercise")
    add("--memory", type=float, default=2.0, help="gigabytes beside torch's")
    add("--partial", type=float, default=0.0, help="share for known mistakes")
    add("--site", default=os.environ.get("SITE_URL", ""), help=SITE)
    add("--again", action="store_true", help="judge also what is known")
    add("--user", type=int, help="number under which code runs (as root)")
    grade.set_defaults(run=run_grade)
    return parser


def run_release(options: argparse.Namespace) -> None:
    """Make the notebooks that students get."""
    import tempfile

    from tools.grading.gradebook import Course, write
    from tools.grading.release import Terms, handed_out

    assignments = find_assignments(options.names)
    terms = Terms(
        options.due, options.hand_in, not options.no_solutions, options.site
    )
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder))
        for assignment in assignments:
            name = assignment.name
            path = options.to / name / f"{name}.ipynb"
            write(handed_out(course.release(assignment), terms), path)
            points = sum(assignment.points.values())
            print(f"{path}: {counted(points, 'point')}")


def run_grade(options: argparse.Namespace) -> None:
    """Grade the submissions of a class."""
    from tools.grading import pages, platforms, tables
    from tools.grading.grade import grade_class
    from tools.grading.gradebook import Course

    policy = _policy(options)
    every = find_assignments()
    known = [assignment.name for assignment in every]
    find_assignments(options.names)  # says which there are
    roster = read_roster(options.roster) if options.roster else None
    found = find_submissions(
        options.submissions,
        known,
        options.names,
        roster,
        partial(recognised, assignments=every),
    )
    handed_in = _handed_in(found, roster)
    course = Course(options.to)
    course.write_settings(ROOT)
    names = {s.assignment for s in found.submissions}
    names |= {r.assignment for r in read_records(course.folder)} & {*known}
    assignments = {
        a.name: course.release(a) for a in find_assignments(sorted(names))
    }
    marked = grade_class(
        course,
        list(assignments.values()),
        found.submissions,
        policy,
        options.again,
        tell,
    )
    marked = [m for m in marked if m.record.assignment in assignments]
    tables.write_marks(course.folder, assignments, marked)
    pages.write_pages(course.folder, assignments, marked, options.site)
    said = platforms.write_class(
        course.folder, assignments, marked, roster, handed_in
    )
    for line in (*said, *_odd(found, roster)):
        tell(line)
    made = [tables.MARKS, platforms.CLASS, pages.REPORT, pages.FEEDBACK]
    if file := platforms.file_for(roster):
        made.append(file)
    tell(f"\nIn {options.to}: {', '.join(made)}")
    if waiting := sum(tables.waiting(one.marks) for one in marked):
        tell(
            f"{counted(waiting, 'answer')} to be marked by hand: read "
            f"{options.to / pages.ANSWERS}, fill in "
            f"{options.to / 'manual_marks.csv'}, and grade again"
        )
    _complain([m.record for m in marked], options.to / tables.TOTALS)


def _handed_in(found: Found, roster: Roster | None) -> list[str]:
    """The assignments of which there is something in the folder.

    Raises:
        CourseError: there are several, and the list is a worksheet of one.
    """
    names = [one.assignment for one in found.submissions if one.path]
    names = list(dict.fromkeys(names))
    if roster and roster.kind == "worksheet" and len(names) != 1:
        raise CourseError(
            f"{roster.path} is Moodle's worksheet of one assignment, and "
            f"{', '.join(names) or 'none'} handed in: say which one it is of, "
            f"make grade NB={(names or ['06_masks'])[0]} ..."
        )
    return names


def _odd(found: Found, roster: Roster | None) -> Iterator[str]:
    """What a lecturer should know of the folder of submissions."""
    for path in found.ignored:
        where = one_line(str(path))
        yield f"not graded, belongs to nobody or to no assignment: {where}"
    for name in found.strangers:
        yield f"not on the list of the class: {one_line(name)}"
    if found.exported and roster is None:
        yield (
            "These names are a learning platform's: with ROSTER=FILE.csv, a "
            "list of the class, marks go by id and e-mail address"
        )


def _policy(options: argparse.Namespace) -> Policy:
    if not 0 <= options.partial <= 1:
        raise CourseError(
            f"--partial {options.partial} is not a share from 0 to 1"
        )
    if options.user is not None and os.geteuid() != 0:
        raise CourseError(
            f"--user {options.user} can be had by root only: use it in a "
            "container"
        )
    if options.to.resolve() in (
        options.submissions.resolve(),
        options.submissions.resolve().parent,
    ):
        raise CourseError(
            f"the submissions are in {options.to}, where the grading writes "
            "copies of its own: name another folder, make grade GRADING=..."
        )
    return Policy(
        Hidden(options.seed, options.drawn),
        Limits(options.seconds, int(options.memory * 2**30)),
        options.partial,
        options.user,
    )


def _complain(records: list[Record], totals: Path) -> None:
    """Say which submissions have no verdict, though all else is done."""
    bad = [r for r in records if r.status in ("failed", "damaged")]
    if bad:
        names = ", ".join(f"{r.student} ({r.assignment})" for r in bad[:10])
        raise CourseError(
            f"{len(bad)} of {len(records)} submissions could not be graded: "
            f"{names}{', …' if len(bad) > 10 else ''}. {totals} says why; "
            "grade again, all else is done"
        )


if __name__ == "__main__":
    sys.exit(main())
