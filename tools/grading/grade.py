"""A class's submissions, from files to marks.

What was found out about a submission is kept in ``records/``, and marks in
nbgrader's ``gradebook.db``; every table and page is made from these two. So a
second run judges only what is new, and never touches a mark given by hand.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.grading.answers import (
    Answers,
    Unreadable,
    answers_in,
    read_notebook,
    restored,
)
from tools.grading.assignment import Assignment, Hidden, test_cell
from tools.grading.by_hand import apply_marks_by_hand
from tools.grading.gradebook import RECORDS, Course, Mark, record_path
from tools.grading.judge import Judge
from tools.grading.oddities import odd_names
from tools.grading.submissions import Submission
from tools.refresh_outputs import ROOT
from transformer_course import files
from transformer_course.exercises.engine.exercise import Exercise
from transformer_course.exercises.engine.verdict import Verdict
from transformer_course.exercises.process import Limits

EXERCISES = ROOT / "transformer_course" / "exercises"


@dataclass(frozen=True)
class Policy:
    """How marks come about.

    Args:
        hidden: the inputs that only marking uses.
        limits: what the code of one exercise may take.
        partial: the share of the points for code that runs, and makes one
            mistake that is in the catalogue.
        user: whose number students' code runs under.
    """

    hidden: Hidden
    limits: Limits
    partial: float = 0.0
    user: int | None = None

    def points(self, verdict: Verdict, exercise: Exercise) -> float:
        """All for correct code, a share for a known mistake, else none."""
        share = {"correct": 1.0, "misconception": self.partial}
        return exercise.points * share.get(verdict.kind, 0.0)


@dataclass(frozen=True)
class Tried:
    """The verdict on one exercise of one student."""

    exercise: str
    points: float
    of: int
    kind: str
    mistake: str
    text: str
    code: str = ""


@dataclass(frozen=True)
class Record:
    """What was found out about one submission.

    Args:
        student: as the lecturer's folder calls them.
        student_id: the same, fit for the name of a folder.
        assignment: its name.
        status: ``graded``, ``unreadable`` or ``missing``.
        file: what was handed in.
        fingerprint: of the file, and of all that marks depend on.
        tried: the exercises.
        answers: the answers in words, by the name of the question.
        notes: what a lecturer should know.
    """

    student: str
    student_id: str
    assignment: str
    status: str
    file: str = ""
    fingerprint: str = ""
    tried: tuple[Tried, ...] = ()
    answers: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Keep it, with what nbgrader is to be told."""
        content = asdict(self) | {
            "cells": {
                test_cell(tried.exercise): {
                    "points": tried.points,
                    "text": tried.text,
                }
                for tried in self.tried
            }
        }
        path = record_path(folder, self.student_id, self.assignment)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False)
        files.write_whole(path, text + "\n")

    @staticmethod
    def read(path: Path) -> "Record":
        """As it was written."""
        content = json.loads(path.read_text(encoding="utf-8"))
        del content["cells"]
        content["tried"] = tuple(Tried(**one) for one in content["tried"])
        content["notes"] = tuple(content["notes"])
        return Record(**content)


@dataclass(frozen=True)
class Marked:
    """A record, with the marks that hold."""

    record: Record
    marks: dict[str, Mark]


