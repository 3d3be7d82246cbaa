"""Whose file it is, and for what; the list of the class."""

import copy
import json
import os
from datetime import datetime

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_exercises.path import parts
from course_grading.course import Result
from course_grading.roster import read_roster
from course_grading.submissions import (
    find_submissions,
    read_submission,
    student_id,
)
from course_grading.tables import write_tables
from tests.grading.class_of_twenty import read, written
from transformer_course.errors import CourseError

NAMES = ["06_masks", "08_add_and_norm"]
MOODLE = ["First name", "Last name", "ID number", "Email address"]
CLASS = [
    ("Anna", "Müller", "s1", "anna@x.invalid"),
    ("Seán", "O'Neil", "s2", "sean@x.invalid"),
    ("太郎", "山田", "s3", "taro@x.invalid"),
]
MINE = "Anna Müller_51007_assignsubmission_file"


@pytest.fixture
def roster(tmp_path):
    """A class of three, as Moodle exports its participants."""
    return read_roster(written(tmp_path / "class.csv", MOODLE, CLASS))


def found(folder, places, roster=None, names=NAMES):
    """What is found where these files are."""
    for place in places:
        path = folder / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return find_submissions(folder / "in", names, roster)


@pytest.mark.parametrize(
    "place",
    [
        "anna/06_masks.ipynb",
        "anna/06_masks/06_masks.ipynb",
        "anna/06_masks (2).ipynb",
        "anna_06_masks.ipynb",
    ],
)
def test_the_usual_layouts_of_folders(tmp_path, place):
    assert found(tmp_path, [place]).files.keys() == {("anna", "06_masks")}


@pytest.mark.parametrize(
    ("place", "student"),
    [
        ("Anna Müller_51007_assignsubmission_file_/06_masks.ipynb", "s1"),
        ("Seán O_Neil_51008_assignsubmission_file_06_masks.ipynb", "s2"),
        ("山田太郎_51009_assignsubmission_file_/06_masks.ipynb", "s3"),
        ("mülleranna_LATE_881_9000001_06_masks-1.ipynb", "s1"),
        ("ANNA@x.invalid/06_masks.ipynb", "s1"),
        ("s3_06_masks.ipynb", "s3"),
        *(
            (f"{name}_{other}_06_masks.ipynb", "s1")
            for name in ("muelleranna_51007_9000001", MINE)
            for other in ("b_51008_9000_x", "B_51008_assignsubmission_file")
        ),
    ],
)
def test_platforms_names_lead_to_the_student(tmp_path, place, student):
    """Also where a student's name of the file looks like another's."""
    rows = [(*one, f"Participant {51_007 + n}") for n, one in enumerate(CLASS)]
    path = written(tmp_path / "class.csv", [*MOODLE, "Identifier"], rows)
    roster = read_roster(path)
    found_here = found(tmp_path, [place], roster)
    assert found_here.files.keys() == {(student, "06_masks")}
    assert not found_here.notes


def test_the_platform_s_number_counts_more_than_the_name(tmp_path):
    columns = ["Identifier", "Full name", "ID number", "Grade"]
    twins = [
        ("Participant 7", "Li Li", "a", ""),
        ("Participant 8", "Li Li", "b", ""),
    ]
    roster = read_roster(written(tmp_path / "w.csv", columns, twins))
    assert roster.kind == "worksheet"
    assert roster.find("Li Li", "8").id == "b"
    assert roster.find("Li Li") is None


def test_the_newest_counts_and_the_rest_is_reported(tmp_path, roster):
    places = ["s1/06_masks.ipynb", "s1/new/06_masks.ipynb", "s2/notes.ipynb"]
    found(tmp_path, places, roster)
    os.utime(tmp_path / "in" / places[0], (1, 1))
    here = found(tmp_path, ["eve/06_masks.ipynb", "s3/work.py"], roster)
    assert here.files["s1", "06_masks"].parent.name == "new"
    notes = "\n".join(here.notes)
    for text in (
        f"older, not graded: {tmp_path / 'in' / places[0]}",
        "not graded: s2/notes.ipynb has the name of no assignment",
        "no notebook: s3",
        "not in the class list: eve",
    ):
        assert text in notes


