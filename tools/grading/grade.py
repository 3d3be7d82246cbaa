"""A class's submissions, from files to marks.

What was found out about a submission is kept in ``records/``, and marks in
nbgrader's ``gradebook.db``; every table and page is made from these two. So a
second run judges only what is new, and never touches a mark given by hand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import nbformat
from nbformat import NotebookNode

from course_exercises.engine.exercise import Exercise
from tools.grading.answers import Answers, Program, answers_in, restored
from tools.grading.assignment import Released, test_cell
from tools.grading.by_hand import apply_marks_by_hand
from tools.grading.gradebook import Course
from tools.grading.judge import Judge
from tools.grading.notebooks import Unreadable, read_cells
from tools.grading.oddities import odd_names
from tools.grading.policy import Policy
from tools.grading.records import (
    DamagedRecord,
    Marked,
    Record,
    Student,
    Tried,
    fingerprint,
    read_record,
    read_records,
    record_path,
    student,
)
from tools.grading.submissions import Submission
from tools.grading.texts import counted, one_line, readable

NOTES = 20
"""So many are kept of a submission."""
FAILED = "it could not be graded; that will be tried again"


def grade_class(
    course: Course,
    assignments: Sequence[Released],
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
    with Judge(policy.hidden, policy.limits, policy.user) as judge:
        for submission in submissions:
            assignment = known[submission.assignment]
            grader = Grader(course, assignment, judge, policy)
            say(grader.grade(submission, again))
    records = read_records(course.folder)
    apply_marks_by_hand(course, records)
    return [
        Marked(record, course.marks(record.assignment, record.student_id))
        for record in records
    ]


@dataclass(frozen=True)
class Grader:
    """Grades the submissions for one assignment."""

    course: Course
    assignment: Released
    judge: Judge
    policy: Policy

    def grade(self, submission: Submission, again: bool) -> str:
        """Grade one submission, unless it is known; a line that says so.

        Whatever is wrong with it, the others are graded all the same.
        """
        who = student(submission.student)
        old = self._known(who)
        try:
            said = self._grade(submission, who, old, again)
        except Exception as error:
            reason = f"{type(error).__name__}: {one_line(str(error))}"
            record = old or self._new(submission, who, "failed", FAILED)
            replace(
                record,
                status="failed",
                fingerprint="",
                notes=(FAILED,),
                remarks=(reason,),
            ).write(self.course.folder)
            said = f"could not be graded: {reason}"
        return f"{self.assignment.name}  {who.name}: {said}"

    def _known(self, who: Student) -> Record | None:
        try:
            path = record_path(
                self.course.folder, who.id, self.assignment.name
            )
            return read_record(path) if path.exists() else None
        except DamagedRecord:
            return None

    def _grade(
        self,
        submission: Submission,
        who: Student,
        old: Record | None,
        again: bool,
    ) -> str:
        if submission.path is None:
            return self._missing(submission, who, old)
        mark = fingerprint(
            submission.path,
            submission.path.name,
            submission.notes,
            self.policy,
            nbformat.writes(self.assignment.notebook),
        )
        if old is not None and old.fingerprint == mark and not again:
            return "as before"
        record, notebook = self._look_at(submission, who)
        self.course.mark(
            record.assignment, record.student_id, notebook, record.tried
        )
        if old is not None:
            self._settle(record, old)
        replace(record, fingerprint=mark).write(self.course.folder)
        points = sum(tried.points for tried in record.tried)
        of = sum(tried.of for tried in record.tried)
        return f"{points:g} of {counted(of, 'point')} for code"

    def _missing(
        self, submission: Submission, who: Student, old: Record | None
    ) -> str:
        path = record_path(self.course.folder, who.id, self.assignment.name)
        if old is not None:
            return f"{old.status} before; nothing new"
        if path.exists():
            return "graded before, but its record is damaged; nothing new"
        text = "Nothing was handed in."
        self._new(submission, who, "missing", text).write(self.course.folder)
        return "nothing handed in"

    def _settle(self, record: Record, old: Record) -> None:
        """Marks by hand hold, where what they were given for is the same."""
        same = {
            name
            for name, text in record.answers.items()
            if old.answers.get(name) == text
        }
        tests = {test_cell(tried.exercise) for tried in record.tried}
        self.course.settle(record.assignment, record.student_id, same | tests)

    def _look_at(
        self, submission: Submission, who: Student
    ) -> tuple[Record, NotebookNode]:
        """What is in a file, and the notebook that nbgrader gets of it."""
        try:
            cells = read_cells(submission.path)
        except Unreadable as error:
            reason = one_line(str(error))
            record = self._new(submission, who, "unreadable", reason)
            record = replace(record, notes=(*record.notes, reason))
            return record, restored(self.assignment, Answers())
        answers = answers_in(cells, self.assignment)
        tried, remarks = [], []
        for exercise in self.assignment.exercises:
            program = answers.programs[exercise.name]
            tried.append(self._try(exercise, program))
            remarks += _remarks(exercise, program)
        record = replace(
            self._new(submission, who, "graded"),
            tried=tuple(tried),
            answers={k: readable(v) for k, v in answers.texts.items()},
            loose=readable(answers.loose),
            notes=_few((*submission.notes, *answers.notes)),
            remarks=_few(remarks),
        )
        return record, restored(self.assignment, answers)

    def _try(self, exercise: Exercise, program: Program | None) -> Tried:
        verdict = self.judge.verdict(exercise.name, program)
        return Tried(
            exercise.name,
            self.policy.points(verdict, exercise),
            exercise.points,
            verdict.kind,
            one_line(verdict.mistake, 100),
            verdict.text,
            readable(program.cell) if program else "",
        )

    def _new(
        self,
        submission: Submission,
        who: Student,
        status: str,
        text: str = "",
    ) -> Record:
        """A record without a verdict; ``text`` says why of each exercise."""
        kind = "refused" if status == "failed" else status
        return Record(
            who.name,
            who.id,
            self.assignment.name,
            status,
            one_line(submission.path.name) if submission.path else "",
            tried=tuple(
                Tried(e.name, 0.0, e.points, kind, "", f"{e.name}: {text}")
                for e in self.assignment.exercises
            ),
            notes=_few(submission.notes),
        )


def _remarks(exercise: Exercise, program: Program | None) -> list[str]:
    used = odd_names(program) if program else []
    names = ", ".join(used)
    return [f"{exercise.name}: its code names {names}"] if used else []


def _few(notes: Sequence[str]) -> tuple[str, ...]:
    """The first notes, each in one line, and how many more there are."""
    left = len(notes) - NOTES
    more = (f"and {left:,} notes more",) if left > 0 else ()
    return (*(one_line(note, 300) for note in notes[:NOTES]), *more)
