"""The file that notes the exercises done, and the command that reads it."""

import json

import pytest

from course_exercises import contents, progress
from course_exercises.contents import EXERCISES
from course_exercises.names import NAMES
from course_exercises.progress import (
    ProgressError,
    find_file,
    overview,
    read,
    record,
)
from transformer_course.cli import main

FIRST, SECOND = list(EXERCISES)[:2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "progress.json"


def test_what_is_recorded_is_read_again(path):
    assert read(path) == {}
    record(FIRST, path)
    record(SECOND, path)
    assert set(read(path)) == {FIRST, SECOND}
    assert "2 of" in overview(path)


def test_the_first_day_stays(path):
    path.write_text(json.dumps({"format": 1, "done": {FIRST: "2001-01-01"}}))
    record(FIRST, path)
    record(SECOND, path)
    assert read(path)[FIRST] == "2001-01-01"


def test_an_exercise_that_is_no_more_stays_in_the_file(path):
    record("an_old_exercise", path)
    record(FIRST, path)
    assert "an_old_exercise" in read(path)
    assert "1 of" in overview(path)


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"format": 2, "done": {}}', '{"format": 1, "done": []}'],
)
def test_a_damaged_file_is_left_and_named(path, content):
    path.write_text(content)
    with pytest.raises(ProgressError, match="rename it"):
        record(FIRST, path)
    assert path.read_text() == content


def test_a_folder_that_cannot_be_written_is_named(path):
    with pytest.raises(ProgressError, match="not noted"):
        record(FIRST, path.parent / "missing" / "progress.json")


def test_the_file_is_beside_the_notebooks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_file() == tmp_path / "progress.json"
    (tmp_path / progress.FOLDER).mkdir()
    assert find_file() == tmp_path / progress.FOLDER / "progress.json"
    assert find_file(tmp_path) == tmp_path / "progress.json"


def test_the_command_says_what_is_done(tmp_path, capsys):
    record(FIRST, tmp_path / "progress.json")
    main(["progress", str(tmp_path)])
    written = capsys.readouterr().out
    [line] = [line for line in written.splitlines() if FIRST in line]
    assert line.split() == [FIRST, "done"]
    assert f"1 of {len(EXERCISES)} exercises done" in written


def test_the_command_names_a_damaged_file(path, capsys):
    path.write_text("{")
    with pytest.raises(SystemExit) as leaving:
        main(["progress", str(path.parent)])
    assert leaving.value.code == 1
    assert str(path) in capsys.readouterr().err


def test_the_names_listed_are_those_of_the_catalogue():
    expected = {
        chapter: tuple(exercise.name for exercise in exercises)
        for chapter, exercises in contents.by_chapter().items()
    }
    assert expected == NAMES
    assert list(expected) == list(NAMES)
