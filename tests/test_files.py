"""Laws of files: complete, or as they were."""

from pathlib import Path

import pytest
from tiny import Killed

from transformer_course import files


def test_what_is_written_is_there(tmp_path):
    path = tmp_path / "text"
    files.write_atomic(path, "猫\r\n犬\n")
    assert path.read_bytes() == "猫\r\n犬\n".encode()
    files.write_atomic(str(path), b"\0\xff")
    assert path.read_bytes() == b"\0\xff"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("end", [Killed(), OSError(28, "No space left")])
def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch, end):
    def fails(*_):
        raise end

    path = tmp_path / "text"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(type(end)):
        files.write_atomic(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"a": ', b"\xff\xfe"])
def test_what_is_no_object(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError):
        files.read_json(tmp_path / "x")
