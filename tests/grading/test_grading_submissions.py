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
from tests.grading.class_of_eight import read, written
from transformer_course.errors import CourseError

NAMES = ["06_masks", "08_add_and_norm"]
MOODLE = ["First name", "Last name", "ID number", "Email address"]
CLASS = [
    ("Anna", "Müller", "s1", "anna@x.invalid"),
    ("Seán", "O'Neil", "s2", "sean@x.invalid"),
    ("太郎", "山田", "s3", "taro@x.invalid"),
]
MINE = "Anna Müller_51007_assignsubmission_file"


# --- whose -------------------------------------------------------------------


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
    here = found(tmp_path, [place], read_roster(path))
    assert here.files.keys() == {(student, "06_masks")}
    assert not here.notes


def test_the_platform_s_number_counts_more_than_the_name(tmp_path):
    columns = ["Identifier", "Full name", "ID number", "Grade"]
    twins = [(f"Participant {n}", "Li Li", f"s{n}", "") for n in (7, 8)]
    roster = read_roster(written(tmp_path / "w.csv", columns, twins))
    assert roster.find("Li Li", "8").id == "s8"
    assert roster.find("Li Li") is None


def test_the_newest_counts_and_the_rest_is_reported(tmp_path):
    roster = read_roster(written(tmp_path / "class.csv", MOODLE, CLASS))
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
    places = ["a/06_masks.ipynb", "a/.ipynb_checkpoints/06_masks.ipynb"]
    here = found(tmp_path, places)
    (tmp_path / "in/b").mkdir()
    (tmp_path / "in/b/06_masks.ipynb").symlink_to(tmp_path / "in" / places[0])
    assert found(tmp_path, []).files == here.files


def test_ids_are_fit_for_folders():
    assert student_id("../a/b*") == "_a_b_"
    assert student_id("山田 3") == "山田 3"


def test_what_came_late_is_named(tmp_path):
    places = ["anna_06_masks.ipynb", "ben_LATE_12_345_06_masks.ipynb"]
    submissions = found(tmp_path, [*places, "cara_06_masks.ipynb"])
    for place in places:
        os.utime(tmp_path / "in" / place, (0, 0))
    due = datetime.fromisoformat("2020-01-01 12:00").astimezone()
    ben, cara = submissions.late(due)
    assert ben.startswith("late: ben 12") and cara.startswith("late: cara")
    assert submissions.late(None) == [ben]


# --- the list of the class ---------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (["Vorname", "Alter"], [("Anna", 20)], "its columns are Vorname"),
        (MOODLE, [CLASS[0], CLASS[0]], "an ID number or e-mail address of it"),
        (MOODLE, [], "needs a row for each student"),
    ],
)
def test_a_class_list_needs_ids_of_their_own(tmp_path, columns, rows, said):
    with pytest.raises(CourseError, match=said):
        read_roster(written(tmp_path / "c.csv", columns, rows))


TARO = "姓,名,IDナンバー,メールアドレス\n山田,太郎,s3,taro@x.invalid\n"
WORKSHEET = """ID,フルネーム,IDナンバー,メールアドレス,評点,最大評点
参加者 51007,山田 太郎,s3,taro@x.invalid,-,9
"""
OWN = "学籍番号,氏名,備考,\ns3,山田 太郎,,,\n"
GERMAN = "Name;E-Mail;Student ID\nRenée;r@x.invalid;s3\n"
CANVAS = """LastName,FirstName,ID,SIS Login ID,Section,06_masks (7)
    Points Possible,,,,,9
Doe,Jane,s3,jd,A,3
Student,Test,2,x,,
"""
CANVAS_NAMES = "Student;ID;SIS Login ID;Section\nDoe, Jane;s3;jd;A\n"


@pytest.mark.parametrize(
    ("text", "encoding", "kind", "name"),
    [
        (TARO, "utf-8", "list", "山田 太郎"),
        (TARO, "cp932", "list", "山田 太郎"),
        (TARO.replace(",", "\t"), "utf-16", "list", "山田 太郎"),  # Excel
        (TARO.replace("ID", "ＩＤ"), "utf-8", "list", "山田 太郎"),
        (TARO.replace("\n", "\r\n"), "utf-8", "list", "山田 太郎"),
        (WORKSHEET, "utf-8-sig", "worksheet", "山田 太郎"),
        (OWN, "cp932", "list", "山田 太郎"),
        (GERMAN, "cp1252", "list", "Renée"),
        (CANVAS, "utf-8", "canvas", "Doe Jane"),
        (CANVAS_NAMES, "utf-8-sig", "canvas", "Jane Doe"),
    ],
)
def test_class_lists_as_platforms_and_excel_write_them(
    tmp_path, text, encoding, kind, name
):
    path = tmp_path / "c.csv"
    path.write_bytes(text.encode(encoding))
    roster = read_roster(path)
    (person,) = roster.people
    assert (roster.kind, person.name, person.id) == (kind, name, "s3")