def test_hidden_files_and_links_are_left_alone(tmp_path):
    here = found(
        tmp_path,
        ["a/06_masks.ipynb", "a/.ipynb_checkpoints/06_masks.ipynb"],
    )
    (tmp_path / "in" / "b").mkdir()
    (tmp_path / "in" / "b" / "06_masks.ipynb").symlink_to(
        tmp_path / "in" / "a" / "06_masks.ipynb"
    )
    assert found(tmp_path, []).files == here.files


def test_ids_are_fit_for_folders():
    assert student_id("../a/b*") == "_a_b_"
    assert student_id("山田 3") == "山田 3"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (["Student", "Age"], [("Anna", 20)]),
        (MOODLE, [CLASS[0], CLASS[0]]),
        (MOODLE, []),
    ],
)
def test_a_class_list_needs_ids_of_their_own(tmp_path, columns, rows):
    with pytest.raises(CourseError, match="needs a row for each student"):
        read_roster(written(tmp_path / "c.csv", columns, rows))


JAPANESE = """姓,名,IDナンバー,メールアドレス
山田,太郎,s3,taro@x.invalid
"""
PLATFORMS = {
    "Moodle in Japanese": (JAPANESE.encode(), "list", "山田 太郎"),
    "from a Japanese Windows": (JAPANESE.encode("cp932"), "list", "山田 太郎"),
    "from Excel": (
        JAPANESE.replace(",", "\t").encode("utf-16"),
        "list",
        "山田 太郎",
    ),
    "full-width letters": (
        JAPANESE.replace("ID", "ＩＤ").replace("\n", "\r\n").encode(),
        "list",
        "山田 太郎",
    ),
    "a worksheet in Japanese": (
        "ID,フルネーム,IDナンバー,メールアドレス,評点,最大評点\n"
        "参加者 51007,山田 太郎,s3,taro@x.invalid,-,9\n".encode("utf-8-sig"),
        "worksheet",
        "山田 太郎",
    ),
    "a table of one's own": (
        "学籍番号,氏名,備考,\ns3,山田太郎,,,\n".encode("cp932"),
        "list",
        "山田太郎",
    ),
    "semicolons": (
        "Name;E-Mail;Student ID\nRenée;r@x.invalid;s3\n".encode("cp1252"),
        "list",
        "Renée",
    ),
    "Canvas, first names apart": (
        b"LastName,FirstName,ID,SIS Login ID,Section,06_masks (7)\n"
        b"    Points Possible,,,,,9\nDoe,Jane,s3,jd,A,3\nStudent,Test,2,x,,\n",
        "canvas",
        "Doe Jane",
    ),
    "Canvas, semicolons": (
        "Student;ID;SIS Login ID;Section\nDoe, Jane;s3;jd;A\n".encode(
            "utf-8-sig"
        ),
        "canvas",
        "Jane Doe",
    ),
}


@pytest.mark.parametrize(
    ("content", "kind", "name"), PLATFORMS.values(), ids=PLATFORMS
)
def test_class_lists_as_platforms_and_excel_write_them(
    tmp_path, content, kind, name
):
    path = tmp_path / "c.csv"
    path.write_bytes(content)
    roster = read_roster(path)
    (person,) = roster.people
    assert (roster.kind, person.name, person.id) == (kind, name, "s3")


def test_a_worksheet_comes_back_with_its_own_columns(tmp_path):
    path = tmp_path / "c.csv"
    path.write_bytes(PLATFORMS["a worksheet in Japanese"][0])
    roster = read_roster(path)
    assert roster.find("nobody", "51007").id == "s3"
    results = {"06_masks": [Result("s3", "x", 2.0, 2.0, False, None)]}
    *_, written_to = write_tables(tmp_path, results, roster)
    (row,) = read(written_to)
    assert (row["評点"], row["ID"]) == ("2", "参加者 51007")


