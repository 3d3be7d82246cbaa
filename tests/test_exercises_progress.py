"""The file that notes the exercises done."""

import json

import pytest

from course_exercises.contents import EXERCISES
from course_exercises.progress import (
    FOLDER,
    ProgressError,
    find_file,
    overview,
    read,
    record,
)

FIRST, SECOND = list(EXERCISES)[:2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "progress.json"


def test_exercises_are_noted_once_with_their_first_day(path):
    assert read(path) == {}
    old = {FIRST: "2001-01-01", "an_old_exercise": "2001-01-01"}
    path.write_text(json.dumps({"done": old}))
    record(FIRST, path)
    record(SECOND, path)
    assert read(path) == old | {SECOND: read(path)[SECOND]}
    assert f"2 of {len(EXERCISES)} exercises done" in overview(path)
    [line] = [line for line in overview(path).splitlines() if FIRST in line]
    assert line.split() == [FIRST, "done"]


@pytest.mark.parametrize("content", ["", "[]", '{"done": 3}', "{}"])
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
    (tmp_path / FOLDER).mkdir()
    assert find_file() == tmp_path / FOLDER / "progress.json"
