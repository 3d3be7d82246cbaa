"""The command line of handing out and grading; see ``make help``."""

import argparse
import importlib.util
import os
import sys
from pathlib import Path

from tools.grading.assignment import Hidden, find_assignments
from tools.grading.judge import SECONDS
from tools.grading.submissions import find_submissions
from tools.refresh_outputs import ROOT
from transformer_course.errors import CourseError
from transformer_course.exercises.process import Limits


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
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.grading",
        description="Hand out assignments, and grade them.",
    )
    commands = parser.add_subparsers(required=True)
    release = commands.add_parser("release", help="make what students get")
    release.add_argument("names", nargs="*", metavar="NB")
    release.add_argument("--to", type=Path, default=Path("release"))
    release.set_defaults(run=run_release)
    grade = commands.add_parser("grade", help="grade a class")
    grade.add_argument("submissions", type=Path)
    grade.add_argument("names", nargs="*", metavar="NB")
    add = grade.add_argument
    add("--to", type=Path, default=Path("grading"), help="folder for marks")
    add("--seed", type=int, default=Hidden.seed, help="of hidden inputs")
    add("--drawn", type=int, default=Hidden.drawn, help="hidden inputs")
    add("--seconds", type=float, default=SECONDS, help="for an exercise")
    add("--memory", type=float, default=2.0, help="gigabytes beside torch's")
    add("--partial", type=float, default=0.0, help="share for known mistakes")
    add("--again", action="store_true", help="judge also what is known")
    add("--user", type=int, help="number under which code runs (as root)")
    grade.set_defaults(run=run_grade)
    return parser


def run_release(options: argparse.Namespace) -> None:
    """Make the notebooks that students get."""
    import tempfile

    from tools.grading.gradebook import Course, write

    assignments = find_assignments(options.names)
    with tempfile.TemporaryDirectory() as folder:
        course = Course(Path(folder))
        for assignment in assignments:
            notebook = course.release(assignment, Hidden())
            name = assignment.name
            path = options.to / name / f"{name}.ipynb"
            write(notebook, path)
            points = sum(assignment.points.values())
            print(f"{path}: {points} points")


def run_grade(options: argparse.Namespace) -> None:
    """Grade the submissions of a class."""
    from dataclasses import replace

    from tools.grading import pages
    from tools.grading.grade import Policy, grade_class, read_records
    from tools.grading.gradebook import Course

    if not 0 <= options.partial <= 1:
        raise CourseError(
            f"--partial {options.partial} is not a share from 0 to 1"
        )
    if options.user is not None and os.geteuid() != 0:
        raise CourseError(
            f"--user {options.user} can be had by root only: use it in a "
            "container"
        )
    known = [assignment.name for assignment in find_assignments()]
    wanted = [a.name for a in find_assignments(options.names)]
    found = find_submissions(
        options.submissions, known, wanted if options.names else ()
    )
    policy = Policy(
        Hidden(options.seed, options.drawn),
        Limits(options.seconds, int(options.memory * 2**30)),
        options.partial,
        options.user,
    )
    course = Course(options.to)
    course.write_settings(ROOT)
    names = {s.assignment for s in found.submissions}
    names |= {r.assignment for r in read_records(course.folder)} & {*known}
    assignments = [
        replace(a, release=course.release(a, policy.hidden))
        for a in find_assignments(sorted(names))
    ]
    marked = grade_class(
        course,
        assignments,
        found.submissions,
        policy,
        options.again,
        say=lambda line: print(line, flush=True),
    )
    pages.write_all(course.folder, assignments, marked)
    for path in found.ignored:
        print(f"not graded, belongs to no assignment: {path}")
    waiting = sum(m.waiting for one in marked for m in one.marks.values())
    print(
        f"\nMarks: {options.to / pages.MARKS}; the class: "
        f"{options.to / pages.REPORT}; for students: "
        f"{options.to / pages.FEEDBACK}{os.sep}"
    )
    if waiting:
        print(
            f"{waiting} answers wait for marks by hand: read "
            f"{options.to / pages.ANSWERS}, fill in "
            f"{options.to / 'manual_marks.csv'}, and grade again"
        )


if __name__ == "__main__":
    sys.exit(main())