def test_an_unknown_class_list_is_told_its_columns(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("Vorname;Nachname;ID-Nummer\nAnna;Berg;1\n")
    with pytest.raises(CourseError, match="Vorname, Nachname, ID-Nummer"):
        read_roster(path)


def changed(**keys):
    """A notebook whose code cells have other keys than the format's."""
    cell = dict(new_code_cell("mine", id="x")) | keys
    return {
        "nbformat": 4,
        "nbformat_minor": 4,
        "metadata": {},
        "cells": [cell],
    }


NOTEBOOK = json.dumps(changed(source=["# é 時\n", "mine"]), ensure_ascii=False)
SIGNS = ("é 時", "é ", " 時")
FILES = {
    "UTF-16": NOTEBOOK.encode("utf-16"),
    "UTF-16 without a mark": NOTEBOOK.encode("utf-16-le"),
    "with a mark": NOTEBOOK.encode("utf-8-sig"),
    "Latin-1": NOTEBOOK.replace("時", "").encode("latin-1"),
    "a Japanese Windows": NOTEBOOK.replace("é", "").encode("cp932"),
    "an id too early": NOTEBOOK.encode(),
    "without outputs": json.dumps(changed(outputs=None)).encode(),
    "without metadata": json.dumps(changed(metadata={}, more=1)).encode(),
    "an odd output": json.dumps(
        changed(outputs=[{"output_type": "?"}])
    ).encode(),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_notebooks_as_programs_write_them(tmp_path, content):
    path = tmp_path / "06_masks.ipynb"
    path.write_bytes(content)
    role = {"grade_id": "x", "solution": True}
    given = new_code_cell("stub", id="x", metadata={"nbgrader": role})
    notebook = read_submission(path, new_notebook(cells=[given]))
    (cell,) = notebook.cells
    assert cell.source in ("mine", *(f"# {s}\nmine" for s in SIGNS))
    assert cell.metadata.nbgrader == role
    nbformat.validate(notebook)


def test_a_notebook_of_format_3_keeps_its_answers(tmp_path):
    role = {"grade_id": "x", "solution": True}
    cells = [
        new_code_cell("mine", id="x", metadata={"nbgrader": role}),
        new_markdown_cell(
            "# words", id="y", metadata={"nbgrader": role | {"grade_id": "y"}}
        ),
    ]
    notebook = new_notebook(cells=copy.deepcopy(cells))
    old = nbformat.convert(notebook, 3)
    path = tmp_path / "06_masks.ipynb"
    path.write_text(nbformat.writes(old, version=3))
    release = new_notebook(cells=cells)
    found = read_submission(path, release).cells
    assert [cell.source for cell in found] == ["mine", "# words"]
    assert [cell.metadata.nbgrader.grade_id for cell in found] == ["x", "y"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "\x00", '{"cells": 3}', NOTEBOOK[:99]]
)
def test_a_file_that_is_no_notebook_becomes_one_that_says_so(tmp_path, text):
    path = tmp_path / "06_masks.ipynb"
    path.write_text(text)
    role = {"grade_id": "x", "solution": True}
    given = new_code_cell("stub", id="x", metadata={"nbgrader": role})
    notebook = read_submission(path, new_notebook(cells=[given]))
    note, cell = notebook.cells
    assert "cannot be read as a notebook" in note.source
    assert cell.metadata.nbgrader == role
    nbformat.validate(notebook)


HOSTILE = {
    "half a character": changed(source="\ud800", id="\ud800"),
    "a list for a name": changed(metadata={"nbgrader": {"grade_id": ["x"]}}),
    "a number for pictures": changed(cell_type="markdown", attachments=5),
    "deep pictures": changed(
        cell_type="markdown",
        attachments={"a": json.loads("[" * 900 + "]" * 900)},
    ),
    "a picture that is code": changed(
        cell_type="markdown",
        attachments={"a\ud800": {'image/png" onerror="x': "AAAA"}},
    ),
    "text that takes hours": changed(
        cell_type="markdown", source="\\begin{a}" * 100_000
    ),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_no_notebook_keeps_the_class_from_its_marks(tmp_path, content):
    content["cells"] *= 30
    path = tmp_path / "06_masks.ipynb"
    path.write_text(json.dumps(content))
    notebook = read_submission(path, new_notebook())
    nbformat.validate(notebook)
    text = nbformat.writes(notebook).encode()
    assert len(text) < 600_000 and b"onerror" not in text


def test_a_file_s_name_may_hold_what_no_text_does(tmp_path):
    folder = tmp_path / "in" / "a"
    folder.mkdir(parents=True)
    for number in (1, 2):
        path = folder / os.fsdecode(b"06_masks_\x8a%d.ipynb" % number)
        path.write_text("no notebook")
    here = found(tmp_path, [])
    (path,) = here.files.values()
    text = (
        "".join(here.notes)
        + read_submission(path, new_notebook()).cells[0].source
    )
    assert "06_masks_?" in text.encode().decode()


def test_roles_come_from_the_release(tmp_path):
    role = {"grade_id": "x", "solution": True, "points": 1}
    given = new_code_cell("stub", id="x", metadata={"nbgrader": role})
    forged = {"grade_id": "x", "points": 100}
    cells = [
        new_code_cell("mine", metadata={"nbgrader": forged}),
        new_code_cell("more", metadata={"nbgrader": "odd"}),
    ]
    path = tmp_path / "06_masks.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    found = read_submission(path, new_notebook(cells=[given])).cells
    assert [cell.source for cell in found] == ["mine", "more"]
    assert found[0].metadata.nbgrader == role
    assert "nbgrader" not in found[1].metadata


def test_a_cell_whose_type_was_changed_is_code_again(tmp_path):
    role = {"grade_id": "x", "solution": True}
    given = new_code_cell("stub", id="x", metadata={"nbgrader": role})
    path = tmp_path / "06_masks.ipynb"
    nbformat.write(
        new_notebook(cells=[new_markdown_cell("a <b", id="x")]), path
    )
    (found,) = read_submission(path, new_notebook(cells=[given])).cells
    assert (found.cell_type, found.source) == ("code", "a <b")
    assert found.metadata.nbgrader == role


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("1 < 2 <script>x</script>", "1 < 2 &lt;script>x&lt;/script>"),
        ("[x](&#106;avascript:y)", "[x] (&#106;avascript:y)"),
        ("[x]\n\n[x]: javascript:y", "[x]\n\n[x] : javascript:y"),
        ("![x](attachment:gone.png)", "![x](missing:gone.png)"),
        ("[x](https://y) [x](#z)", "[x](https://y) [x](#z)"),
    ],
)
def test_an_answer_runs_no_script_where_it_is_read(tmp_path, answer, shown):
    path = tmp_path / "06_masks.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell(answer)]), path)
    (cell,) = read_submission(path, new_notebook()).cells
    assert cell.source == shown


