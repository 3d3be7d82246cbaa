"""Laws of writing: whole or as it was, and never more than was meant."""

import errno
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tiny import Killed, dies_at

from transformer_course import files

needs_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="no named pipes here"
)
needs_locks = pytest.mark.skipif(files.fcntl is None, reason="no locks here")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


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


def test_two_writers_never_share_a_name(tmp_path, monkeypatch):
    """The second begins, and ends, in the middle of the first."""
    path, fsync = tmp_path / "text", os.fsync

    def other_writer(descriptor):
        monkeypatch.setattr(os, "fsync", fsync)
        files.write_whole(path, "second")

    monkeypatch.setattr(os, "fsync", other_writer)
    files.write_whole(path, "first")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_modes(tmp_path, umask):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("")
    old.chmod(0o640)
    before = os.umask(umask)
    try:
        files.write_whole(old, "x")
        files.write_whole(new, "x")
    finally:
        os.umask(before)
    assert mode(old) == 0o640
    assert mode(new) == 0o666 & ~umask


def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    for name in ("old", "new"):  # one is there, one is not
        (tmp_path / name).symlink_to(tmp_path / "there" / name)
    (tmp_path / "there" / "old").write_text("old")
    for name in ("old", "new"):
        files.write_whole(tmp_path / name, "x")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "there" / name).read_text() == "x"


def test_a_folder_is_removed_whatever_is_in_it(tmp_path):
    """And nothing that lies elsewhere."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("")
    deep = folder.joinpath(*["deep"] * 50)
    deep.mkdir(parents=True)
    (deep / "text").write_text("")
    (deep / "link").symlink_to(elsewhere)
    deep.chmod(0)
    files.remove_folder(folder)
    assert list(tmp_path.iterdir()) == [elsewhere]
    folder.symlink_to(elsewhere)
    files.remove_folder(folder)
    files.remove_folder(folder)
    assert list(tmp_path.rglob("*")) == [elsewhere, elsewhere / "kept"]


def refused(path, *kinds):
    """Both the writing and the look before it say so."""
    for call in (files.check_writable, lambda p: files.write_whole(p, "x")):
        with pytest.raises(kinds):
            call(path)


def test_what_may_not_be_written_is_refused(tmp_path):
    path = tmp_path / "text"
    path.write_text("old")
    path.chmod(0o444)
    refused(path, PermissionError)
    assert path.read_text() == "old"
    path.chmod(0o644)
    tmp_path.chmod(0o555)
    refused(path, PermissionError)
    refused(tmp_path / "new", PermissionError)
    tmp_path.chmod(0o755)
    refused(tmp_path, IsADirectoryError)
    refused(tmp_path / "none" / "text", FileNotFoundError)
    refused(path / "text", NotADirectoryError)
    refused(tmp_path / ("x" * 300), OSError)
    (tmp_path / "loop").symlink_to("loop")
    refused(tmp_path / "loop", OSError)
    files.check_writable(path)
    files.check_writable(tmp_path / "new")


@needs_pipes
@pytest.mark.parametrize("link", [False, True])
def test_a_pipe_is_written_through(tmp_path, link):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    files.check_writable(path)
    files.write_whole(path, "through")
    reader.join(timeout=10)
    assert found == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert path.is_symlink() is link


PRINTS = """
import os, sys
from transformer_course.files import write_whole
os.write(1, b"before,")
write_whole(sys.argv[1], "text,")
os.write(1, b"after")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/stderr", "output"])
def test_the_own_output_is_written_through(tmp_path, name):
    """What else is printed there is kept, and comes in order."""
    output = tmp_path / "output"
    path = tmp_path / name  # an absolute name stays as it is
    if not path.parent.exists():
        pytest.skip(f"there is no {name} here")
    command = [sys.executable, "-c", PRINTS, path]
    with output.open("wb") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT)
    assert output.read_text() == "before,text,after"
    if path != output:
        piped = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert piped.stdout == b"before,text,after"


# --- locks ------------------------------------------------------------------


@needs_locks
@pytest.mark.parametrize("name", ["", "new/folder/lock"])
def test_a_lock_is_held_by_one(tmp_path, name):
    """A folder that is there serves as well as a file."""
    path = tmp_path / name
    with files.locked(path) as first, files.locked(path) as second:
        assert (first, second) == (True, False)
    with files.locked(path) as again:
        assert again


def hold(path, ready):
    with files.locked(path):
        ready.set()
        time.sleep(60)


@needs_locks
def test_death_lets_go_of_a_lock(tmp_path):
    path = tmp_path / "lock"
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    holder = context.Process(target=hold, args=(path, ready))
    holder.start()
    assert ready.wait(30)
    with files.locked(path) as mine:
        assert not mine
    threading.Timer(0.2, os.kill, (holder.pid, signal.SIGKILL)).start()
    with files.locked(path, wait=True) as mine:
        assert mine
    holder.join()


@needs_locks
def test_a_failure_lets_go_of_a_lock(tmp_path):
    with pytest.raises(Killed), files.locked(tmp_path):
        raise Killed
    with files.locked(tmp_path) as mine:
        assert mine


def test_without_locks_each_holds_one(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    with files.locked(tmp_path) as first, files.locked(tmp_path) as second:
        assert first and second


# --- reading ----------------------------------------------------------------


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
