"""The files of a checkpoint: all of one moment, whole, of today's format.

Another process may replace the folder while it is read; then it is read
again.
"""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from transformer_course import files
from transformer_course.checks import shown
from transformer_course.console import quoted
from transformer_course.errors import CheckpointError
from transformer_course.training import int8
from transformer_course.training.weights import Tensors, refuse_pickle, unpack

FORMAT = 2
"""The only format that is read; :func:`~.checkpoint.save` writes it."""
FILES = {
    "model.safetensors": "weights_sha256",
    "tokenizer.model": "tokenizer_sha256",
    "resume.safetensors": "resume_sha256",
    "resume.json": "resume_values_sha256",
}
"""The files beside config.json, and where that keeps the sha256 of each."""
PAUSES = [0.01 * 1.5**i for i in range(12)]
"""Seconds between the tries to read a folder that is being replaced."""

Header = dict[str, Any]
T = TypeVar("T")


class Content(NamedTuple):
    """What stood in a folder at one moment."""

    folder: Path
    header: Header
    """config.json."""
    files: dict[str, bytes]

    def tensors(self, name: str) -> Tensors:
        """Those of a file, in full precision."""
        return int8.unpacked(unpack(self.files[name], self.folder / name))


def previous_of(place: Path) -> Path:
    """Where a checkpoint stands while the next one takes its place."""
    return place.parent / f".{place.name}.old"


def settled(folder: str | Path, read: Callable[[Path], T]) -> T:
    """What ``read`` makes of a folder, while others may be replacing it.

    It is tried again where the folder was replaced meanwhile.

    Raises:
        CheckpointError: what ``read`` raises, of a folder that stays as it
            is; or the folder is replaced again and again.
    """
    folder = Path(folder)
    for pause in PAUSES:
        before = _state(folder)
        try:
            return read(_found(folder))
        except CheckpointError:
            if _state(folder) == before:
                raise
        time.sleep(pause)
    raise CheckpointError(
        f"{folder} was replaced each of {len(PAUSES)} times that it was "
        "read: another process is writing there, wait for it."
    )


def _state(folder: Path) -> list[tuple[int, ...] | None]:
    """Differs when the folder, or what it was before, is another one."""
    place = Path(os.path.realpath(folder))
    return [_identity(place), _identity(previous_of(place))]


def _identity(folder: Path) -> tuple[int, ...] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _found(folder: Path) -> Path:
    """The folder, or what an interrupted :func:`save` left of it."""
    previous = previous_of(Path(os.path.realpath(folder)))
    try:
        if not folder.exists() and previous.exists():
            with files.locked(previous.parent, wait=True):
                pass  # a save that is under way comes to its end
            if not folder.exists():
                return previous
        if (folder / "config.json").is_file():
            return folder
        runs = [folder / "best", folder / "last"]
        hint = f" Did you mean {quoted(runs[0])}?"
        hint *= any(p.is_dir() for p in runs)
    except OSError as error:
        raise _unreadable(folder, error) from error
    raise CheckpointError(
        f"there is no checkpoint in {folder}: expected config.json and "
        f"model.safetensors there.{hint}"
    )


def read_all(folder: Path) -> Content:
    """Read all of a checkpoint's files, and compare them with their hashes."""
    header = read_header(folder)
    found = {
        name: _file(folder / name, header[key])
        for name, key in FILES.items()
        if key in header
    }
    return Content(folder, header, found)


def read_header(folder: Path) -> Header:
    """config.json, once it is known to be one of this format."""
    path = folder / "config.json"
    header = parsed(_bytes(path), path)
    _check_format(folder, header)
    return header


def _check_format(folder: Path, header: Header) -> None:
    path = folder / "config.json"
    if (folder / "model.bin").is_file():
        raise CheckpointError(
            f"{folder} holds a model for CTranslate2: translate takes it, "
            "with --engine ctranslate2."
        )
    if not {"format", "kind", "model"} <= set(header):
        raise CheckpointError(
            f"{path} is not of a checkpoint of this package: give a folder "
            "that 'transformer-course train' or checkpoint.save has written."
        )
    if header["format"] != FORMAT:
        raise CheckpointError(
            f"{folder} has format {shown(header['format'])}, but this "
            f"version of the package reads format {FORMAT}: take a "
            "checkpoint of this version, or install the version that wrote "
            "this one."
        )
    hashes = {"weights_sha256", *FILES.values() & header.keys()}
    for key in sorted(hashes):
        if not isinstance(header.get(key), str):
            what = shown(repr(header.get(key)))
            raise CheckpointError(
                f"{path} is damaged ({key} is {what}): take another "
                "checkpoint."
            )
    for key in ("model", "details"):
        if not isinstance(header.get(key), dict):
            what = shown(repr(header.get(key)))
            raise no_model(path, f"{key} is {what}, not an object")


def _file(path: Path, expected: str) -> bytes:
    """A file's bytes, which have the sha256 expected."""
    content = _bytes(path)
    if path.suffix == ".safetensors":
        refuse_pickle(content, path)
    got = hashlib.sha256(content).hexdigest()
    if got == expected:
        return content
    found = f"sha256 {got[:12]}…, expected {expected[:12]}…"
    if path.name == "tokenizer.model":
        raise CheckpointError(
            f"{path} is not the tokenizer this model was trained with "
            f"({found}): {_right_tokenizer(path)}"
        )
    raise CheckpointError(
        f"{path} is damaged or cut short, or belongs to another checkpoint "
        f"({found}): copy it again, or take another checkpoint."
    )


def _bytes(path: Path) -> bytes:
    try:
        return files.read_whole(path)
    except FileNotFoundError as error:
        raise CheckpointError(_missing(path)) from error
    except (OSError, MemoryError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> CheckpointError:
    reason = getattr(error, "strerror", None) or type(error).__name__
    return CheckpointError(
        f"{path} cannot be read ({reason}): give a folder that holds a "
        "checkpoint, and that may be read with all that is in it."
    )


def _missing(path: Path) -> str:
    """What is to be done about a file that is not there."""
    if path.name == "tokenizer.model":
        return f"there is no tokenizer at {path}: {_right_tokenizer(path)}"
    if path.suffix != ".safetensors":
        return f"{path} is missing: take another checkpoint."
    pickled = sorted([*path.parent.glob("*.pt"), *path.parent.glob("*.bin")])
    found = f", and {pickled[0].name} is not read" if pickled else ""
    return (
        f"{path} is missing{found}: weights are read from safetensors only, "
        "since a pickle can run any code."
    )


def _right_tokenizer(path: Path) -> str:
    """Where it is to be had: a run keeps a copy of its own."""
    copy = path.absolute().parent.parent.parent / path.name
    if copy.is_file():
        return f"put back the run's own, {copy}."
    return "put back the one that was saved with the model."


def parsed(content: bytes, path: Path) -> dict[str, Any]:
    """The JSON of a file; ``path``, where it stood, is for the message."""
    try:
        return files.parse_json(content)
    except ValueError as error:
        raise CheckpointError(
            f"{path} is damaged ({error}): take another checkpoint."
        ) from error


def no_model(path: Path, why: Exception | str) -> CheckpointError:
    """The error for settings of which no model can be made."""
    reason = str(why).strip().partition("\n")[0]
    return CheckpointError(
        f"{path} does not describe a model ({reason}): take another "
        "checkpoint."
    )
