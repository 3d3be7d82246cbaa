"""Removing a folder that foreign code has filled."""

import os
from pathlib import Path


def remove_all(path: Path) -> None:
    """Remove what is there, a folder or not, if there is anything."""
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)
        remove(path)
    else:
        path.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove a folder and all that is in it, as :func:`empty` does."""
    empty(folder)
    folder.rmdir()


def empty(folder: Path) -> None:
    """Remove what is in a folder, however deep it is, and whoever may read it.

    One folder is open at a time, and reached from the one above or below it:
    no path gets long, and nothing calls itself. Links are not followed.

    Raises:
        OSError: it is no folder, or belongs to somebody else.
    """
    here = _opened(folder)
    way: list[str] = []
    try:
        while True:
            if inner := _first_folder_in(here):
                os.chmod(inner, 0o700, dir_fd=here)
                here = _gone_to(inner, here)
                way.append(inner)
            elif way:
                here = _gone_to("..", here)
                os.rmdir(way.pop(), dir_fd=here)
            else:
                return
    finally:
        os.close(here)


def _first_folder_in(opened: int) -> str:
    """The first folder in a folder; what comes before it is removed."""
    with os.scandir(opened) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=opened)
    return ""


def _gone_to(name: str, opened: int) -> int:
    """The folder of this name, seen from an open one, which is closed."""
    found = _opened(name, opened)
    os.close(opened)
    return found


def _opened(path: str | Path, seen_from: int | None = None) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    return os.open(path, flags, dir_fd=seen_from)
