"""What is taken of a notebook, whatever is in it; what becomes of names."""

import json
import os
from dataclasses import replace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from tests.grading.grading_class import (
    NAME,
    QUESTION,
    SOLUTIONS,
    assignment,
    filled,
)
from tools.exercise_notebooks import PLACE
from tools.grading import tables
from tools.grading.answers import answers_in, restored
from tools.grading.notebooks import (
    Unreadable,
    cells_of,
    read_cells,
)
from tools.grading.records import (
    DamagedRecord,
    Marked,
    Record,
    Tried,
    fingerprint,
    read_record,
    read_records,
    record_path,
    student,
)
from tools.grading.texts import fenced, one_line


@pytest.fixture(scope="module")
def given():
    """The assignment, handed out."""
    return assignment()


def stripped(notebook):
    """Without the names by which cells are known."""
    for number, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell.id = f"stripped-{number}"
    return notebook


def place_of(notebook, name):
    """The index of a cell."""
    return next(n for n, c in enumerate(notebook.cells) if c.id == name)


def taken(notebook, given):
    """What is read in a notebook."""
    return answers_in(cells_of(notebook), given)


def as_file(folder, notebook):
    """A notebook on disk, written without checks."""
    path = folder / f"{NAME}.ipynb"
    path.write_text(json.dumps(notebook))
    return path


# --- nothing that was written is dropped without a line ----------------------


@pytest.mark.parametrize("names", ["kept", "lost"])
@pytest.mark.parametrize(
    "cell",
    [
        new_markdown_cell("It copies the next word."),
        new_code_cell("It copies the next word."),
        new_code_cell("# It copies the next word."),
        new_code_cell("次の語を写すからです"),
        new_raw_cell("It copies the next word."),
    ],
    ids=["markdown", "code", "comment", "japanese", "raw"],
)
@pytest.mark.parametrize("below", ["answer", "question"])
def test_an_answer_in_a_new_cell_is_the_answer(given, cell, names, below):
    notebook = filled(given.notebook, SOLUTIONS, PLACE)
    number = place_of(notebook, QUESTION) + (below == "answer")
    notebook.cells.insert(number, cell)
    if names == "lost":
        stripped(notebook)
    found = taken(notebook, given)
    assert found.texts == {QUESTION: cell.source}
    assert not found.loose


def test_an_answer_in_the_question_s_own_cell_is_the_answer(given):
    for strip in (False, True):
        notebook = filled(given.notebook, SOLUTIONS, PLACE)
        asked = notebook.cells[place_of(notebook, QUESTION) - 1]
        asked.source += "\n\nIt copies."
        if strip:
            stripped(notebook)
        assert taken(notebook, given).texts == {QUESTION: "It copies."}


def test_an_answer_in_halves_is_whole(given):
    """JupyterLab copies a cell's names when it splits it."""
    notebook = filled(given.notebook, SOLUTIONS, "First half.")
    number = place_of(notebook, QUESTION)
    half = new_markdown_cell(
        "Second half.", metadata=notebook.cells[number].metadata
    )
    notebook.cells.insert(number + 1, half)
    found = taken(notebook, given)
    assert found.texts == {QUESTION: "First half.\n\nSecond half."}


def test_an_answer_below_the_line_that_stands_there(given):
    notebook = filled(given.notebook, SOLUTIONS, f"{PLACE}\n\nIt copies.")
    assert taken(notebook, given).texts == {QUESTION: "It copies."}


@pytest.mark.parametrize("text", [PLACE, "", " \n", f"\n{PLACE} "])
def test_what_is_not_written_is_no_answer(given, text):
    notebook = filled(given.notebook, SOLUTIONS, PLACE)
    notebook.cells[place_of(notebook, QUESTION)].source = text
    found = taken(notebook, given)
    assert found.texts == {QUESTION: ""}
    assert not found.notes


def test_text_elsewhere_is_kept_and_told(given):
    notebook = filled(given.notebook, SOLUTIONS, "It copies.")
    notebook.cells.insert(2, new_markdown_cell("Why I did it so."))
    found = taken(notebook, given)
    assert found.loose == "Why I did it so."
    assert found.texts == {QUESTION: "It copies."}
    assert any("1 cell stands at no question" in n for n in found.notes)


def test_code_that_is_not_taken_is_told(given):
    notebook = filled(given.notebook, SOLUTIONS, "It copies.")
    for source in ("print(1)", "def mine():\n    pass", "x ="):
        notebook.cells.insert(2, new_code_cell(source))
    notes = taken(notebook, given).notes
    assert notes == ["3 cells with code belong to no exercise: not run"]


def test_a_function_in_a_new_cell_counts_though_the_stub_is_there(given):
    notebook = filled(given.notebook, SOLUTIONS | {"padding_mask": "0"})
    stub = notebook.cells[place_of(notebook, "padding_mask")]
    stub.source = given.cells["padding_mask"].source
    notebook.cells.append(new_code_cell("def padding_mask(ids): pass"))
    found = taken(notebook, given)
    assert found.programs["padding_mask"].cell.endswith("pass")
    assert "padding_mask: defined in another cell than its own" in found.notes


# --- notebooks made to break the reader --------------------------------------