def test_what_came_late_is_named(tmp_path):
    places = ["anna_06_masks.ipynb", "ben_LATE_12_345_06_masks.ipynb"]
    submissions = found(tmp_path, [*places, "cara_06_masks.ipynb"])
    os.utime(tmp_path / "in" / places[0], (0, 0))
    os.utime(tmp_path / "in" / places[1], (0, 0))
    due = datetime.fromisoformat("2020-01-01 12:00").astimezone()
    ben, cara = submissions.late(due)
    assert ben.startswith("late: ben 12") and cara.startswith("late: cara")
    assert submissions.late(None) == [ben]


def test_a_file_of_ones_own_becomes_cells(tmp_path):
    """One part is no Python, which costs that part only."""
    path = found(
        tmp_path, ["anna/my_transformer.py"], names=["my_transformer"]
    ).files["anna", "my_transformer"]
    text = parts.solution_text().replace("def bleu(", "def bleu((")
    path.write_text(text.replace("\nPAD,", "\nprint('hello')\nPAD,"))
    notebook = read_submission(path, new_notebook())
    cells = {cell.id: cell.source for cell in notebook.cells}
    assert set(parts.NAMES) <= set(cells)
    assert cells["causal_mask"].startswith("def causal_mask(length: int)")
    assert "hello" in cells["others-0"] and "import torch" in cells["others-0"]
    assert all(line[0] == "#" for line in cells["bleu"].splitlines())
    names = {}
    exec("\n".join(cells.values()), names)
    assert callable(names["main"])  # not called
