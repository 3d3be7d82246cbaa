"""Laws of writing: whole or as it was."""

import errno
import os
import subprocess
import sys

import pytest
from tiny import Killed, dies_at

from transformer_course import files

needs_locks = pytest.mark.skipif(files.fcntl is None, reason="no locks here")


def test_what_is_written_is_there(tmp_path):
    path = tmp_path / "text"
    files.write_whole(path, "猫\r\n犬\n")
    assert path.read_bytes() == "猫\r\n犬\n".encode()
    files.write_whole(str(path), b"\0\xff")
    assert path.read_bytes() == b"\0\xff"
    assert list(tmp_path.iterdir()) == [path]


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ctrl_c(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("end", [full_disk, ctrl_c])
def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch, name, end):
    path = tmp_path / "text"
    path.write_text("old")
    dies_at(monkeypatch, os, name, 1, end)
    with pytest.raises((OSError, KeyboardInterrupt)):
        files.write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_is_none_touches_nothing(tmp_path):
    path = tmp_path / "text"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        files.write_whole(path, "\ud800")
    assert path.read_text() == "old"


def test_a_file_that_comes_bit_by_bit(tmp_path):
    path = tmp_path / "large"
    path.write_text("old")
    with pytest.raises(Killed), files.whole_file(path) as file:
        file.write(b"half")
        raise Killed
    assert path.read_text() == "old"
    with files.whole_file(path) as file:
        file.write(b"first, ")
        assert path.read_text() == "old"
        file.write(b"second")
    assert path.read_text() == "first, second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_removed_whatever_is_in_it(tmp_path):
    """And nothing that lies elsewhere."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("")
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "text").write_text("")
    (folder / "deep" / "link").symlink_to(elsewhere)
    files.remove_folder(folder)
    assert list(tmp_path.rglob("*")) == [elsewhere, elsewhere / "kept"]


def test_what_may_not_be_written_is_refused(tmp_path):
    """Both the writing and the look before it say so."""
    path = tmp_path / "text"
    path.write_text("old")
    for call in (files.check_writable, lambda p: files.write_whole(p, "x")):
        with pytest.raises(IsADirectoryError):
            call(tmp_path)
        with pytest.raises(FileNotFoundError):
            call(tmp_path / "none" / "text")
        with pytest.raises(NotADirectoryError):
            call(path / "text")
    files.check_writable(path)
    files.check_writable(tmp_path / "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@needs_locks
def test_a_lock_is_held_by_one(tmp_path):
    with files.locked(tmp_path) as first, files.locked(tmp_path) as second:
        assert (first, second) == (True, False)
    with pytest.raises(Killed), files.locked(tmp_path):
        raise Killed
    with files.locked(tmp_path) as again:
        assert again


def test_an_object_is_read(tmp_path):
    (tmp_path / "x").write_text('{"猫": 1}', encoding="utf-8")
    assert files.read_json(tmp_path / "x") == {"猫": 1}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"1", b"\xff\xfe{}", b'{"a": \0}', b"[" * 100_000],
    ids=lambda content: repr(content[:9]),
)
def test_what_is_no_object(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ValueError):
        files.read_json(tmp_path / "x")


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read_json(tmp_path / "x")


def test_it_is_light_to_import():
    """The command line's help needs neither torch nor numpy."""
    code = "import sys, transformer_course.files as _; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert not {"torch", "numpy"} & set(run.stdout.split())