@pytest.mark.parametrize("name", [["a"], None, "\ud800"])
@pytest.mark.parametrize("where", ["grade_id", "id", "nbgrader", "metadata"])
def test_a_cell_with_an_odd_name_is_a_cell_without(
    tmp_path, given, where, name
):
    notebook = filled(given.notebook, SOLUTIONS, "It copies.")
    cell = notebook.cells[0]
    if where == "grade_id":
        cell.metadata["nbgrader"] = {"grade_id": name}
    elif where == "nbgrader":
        cell.metadata["nbgrader"] = name
    else:
        cell[where] = name
    found = answers_in(read_cells(as_file(tmp_path, notebook)), given)
    assert found.texts == {QUESTION: "It copies."}
    assert found.programs["padding_mask"].cell == SOLUTIONS["padding_mask"]


def test_a_file_is_not_read_beyond_the_limit(tmp_path):
    path = tmp_path / f"{NAME}.ipynb"
    with path.open("wb") as file:
        file.truncate(100 << 30)  # takes no room
    with pytest.raises(Unreadable, match="107,374,182,400 bytes"):
        read_cells(path)
    assert fingerprint(path)


@pytest.mark.parametrize(
    "code",
    [
        "x" + ".a" * 40_000,
        "f(" * 5000,
        "def padding_mask(ids): pass\0",
    ],
    ids=lambda code: code[:8],
)
def test_code_that_no_parser_stands_takes_no_other_with_it(given, code):
    notebook = filled(given.notebook, SOLUTIONS)
    notebook.cells[:0] = [new_code_cell(code)]
    notebook.cells[place_of(notebook, "causal_mask")].source = code
    found = taken(notebook, given)
    cell = found.programs["padding_mask"].cell
    assert cell == SOLUTIONS["padding_mask"]
    assert found.programs["causal_mask"].cell == code


def test_an_answer_of_a_million_signs_is_cut_and_told(given):
    notebook = filled(given.notebook, SOLUTIONS, "long " * 200_000)
    found = taken(notebook, given)
    assert len(found.texts[QUESTION]) < 50_100
    assert any("999,999 characters" in note for note in found.notes)


# --- words that would be programs --------------------------------------------

FENCES = [
    "```",
    "```\n<script>alert(1)</script>\n```",
    "~~~\n```\n````",
    "`" * 500,
    "```\r<script>",
    "",
]


@pytest.mark.parametrize("text", FENCES)
def test_no_line_of_an_answer_ends_its_fence(text):
    first, *inside, last = fenced(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert "\n".join(inside) == text
    assert not any(first in line for line in inside)


def test_answers_are_fenced_before_nbgrader_has_them(given):
    answer = "<script>alert(1)</script>"
    notebook = filled(given.notebook, SOLUTIONS, answer)
    made = restored(given, taken(notebook, given))
    assert made.cells[place_of(made, QUESTION)].source == fenced(answer)


# --- names -------------------------------------------------------------------

CALLED = [
    "anna",
    "Müller, Jürgen",
    "山田　太郎",
    "hugo [x]",
    "hugo (x)",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    " =1",
    "a\nb",
    os.fsdecode(b"bytes\xff"),
    "..",
    "x" * 250,
    "語" * 80,
]


@pytest.mark.parametrize("called", CALLED, ids=ascii)
def test_a_name_is_fit_for_a_folder_and_for_a_table(tmp_path, called):
    name, folder = student(called)
    (tmp_path / folder).mkdir()
    assert (tmp_path / folder).parent == tmp_path
    assert folder not in (".", "..")
    assert name.encode().decode() == one_line(name) == name
    assert name.lstrip()[0] not in "=+-@＝＋－＠"


def test_no_cell_of_marks_is_a_formula(tmp_path, given):
    tried = Tried("padding_mask", 0, 2, "error", "=cmd|x", "")
    record = replace(
        record_of("=1+1"), tried=(tried,), notes=("=1.ipynb too", "@x")
    )
    tables.write_marks(tmp_path, {NAME: given}, [Marked(record, {})])
    for name in (tables.MARKS, tables.TOTALS):
        text = (tmp_path / name).read_text("utf-8-sig")
        assert "=" in text
        assert not any(f'"{sign}' in text for sign in "=+-@")


# --- records -----------------------------------------------------------------


def record_of(called):
    """A record of somebody."""
    tried = Tried("padding_mask", 0.0, 2, "correct", "", "fine", "x = 1")
    who = student(called)
    return Record(
        who.name,
        who.id,
        NAME,
        "graded",
        tried=(tried,),
        answers={QUESTION: "It copies."},
        notes=("a", "b"),
    )


@pytest.mark.parametrize("called", CALLED, ids=ascii)
def test_a_record_is_read_as_it_was_written(tmp_path, called):
    record = record_of(called)
    record.write(tmp_path)
    assert read_records(tmp_path) == [record]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"student": "anna"}',
    ],
    ids=lambda content: content[:6] or "empty",
)
def test_a_damaged_record_is_named_and_stops_nothing(tmp_path, content):
    good = record_of("ben")
    good.write(tmp_path)
    path = record_path(tmp_path, "anna", NAME)
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(DamagedRecord, match=r"anna/06_masks\.json is damaged"):
        read_record(path)
    damaged, other = read_records(tmp_path)
    assert (damaged.student, damaged.status) == ("anna", "damaged")
    assert "anna/06_masks.json" in damaged.remarks[0]
    assert other == good


def test_a_fingerprint_changes_with_all_that_marks_depend_on(tmp_path):
    path = as_file(tmp_path, {})
    before = fingerprint(path, "given")
    assert before == fingerprint(path, "given")
    assert before != fingerprint(path, "given otherwise")
    path.write_text("{ }")
    assert before != fingerprint(path, "given")