def grade_class(
    course: Course,
    assignments: Sequence[Assignment],
    submissions: Sequence[Submission],
    policy: Policy,
    again: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> list[Marked]:
    """Grade what is new, and give the marks of all.

    Args:
        course: the folder of the grading.
        assignments: those that are graded, as they are known there.
        submissions: one for each student and assignment.
        policy: how marks come about.
        again: judge also what has been judged before.
        say: told a line for each submission.
    """
    known = {assignment.name: assignment for assignment in assignments}
    ids = student_ids([s.student for s in submissions], course.folder)
    with Judge(policy.hidden, policy.limits, policy.user) as judge:
        for submission in submissions:
            assignment = known[submission.assignment]
            grader = Grader(course, assignment, judge, policy)
            say(grader.grade(submission, ids[submission.student], again))
    records = read_records(course.folder)
    apply_marks_by_hand(course, records)
    return [
        Marked(record, marks_of(course, record))
        for record in read_records(course.folder)
    ]


@dataclass(frozen=True)
class Grader:
    """Grades the submissions for one assignment."""

    course: Course
    assignment: Assignment
    judge: Judge
    policy: Policy

    def grade(self, submission: Submission, student: str, again: bool) -> str:
        """Grade one submission, unless it is known; a line that says so."""
        path = record_path(self.course.folder, student, submission.assignment)
        old = Record.read(path) if path.is_file() else None
        line = f"{submission.assignment}  {submission.student}: "
        if submission.path is None:
            if old is None:
                self._missing(submission, student).write(self.course.folder)
                return line + "nothing handed in"
            return line + f"{old.status} before; nothing new"
        mark = _fingerprint(submission.path, self.assignment, self.policy)
        if old is not None and old.fingerprint == mark and not again:
            return line + "as before"
        record, notebook = self._look_at(submission, student)
        record = replace(record, fingerprint=mark)
        record.write(self.course.folder)
        self.course.mark(record.assignment, student, notebook)
        if old is not None:
            same = {
                name
                for name, text in record.answers.items()
                if old.answers.get(name) == text
            }
            tests = {test_cell(tried.exercise) for tried in record.tried}
            self.course.settle(record.assignment, student, same | tests)
        points = sum(tried.points for tried in record.tried)
        of = sum(tried.of for tried in record.tried)
        return line + f"{points:g} of {of} points for code"

    def _look_at(
        self, submission: Submission, student: str
    ) -> tuple[Record, NotebookNode]:
        """What is in a file, and the notebook that nbgrader gets of it."""
        record = Record(
            submission.student,
            student,
            submission.assignment,
            "graded",
            submission.path.name,
            notes=submission.notes,
        )
        try:
            notebook = read_notebook(submission.path)
        except Unreadable as error:
            none = self._untried("unreadable", str(error))
            record = replace(
                record,
                status="unreadable",
                tried=none,
                notes=(*record.notes, str(error)),
            )
            return record, restored(self.assignment, Answers())
        answers = answers_in(notebook, self.assignment)
        tried = tuple(
            self._try(exercise, answers, student)
            for exercise in self.assignment.exercises
        )
        record = replace(
            record,
            tried=tried,
            answers=answers.texts,
            notes=(*record.notes, *answers.notes),
        )
        return record, restored(self.assignment, answers)

    def _try(
        self, exercise: Exercise, answers: Answers, student: str
    ) -> Tried:
        program = answers.programs[exercise.name]
        verdict = self.judge.verdict(exercise.name, program)
        if program is not None and (used := odd_names(program)):
            answers.notes.append(
                f"{exercise.name}: its code names {', '.join(used)}"
            )
        return Tried(
            exercise.name,
            self.policy.points(verdict, exercise),
            exercise.points,
            verdict.kind,
            verdict.mistake,
            verdict.text,
            program.cell if program else "",
        )

    def _missing(self, submission: Submission, student: str) -> Record:
        return Record(
            submission.student,
            student,
            submission.assignment,
            "missing",
            tried=self._untried("missing", "Nothing was handed in."),
        )

    def _untried(self, kind: str, text: str) -> tuple[Tried, ...]:
        return tuple(
            Tried(e.name, 0.0, e.points, kind, "", f"{e.name}: {text}")
            for e in self.assignment.exercises
        )


def _fingerprint(path: Path, assignment: Assignment, policy: Policy) -> str:
    """Changes with the submission, the tests, and how marks come about."""
    digest = hashlib.sha256(path.read_bytes())
    digest.update(repr((policy, assignment.name, assignment.points)).encode())
    for module in sorted(EXERCISES.glob("*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def student_ids(students: Sequence[str], folder: Path) -> dict[str, str]:
    """Names that are fit for folders, for nbgrader, and for a pattern.

    Two students whose names come out the same are told apart.
    """
    taken = {r.student_id: r.student for r in read_records(folder)}
    ids: dict[str, str] = {}
    for student in dict.fromkeys(students):
        plain = re.sub(r"[^\w.@ -]", "_", student).strip(" .") or "_"
        if taken.setdefault(plain, student) != student:
            plain += "-" + hashlib.sha256(student.encode()).hexdigest()[:8]
            taken[plain] = student
        ids[student] = plain
    return ids


def read_records(folder: Path) -> list[Record]:
    """All records of a grading, by assignment and student."""
    records = map(Record.read, (folder / RECORDS).glob("*/*.json"))
    return sorted(records, key=lambda r: (r.assignment, r.student))


def marks_of(course: Course, record: Record) -> dict[str, Mark]:
    """The marks that hold; none where nothing was handed in."""
    if record.status == "missing":
        return {}
    return course.marks(record.assignment, record.student_id)


def rows(marked: Marked, assignment: Assignment) -> Iterator[dict[str, Any]]:
    """A line of the table of marks for each exercise and question."""
    record = marked.record
    by_name = {test_cell(tried.exercise): tried for tried in record.tried}
    for cell, of in assignment.points.items():
        tried, mark = by_name.get(cell), marked.marks.get(cell)
        yield {
            "student": record.student,
            "assignment": record.assignment,
            "exercise": tried.exercise if tried else cell,
            "points": f"{mark.points if mark else 0:g}",
            "of": of,
            "verdict": _word(tried) if tried else _state(record, cell, mark),
            "misconception": (
                tried.mistake
                if tried and tried.kind == "misconception"
                else ""
            ),
            "by hand": "yes" if mark and mark.by_hand else "",
            "needs marks": "yes" if mark and mark.waiting else "",
        }


def _word(tried: Tried) -> str:
    if tried.kind in ("slip", "error", "limit") and tried.mistake:
        return f"{tried.kind}: {tried.mistake}"
    return tried.kind


def _state(record: Record, question: str, mark: Mark | None) -> str:
    """Of an answer in words."""
    if mark is None or record.status != "graded":
        return record.status
    if mark.waiting:
        return "marked before, changed since" if mark.by_hand else "to mark"
    return "marked" if mark.by_hand else "unwritten"
