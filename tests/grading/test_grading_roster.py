"""Who is in the class, and which file is whose. Needs no nbgrader."""

import pytest
from nbformat.v4 import new_notebook

from tests.grading import platform_class as platform
from tests.grading.grading_class import NAME, assignment, filled, hand_in
from tests.grading.platform_class import MEMBERS, TWIN
from tools.grading.assignment import find_assignments, recognised
from tools.grading.roster import RosterError, label_of, read_roster
from tools.grading.submissions import find_submissions

KNOWN = [one.name for one in find_assignments()]
ROSTERS = [platform.participants, platform.worksheet, platform.gradebook]


def found_in(folder, roster=None):
    """What is found among submissions."""
    every = find_assignments()
    return find_submissions(
        folder, KNOWN, (), roster, lambda path: recognised(path, every)
    )


@pytest.mark.parametrize("place", platform.PLACES)
@pytest.mark.parametrize("export", ROSTERS)
def test_each_of_forty_gets_what_they_handed_in(tmp_path, export, place):
    """By the platform's number where the list has it, else by the name."""
    roster = read_roster(export(tmp_path / "class.csv"))
    folder = tmp_path / "in"
    for member in MEMBERS[1:]:
        hand_in(new_notebook(), folder / place(member, f"{NAME}.ipynb"))
    found = found_in(folder, roster)
    assert found.exported
    assert not found.strangers
    assert not found.ignored
    by_name = {one.student: one.path for one in found.submissions}
    expected = {
        m.called: folder / place(m, f"{NAME}.ipynb") for m in MEMBERS[1:]
    }
    assert by_name == expected | {MEMBERS[0].called: None}


@pytest.mark.parametrize("export", ROSTERS)
def test_two_of_one_name_are_two(tmp_path, export):
    both = [*MEMBERS, TWIN]
    roster = read_roster(export(tmp_path / "class.csv", both))
    assert len({person.called for person in roster.people}) == 41
    label = label_of(platform.moodle_place(TWIN, "").strip("/"))
    person = roster.find(label)
    if roster.kind == "worksheet":
        assert person.id == TWIN.id
    else:  # the name alone does not tell; nobody gets another's marks
        assert person is None


def test_who_is_not_on_the_list_is_graded_and_told(tmp_path):
    roster = read_roster(platform.participants(tmp_path / "class.csv"))
    stranger = platform.moodle_place(
        platform.Member("Eva", "Neu", 77), f"{NAME}.ipynb"
    )
    hand_in(new_notebook(), tmp_path / "in" / stranger)
    found = found_in(tmp_path / "in", roster)
    assert found.strangers == ["Eva Neu 51539"]
    assert "Eva Neu 51539" in {one.student for one in found.submissions}


@pytest.mark.parametrize("called", ["s2003", "S2003@SCHOOL.invalid"])
def test_a_folder_may_have_an_id_or_an_address_for_its_name(tmp_path, called):
    roster = read_roster(platform.participants(tmp_path / "class.csv"))
    assert roster.find(label_of(called)).id == "s2003"


def test_what_came_late_is_told(tmp_path):
    roster = read_roster(platform.gradebook(tmp_path / "class.csv"))
    path = platform.canvas_file(MEMBERS[3], f"{NAME}.ipynb", late=True)
    hand_in(new_notebook(), tmp_path / "in" / path)
    found = found_in(tmp_path / "in", roster)
    (one,) = [s for s in found.submissions if s.path]
    assert one.student == MEMBERS[3].called
    assert one.notes == (
        f"{NAME}.ipynb came late, says the learning platform",
    )


def test_a_roster_can_be_any_table_with_names_and_ids(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text("Name;Id;E-Mail\nAnna Müller;7;a@b.invalid\n", "utf-8")
    (anna,) = read_roster(path).people
    assert (anna.name, anna.id, anna.email) == (
        "Anna Müller",
        "7",
        "a@b.invalid",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "Expected are a column Full name"),
        ("", "found: nothing"),
        ("Name,ID\nAnna,\n", "line 2: Anna has neither an id nor"),
        ("Name,ID\nAnna,1\nBen,2\nAnna,1\n", "line 4: Anna 1 stands there"),
    ],
)
def test_a_roster_that_is_none_says_what_is_expected(tmp_path, text, said):
    path = tmp_path / "class.csv"
    path.write_text(text)
    with pytest.raises(RosterError, match=said):
        read_roster(path)


# --- nothing that was handed in is dropped -----------------------------------


@pytest.mark.parametrize("names", ["kept", "lost"])
@pytest.mark.parametrize("path", ["ben/homework.ipynb", "ben-week-3.ipynb"])
def test_a_renamed_notebook_is_known_by_its_cells(tmp_path, path, names):
    given = assignment()
    notebook = filled(given.notebook)
    if names == "lost":
        for number, cell in enumerate(notebook.cells):
            cell.metadata.clear()
            cell.id = f"c{number}"
    hand_in(notebook, tmp_path / path)
    found = found_in(tmp_path)
    (one,) = found.submissions
    assert (one.assignment, one.path) == (NAME, tmp_path / path)
    assert f"was taken as {NAME}, because of its cells" in one.notes[0]
    assert not found.ignored


@pytest.mark.parametrize(
    "other", ["masks.py", f"{NAME}.pdf", f"{NAME}/data.zip", "onlinetext.html"]
)
def test_a_file_that_is_not_looked_at_is_told(tmp_path, other):
    hand_in(new_notebook(), tmp_path / "ben" / f"{NAME}.ipynb")
    path = tmp_path / "ben" / other
    path.parent.mkdir(exist_ok=True)
    path.touch()
    (one,) = found_in(tmp_path).submissions
    assert one.path.name == f"{NAME}.ipynb"
    assert path.name in one.notes[0]
