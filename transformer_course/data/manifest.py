"""What corpora consist of, and where their files are; nothing is fetched here.

``manifest.json`` holds, for each file of each corpus, a pinned URL, its size
and its sha256. Two environment variables say where files are:

``TRANSFORMER_COURSE_CACHE``
    the folder that downloads are kept in (default: the system's cache);
``TRANSFORMER_COURSE_MIRROR``
    a folder laid out like the manifest's ``file`` entries, used in place.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_dir

from transformer_course.errors import CorpusError

FORMAT = 1
"""The format of ``manifest.json`` that this module reads."""
BUILT_IN = {
    "grammar": (
        "MIT",
        "bilingual grammar of English and Japanese, built in",
    ),
    "digits": (
        "CC BY 4.0",
        "1,797 hand-written digits, which scikit-learn brings along",
    ),
}
"""Corpora that are not fetched: their licence, and what they are."""
_WRONG_TYPES = (TypeError, AttributeError, LookupError)
Status = Literal["built in", "cached", "in mirror", "not here"]


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus, as the manifest has it."""

    file: str
    """Path inside the cache or a mirror, with forward slashes."""
    url: str
    """Where it is downloaded from: an address that never changes."""
    sha256: str
    """Its sha256, 64 hexadecimal digits."""
    bytes: int
    """Its size."""
    label: str = ""
    """What it belongs to, for instance an author."""
    note: str = ""
    """What is inside."""


@dataclass(frozen=True)
class ManifestEntry:
    """What the manifest says about a corpus."""

    name: str
    licence: str
    description: str
    files: tuple[CorpusFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all its files together."""
        return sum(entry.bytes for entry in self.files)

    @property
    def here(self) -> int:
        """Number of its files that are here, of the right size."""
        return sum(map(_is_here, self.files))

    @property
    def status(self) -> Status:
        """Where it is, judged by the sizes of its files; no network."""
        if not self.files:
            return "built in"
        if all(_has_size(cache_dir() / f.file, f) for f in self.files):
            return "cached"
        return "in mirror" if self.here == len(self.files) else "not here"


@cache
def entries() -> dict[str, ManifestEntry]:
    """Every corpus of the manifest, by name.

    Raises:
        CorpusError: ``manifest.json`` is missing, damaged, or of another
            format.
    """
    path = Path(__file__).with_name("manifest.json")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError(f"format {manifest['format']!r}")
        return {
            name: _entry(name, **entry)
            for name, entry in manifest["corpora"].items()
        }
    except (OSError, ValueError, *_WRONG_TYPES) as error:
        raise CorpusError(
            f"{path} cannot be used ({type(error).__name__}: {error}): "
            f"expected the list of the corpora's files, in format {FORMAT}. "
            "Install the package anew."
        ) from error


def _entry(
    name: str, licence: str, description: str, files: list[dict]
) -> ManifestEntry:
    for file in files:
        for key, value in file.items():
            kind = int if key == "bytes" else str
            if type(value) is not kind:
                raise TypeError(
                    f"{key} of a file of {name} is {value!r}, expected "
                    f"{kind.__name__}"
                )
    listed = tuple(CorpusFile(**file) for file in files)
    return ManifestEntry(name, licence, description, listed)


def find_corpus(name: str) -> ManifestEntry:
    """What the manifest says about one corpus.

    Raises:
        CorpusError: the manifest has no such corpus; those it has are named.
    """
    if name in BUILT_IN:
        return ManifestEntry(name, *BUILT_IN[name], ())
    if name not in entries():
        raise CorpusError(
            f"there is no corpus {name!r}; there are: "
            f"{', '.join([*BUILT_IN, *entries()])}."
        )
    return entries()[name]


def cache_dir() -> Path:
    """The folder that downloads are kept in; it need not exist yet.

    Raises:
        CorpusError: ``TRANSFORMER_COURSE_CACHE`` names no folder.
    """
    return _named_folder("TRANSFORMER_COURSE_CACHE") or Path(
        user_cache_dir("transformer-course")
    )


def mirror_dir() -> Path | None:
    """The folder that is looked into before the network, if one is named.

    Raises:
        CorpusError: ``TRANSFORMER_COURSE_MIRROR`` names no folder.
    """
    return _named_folder("TRANSFORMER_COURSE_MIRROR")


def _named_folder(variable: str) -> Path | None:
    """The folder that an environment variable names; None when it is empty."""
    named = os.environ.get(variable)
    try:
        return Path(named).expanduser() if named else None
    except RuntimeError as error:
        raise CorpusError(
            f"{variable} is {named!r}, and no such user has a home folder "
            "here: give the folder's whole path."
        ) from error


def corpus_status(name: str) -> Status:
    """Where a corpus is, judged by the sizes of its files; no network.

    Raises:
        CorpusError: no such corpus.
    """
    return find_corpus(name).status


def is_available(name: str) -> bool:
    """Whether a corpus can be had without the network.

    Raises:
        CorpusError: no such corpus.
    """
    return corpus_status(name) != "not here"


def list_corpora() -> list[ManifestEntry]:
    """Every corpus, what is built in first."""
    return [find_corpus(name) for name in [*BUILT_IN, *entries()]]


def _has_size(path: Path, entry: CorpusFile) -> bool:
    return path.is_file() and path.stat().st_size == entry.bytes


def copies(entry: CorpusFile) -> Iterator[Path]:
    """Where the file is without the network, whatever it holds by now."""
    for folder in (cache_dir(), mirror_dir()):
        if folder and (folder / entry.file).is_file():
            yield folder / entry.file


def _is_here(entry: CorpusFile) -> bool:
    return any(_has_size(path, entry) for path in copies(entry))