def test_a_worksheet_comes_back_with_its_own_columns(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text(WORKSHEET, "utf-8")
    roster = read_roster(path)
    assert roster.find("nobody", "51007").id == "s3"
    results = {"06_masks": [Result("s3", "x", 2.0, 2.0, False, None)]}
    *_, written_to = write_tables(tmp_path, results, roster)
    (row,) = read(written_to)
    assert (row["評点"], row["ID"]) == ("2", "参加者 51007")


# --- what is in the file -----------------------------------------------------


ROLE = {"grade_id": "x", "solution": True}
GIVEN = new_code_cell("stub", id="x", metadata={"nbgrader": ROLE})


def handed_in(folder, content, *given):
    """A notebook as it is graded; ``given`` are the cells of the release."""
    path = folder / "06_masks.ipynb"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    notebook = read_submission(path, new_notebook(cells=[*given]))
    nbformat.validate(notebook)
    return notebook


def cells(*every):
    """A notebook with these cells, as a file."""
    return nbformat.writes(new_notebook(cells=[*every]))


def changed(**keys):
    """A file whose one code cell has other keys than the format's."""
    cell = dict(new_code_cell("mine", id="x")) | keys
    about = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}}
    return about | {"cells": [cell]}


NOTEBOOK = json.dumps(changed(source=["# é 時\n", "mine"]), ensure_ascii=False)
SIGNS = ("é 時", "é ", " 時")
FILES = {
    "UTF-16": NOTEBOOK.encode("utf-16"),
    "UTF-16 without a mark": NOTEBOOK.encode("utf-16-le"),
    "with a mark": NOTEBOOK.encode("utf-8-sig"),
    "Latin-1": NOTEBOOK.replace("時", "").encode("latin-1"),
    "a Japanese Windows": NOTEBOOK.replace("é", "").encode("cp932"),
    "an id too early": NOTEBOOK,
    "without outputs": json.dumps(changed(outputs=None)),
    "without metadata": json.dumps(changed(metadata={}, more=1)),
    "an odd output": json.dumps(changed(outputs=[{"output_type": "?"}])),
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_notebooks_as_programs_write_them(tmp_path, content):
    (cell,) = handed_in(tmp_path, content, GIVEN).cells
    assert cell.source in ("mine", *(f"# {s}\nmine" for s in SIGNS))
    assert cell.metadata.nbgrader == ROLE


def test_a_notebook_of_format_3_keeps_its_answers(tmp_path):
    words = new_markdown_cell("# words", id="y")
    words.metadata["nbgrader"] = ROLE | {"grade_id": "y"}
    release = [GIVEN, words]
    old = nbformat.convert(new_notebook(cells=copy.deepcopy(release)), 3)
    text = nbformat.writes(old, version=3)
    read = handed_in(tmp_path, text.replace("stub", "mine"), *release).cells
    assert [cell.source for cell in read] == ["mine", "# words"]
    assert [cell.metadata.nbgrader.grade_id for cell in read] == ["x", "y"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", "\x00", '{"cells": 3}', NOTEBOOK[:99]]
)
def test_a_file_that_is_no_notebook_becomes_one_that_says_so(tmp_path, text):
    note, cell = handed_in(tmp_path, text, GIVEN).cells
    assert "cannot be read as a notebook" in note.source
    assert cell.metadata.nbgrader == ROLE


def with_pictures(attachments):
    """A text of a student's that shows pictures."""
    return changed(cell_type="markdown", attachments=attachments)


HOSTILE = {
    "half a character": changed(source="\ud800", id="\ud800"),
    "a list for a name": changed(metadata={"nbgrader": {"grade_id": ["x"]}}),
    "a number for pictures": with_pictures(5),
    "deep pictures": with_pictures(
        {"a": json.loads("[" * 900 + "]" * 900)},
    ),
    "a picture that is code": with_pictures(
        {"a\ud800": {'image/png" onerror="x': "AAAA"}},
    ),
    "text that takes hours": changed(
        cell_type="markdown", source="\\begin{a}" * 100_000
    ),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_no_notebook_keeps_the_class_from_its_marks(tmp_path, content):
    content["cells"] *= 30
    text = nbformat.writes(handed_in(tmp_path, json.dumps(content))).encode()
    assert len(text) < 600_000 and b"onerror" not in text


def test_a_file_s_name_may_hold_what_no_text_does(tmp_path):
    names = [os.fsdecode(b"a/06_masks_\x8a%d.ipynb" % n) for n in (1, 2)]
    here = found(tmp_path, names)
    (path,) = here.files.values()
    note = read_submission(path, new_notebook()).cells[0].source
    assert "06_masks_?" in ("".join(here.notes) + note).encode().decode()


def test_roles_and_types_come_from_the_release(tmp_path):
    forged = {"grade_id": "x", "points": 100}
    mine, more = handed_in(
        tmp_path,
        cells(
            new_markdown_cell("a <b", metadata={"nbgrader": forged}),
            new_code_cell("more", metadata={"nbgrader": "odd"}),
        ),
        GIVEN,
    ).cells
    assert (mine.cell_type, mine.source) == ("code", "a <b")
    assert mine.metadata.nbgrader == ROLE
    assert more.source == "more" and "nbgrader" not in more.metadata


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
    (cell,) = handed_in(tmp_path, cells(new_markdown_cell(answer))).cells
    assert cell.source == shown


def test_a_file_of_ones_own_becomes_cells(tmp_path):
    """One part is no Python, which costs that part only."""
    path = tmp_path / "my_transformer.py"
    text = parts.solution_text().replace("def bleu(", "def bleu((")
    path.write_text(text.replace("\nPAD,", "\nprint('hello')\nPAD,"))
    notebook = read_submission(path, new_notebook())
    sources = {cell.id: cell.source for cell in notebook.cells}
    assert set(parts.NAMES) <= set(sources)
    assert sources["causal_mask"].startswith("def causal_mask(length: int)")
    others = sources["others-0"]
    assert "hello" in others and "import torch" in others
    assert all(line[0] == "#" for line in sources["bleu"].splitlines())
    names = {}
    exec("\n".join(sources.values()), names)
    assert callable(names["main"])  # not called
