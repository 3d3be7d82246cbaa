"""Files that are whole or as they were; locks; objects read from JSON.

Whatever the package writes at once goes through :func:`write_whole`. Errors
are plain ``OSError``: who calls knows what the user should do.
"""

import contextlib
import errno
import json
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None

LARGEST_JSON = 2**26
"""Bytes of a file of settings, at the most."""


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write a file that is whole afterwards, or as it was.

    A symbolic link is followed. What is no regular file, a pipe or a
    device, is written through and never replaced. A new file's mode follows
    the umask, an old one's is kept.

    Args:
        path: where; its folder must be there.
        content: bytes, or text that becomes UTF-8.

    Raises:
        OSError: it could not be written, or has no permission to write. A
            file without any is refused to root too.
    """
    data = content.encode() if isinstance(content, str) else content
    with writing(path) as file:
        file.write(data)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[BinaryIO]:
    """As :func:`write_whole`, for what is written bit by bit."""
    status = _status(path)
    if status and (opened := _open_through(path, status)):
        with opened as file:
            yield file
        return
    check_writable(path)
    mode = stat.S_IMODE(status.st_mode) if status else None
    with whole_file(Path(os.path.realpath(path)), mode) as file:
        yield file


@contextlib.contextmanager
def whole_file(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A new file to be written bit by bit, which replaces another at the end.

    For what comes from elsewhere and is large; else :func:`write_whole`.

    Args:
        path: where it shall stand. Until then, and for good if an exception
            is raised, what stood there stays.
        mode: its permissions; those of the umask when None.
    """
    fresh = path.parent / f".{secrets.token_hex(8)}.new"
    try:
        with fresh.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            fresh.chmod(mode)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Find out before the work whether :func:`write_whole` may write there.

    Raises:
        OSError: what stands there is a folder, or may not be written; or the
            folder that it is in is missing, or may not be written.
    """
    status = _status(path)
    if status:
        check_permission(path)
    if status and stat.S_ISDIR(status.st_mode):
        raise _error(errno.EISDIR, path)
    if not status or stat.S_ISREG(status.st_mode):
        check_permission(Path(os.path.realpath(path)).parent)


def check_creatable(folder: str | Path) -> None:
    """Find out whether a folder may be made, and what is to go into it.

    Raises:
        OSError: it is a file; or it, or the nearest folder above that is
            there, may not be written.
    """
    place = Path(os.path.abspath(folder))
    while not _status(place):
        place = place.parent
    if not place.is_dir():
        raise _error(errno.ENOTDIR, place)
    check_permission(place)


def check_permission(path: str | Path) -> None:
    """Raise a PermissionError where a file or folder may not be written.

    Root may write everything; what nobody has leave to write is refused to
    root as well, since somebody has taken it away on purpose.
    """
    if not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK):
        raise _error(errno.EACCES, path)


@contextlib.contextmanager
def locked(path: str | Path, wait: bool = False) -> Iterator[bool]:
    """Hold a lock; gives False where another process holds it.

    The system lets go of it when the process ends, however that ends, so a
    kill leaves nothing behind that must be cleared away. On a system that
    has no locks (Windows, some network drives) it is always True.

    Args:
        path: a file for the lock alone, made where it is missing, with its
            folders; or a folder that is there.
        wait: until the other process lets go.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield True
        return
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags, 0o666)
    try:
        yield _lock(descriptor, wait)
    finally:
        os.close(descriptor)


def remove_folder(folder: str | Path) -> None:
    """Remove a folder and all that is in it, as far as that is allowed.

    It may be a file by now, or nothing, if foreign code has been in it.
    No matter how deep it is, how long its paths are, or whether its folders
    may be read: folders are emptied into the first one, level by level. Of a
    link only the link is removed.
    """
    with contextlib.suppress(OSError):
        if os.path.islink(folder) or not os.path.isdir(folder):
            os.unlink(folder)
        os.chmod(folder, stat.S_IRWXU)
        while inner := list(os.scandir(folder)):
            for entry in inner:
                _remove_level(entry, folder)
        os.rmdir(folder)


def _remove_level(entry: os.DirEntry, folder: str | Path) -> None:
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry)
        return
    os.chmod(entry, stat.S_IRWXU)
    for child in list(os.scandir(entry)):
        if child.is_dir(follow_symlinks=False):
            os.chmod(child, stat.S_IRWXU)  # else it may not be moved
        os.rename(child, os.path.join(folder, secrets.token_hex(8)))
    os.rmdir(entry)


def read_whole(path: str | Path, most: int | None = None) -> bytes:
    """What is in a file that :func:`check_regular` lets through."""
    check_regular(path, most)
    return Path(path).read_bytes()


def check_regular(path: str | Path, most: int | None = None) -> None:
    """See that a file has an end, before it is opened.

    Args:
        path: of the file.
        most: bytes that it may have; any number when None.

    Raises:
        OSError: it is not there, has more bytes, or is a folder, a pipe or
            a device.
    """
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise _error(errno.EISDIR, path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if most is not None and status.st_size > most:
        raise _error(errno.EFBIG, path)


def read_json(path: str | Path) -> dict[str, Any]:
    """The object that a JSON file holds.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no object in JSON.
    """
    return parse_json(read_whole(path, LARGEST_JSON))


def parse_json(content: bytes) -> dict[str, Any]:
    """The object that JSON in UTF-8 describes; a ValueError if it is none."""
    try:
        values = json.loads(content.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(values, dict):
        raise ValueError("not a JSON object")
    return values


def _status(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _open_through(path: str | Path, status: os.stat_result) -> BinaryIO | None:
    """What must not be replaced: the process's own output, no real file."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):  # it is closed
            if os.path.samestat(os.fstat(descriptor), status):
                return open(descriptor, "wb", closefd=False)
    return None if stat.S_ISREG(status.st_mode) else open(path, "wb")


def _lock(descriptor: int, wait: bool) -> bool:
    try:
        how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        return True
    return True


def _error(number: int, path: str | Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
