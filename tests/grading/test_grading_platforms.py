"""Marks in the forms that Moodle and Canvas read. Needs no nbgrader."""

import csv

import pytest

from tests.grading import platform_class as platform
from tests.grading.grading_class import NAME, QUESTION, assignment, table
from tests.grading.platform_class import MEMBERS
from tools.grading import platforms
from tools.grading.records import Mark, Marked, Record, student
from tools.grading.roster import read_roster

POINTS = [0.0, 1.5, 9.0]


def marked(called, status="graded", points=9.0, waiting=False):
    """Marks of somebody."""
    who = student(called)
    record = Record(who.name, who.id, NAME, status)
    marks = {QUESTION: Mark(points, 9, True, waiting)}
    return Marked(record, marks if status != "missing" else {})


def written(folder, export, more=(), **options):
    """Every table of a class, whose odd members are the first few."""
    roster = read_roster(export(folder / "export.csv", **options))
    every = [
        marked(MEMBERS[0].called, waiting=True),
        marked(MEMBERS[1].called, "missing"),
        marked(MEMBERS[2].called, "failed"),
        *more,
    ]
    every += [
        marked(one.called, points=POINTS[one.number % 3])
        for one in MEMBERS[3:]
    ]
    known = {NAME: assignment()}
    said = platforms.write_class(folder, known, every, roster, [NAME])
    return list(said)


def expected(member):
    """The mark of a member as platforms shall have it."""
    return "" if member.number < 3 else f"{POINTS[member.number % 3]:g}"


@pytest.mark.parametrize(
    "export", [platform.participants, platform.worksheet, platform.gradebook]
)
def test_a_row_a_student_and_a_column_an_assignment(tmp_path, export):
    written(tmp_path, export)
    lines = table(tmp_path / platforms.CLASS)
    assert list(lines[0]) == [
        "Name",
        "ID number",
        "Email address",
        NAME,
        "Open",
    ]
    assert [(o["ID number"], o["Email address"], o[NAME]) for o in lines] == [
        (one.id, one.email, expected(one)) for one in MEMBERS
    ]
    assert [one["Open"] for one in lines[:4]] == [
        f"{NAME}: 1 answer to be marked",
        f"{NAME}: nothing handed in",
        f"{NAME}: failed, see totals.csv",
        "",
    ]


def test_who_is_not_on_the_list_is_in_the_class_and_in_no_export(tmp_path):
    written(tmp_path, platform.gradebook, more=[marked("Eva Neu 1")])
    last = table(tmp_path / platforms.CLASS)[-1]
    assert (last["Name"], last[NAME]) == ("Eva Neu 1", "9")
    assert last["Open"] == "not on the list of the class"
    text = (tmp_path / platforms.CANVAS).read_text("utf-8-sig")
    assert "Eva" not in text


def test_without_a_list_there_are_names(tmp_path):
    every = [marked("anna"), marked("ben", points=1)]
    said = platforms.write_class(tmp_path, {NAME: assignment()}, every)
    assert list(said) == []
    lines = table(tmp_path / platforms.CLASS)
    assert [(o["Name"], o[NAME]) for o in lines] == [
        ("anna", "9"),
        ("ben", "1"),
    ]
    assert not (tmp_path / platforms.CANVAS).exists()


def rows_of(path):
    """A table's rows as a platform reads them."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("there", ["", f"Week 3: {NAME} (4711)"])
def test_canvas_reads_its_table(tmp_path, there):
    """By the rules of lib/gradebook_importer.rb."""
    said = written(tmp_path, platform.gradebook, more=[], **titled(there))
    header, points, *rows = rows_of(tmp_path / platforms.CANVAS)
    # header? : what the first columns have to be
    assert "Student" in header[0] and "ID" in header[1]
    assert header[2:5] == ["SIS User ID", "SIS Login ID", "Section"]
    content = (tmp_path / platforms.CANVAS).read_bytes()
    assert content.startswith(b"Student,ID")
    assert b'""' not in content
    # all that follows is an assignment, and a score is none
    assert header[5:] == [there or NAME]
    # check_for_non_student_row, process_pp
    assert "Points Possible" in points[0]
    assert points[5] == "9"
    # process_student: by its own number
    assert [row[1] for row in rows] == [str(one.user) for one in MEMBERS]
    assert [row[5] for row in rows] == [expected(one) for one in MEMBERS]
    assert bool(said) != bool(there)
    assert all("new assignments of 06_masks" in line for line in said)


def test_canvas_keeps_the_points_of_its_own_assignment(tmp_path):
    """An upload would change them."""
    (said,) = written(
        tmp_path, platform.gradebook, assignment=NAME, maximum="100"
    )
    assert rows_of(tmp_path / platforms.CANVAS)[1][5] == "100"
    assert f"{NAME} is out of 9 points, and in Canvas out of 100" in said


def titled(title):
    """An export with an assignment, or without."""
    return {"assignment": title} if title else {}


@pytest.mark.parametrize("maximum", ["9.00", "9,00", "100.00"])
def test_moodle_reads_its_worksheet(tmp_path, maximum):
    """By the rules of mod/assign/feedback/offline/importgradeslib.php."""
    said = written(tmp_path, platform.worksheet, maximum=maximum)
    before, *given = rows_of(tmp_path / "export.csv")
    header, *rows = rows_of(tmp_path / platforms.WORKSHEET)
    assert header == before
    grade = header.index("Grade")
    for row, old, one in zip(rows, given, MEMBERS, strict=True):
        assert row[grade] == expected(one)
        # all else is as Moodle wrote it, the time of the last mark too
        assert [*row[:grade], *row[grade + 1 :]] == [
            *old[:grade],
            *old[grade + 1 :],
        ]
    assert bool(said) == (maximum == "100.00")
    assert all("in Moodle out of 100: change" in line for line in said)


def test_moodle_s_import_finds_users_and_numbers(tmp_path):
    """By those of grade/import/csv/classes/load_data.php."""
    written(tmp_path, platform.participants)
    header, *rows = rows_of(tmp_path / platforms.CLASS)
    address, mark = header.index("Email address"), header.index(NAME)
    assert {row[address] for row in rows} == {one.email for one in MEMBERS}
    assert all(row[mark] == "" or 0 <= float(row[mark]) <= 9 for row in rows)
