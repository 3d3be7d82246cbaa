"""Files that commands write: looked at before the work, whole after it."""

from pathlib import Path

from transformer_course import files
from transformer_course.errors import CourseError


def check_writable(output: Path | None, *read: Path | None) -> None:
    """Find out before the work, not after it; keep what is read.

    Args:
        output: the file to be written; nothing is looked at when None.
        read: files and folders that it must not be a part of.

    Raises:
        CourseError: it cannot be written, or something that is read would be
            lost.
    """
    if output is None:
        return
    for path in read:
        if path is not None and output.is_file() and _is_in(output, path):
            raise CourseError(
                f"{output} is a file of {path}, which is read: it would be "
                "lost. Name another file."
            )
    try:
        files.check_writable(output)
    except OSError as error:
        raise CourseError(
            f"{output} cannot be written ({error.strerror}): name a file in a "
            "folder that is there and may be written."
        ) from error


def _is_in(output: Path, path: Path) -> bool:
    return output.resolve().is_relative_to(path.resolve())


def write(path: Path, text: str) -> None:
    """Write a file that is either whole or as it was.

    Raises:
        CourseError: it could not be written.
    """
    try:
        files.write_whole(path, text)
    except OSError as error:
        raise CourseError(
            f"{path} could not be written ({error.strerror}); what stood "
            "there before is untouched. Name another file."
        ) from error
