"""Removing a folder that foreign code has filled."""

import os
import secrets
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(folder: Path) -> None:
    """Remove a folder and all that is in it, as :func:`empty` does."""
    empty(folder)
    folder.rmdir()


def empty(folder: Path) -> None:
    """Remove what is in a folder, however deep it is, and whoever may read it.

    Each folder in it is moved up to the first level, and emptied there: no
    path gets long, and nothing calls itself. Links are not followed.

    Raises:
        OSError: it is no folder, or belongs to somebody else.
    """
    top = os.open(folder, _OPEN)
    try:
        while found := _folders_in(top):
            for name in found:
                _lift(top, name)
    finally:
        os.close(top)


def _folders_in(opened: int) -> list[str]:
    """The folders in a folder; all else that is in it is removed."""
    found = []
    with os.scandir(opened) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, 0o700, dir_fd=opened)
                found.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=opened)
    return found


def _lift(top: int, name: str) -> None:
    """Move the folders of a folder beside it, and remove it."""
    opened = os.open(name, _OPEN, dir_fd=top)
    try:
        for inner in _folders_in(opened):
            fresh = secrets.token_hex(16)
            os.rename(inner, fresh, src_dir_fd=opened, dst_dir_fd=top)
    finally:
        os.close(opened)
    os.rmdir(name, dir_fd=top)
