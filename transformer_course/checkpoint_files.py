"""The files of a checkpoint: all of one moment, whole, of today's format.

Another process may replace the folder while it is read; then it is read
again.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import nn

from transformer_course import files, int8
from transformer_course.checks import is_like, is_whole, shown
from transformer_course.console import quoted
from transformer_course.earlier_settings import upgraded_model
from transformer_course.errors import CheckpointError
from transformer_course.weights import (
    Tensors,
    refuse_pickle,
    renamed,
    unpack,
    weights_of,
)

FORMAT = 2
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
Rename = Callable[[str], str]
T = TypeVar("T")
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam keeps for each parameter."""
FORMAT_1_VALUES = {
    "step": 0,
    "epoch": 0,
    "batch": 0,
    "sums": [0.0] * 4,
    "best": None,
}
"""What format 1, which has no hashes, has in resume.json: names and types."""


class Content(NamedTuple):
    """What stood in a folder at one moment."""

    folder: Path
    header: Header
    """config.json, as today's format has it."""
    rename: Rename
    """From a parameter's name in these files to its name of today."""
    files: dict[str, bytes]

    def tensors(self, name: str) -> Tensors:
        """Those of a file, under today's names, in full precision."""
        found = unpack(self.files[name], self.folder / name)
        return renamed(int8.unpacked(found), self.rename)


def _from_format_1(header: Header) -> tuple[Header, Rename]:
    """Format 1 had no sha256 but the tokenizer's, and called a language model
    a Transformer that is a decoder only."""
    model, decoder_only = upgraded_model(header["model"])
    header = header | {"model": model}
    if not decoder_only:
        return header, lambda name: name

    def rename(name: str) -> str:
        return re.sub(r"\btgt_(embedding|position)\b", r"\1", name)

    return header | {"kind": "language_model"}, rename


UPGRADES = {1: _from_format_1}
"""From each older format to today's: what is no more, or called otherwise."""


def upgraded(header: Header) -> tuple[Header, Rename]:
    """A header of an older format as today's format has it.

    Args:
        header: a whole one, of a format up to today's.

    Returns:
        The header, and a function from a parameter's name in that format to
        its name of today.
    """
    if header["format"] == FORMAT:
        return header, lambda name: name
    return UPGRADES[header["format"]](header)


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
    header, rename = read_header(folder)
    found = {
        name: _file(folder / name, header[key])
        for name, key in FILES.items()
        if key in header
    }
    return Content(folder, header, rename, found)


def read_header(folder: Path) -> tuple[Header, Rename]:
    """config.json as today's format has it; a sha256 not known is None."""
    path = folder / "config.json"
    header = parsed(_bytes(path), path)
    _check_format(folder, header)
    header = {"details": {}, "weights_sha256": None} | header
    if header["format"] == 1 and (folder / "resume.json").is_file():
        header |= {"resume_sha256": None, "resume_values_sha256": None}
    return upgraded(header)


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
    number = header["format"]
    if not is_whole(number) or not 1 <= number <= FORMAT:
        raise CheckpointError(
            f"{folder} has format {shown(number)}, but this version of the "
            f"package reads up to {FORMAT}: update the package."
        )
    needed = {"weights_sha256"} if number == FORMAT else set()
    for key in sorted(needed | set(FILES.values()) & header.keys()):
        if not isinstance(header.get(key), str):
            what = shown(repr(header.get(key)))
            raise CheckpointError(
                f"{path} is damaged ({key} is {what}): take another "
                "checkpoint."
            )
    for key in ("model", "details"):
        if not isinstance(header.get(key, {}), dict):
            what = shown(repr(header[key]))
            raise no_model(path, f"{key} is {what}, not an object")


def _file(path: Path, expected: str | None) -> bytes:
    """A file's bytes, which have the sha256 expected, if one is known."""
    content = _bytes(path)
    if path.suffix == ".safetensors":
        refuse_pickle(content, path)
    got = hashlib.sha256(content).hexdigest()
    if expected in (None, got):
        return content
    found = f"sha256 {got[:12]}…, expected {str(expected)[:12]}…"
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


def check_resume(
    path: Path, values: dict, tensors: Tensors, model: nn.Module
) -> None:
    """What a hash says of younger formats: that nothing is missing."""
    lacking = [
        name
        for name, example in FORMAT_1_VALUES.items()
        if not is_like(values.get(name), example)
    ]
    if not lacking and values["step"]:
        lacking = [
            f"Adam's {moment} of {name}"
            for name in weights_of(model)
            for moment in MOMENTS
            if f"adam.{moment}.{name}" not in tensors
        ]
    if lacking:
        raise CheckpointError(
            f"{path} and resume.safetensors do not say how to go on: "
            f"{lacking[0]} is missing or of another type. Take another "
            "checkpoint."
        )
