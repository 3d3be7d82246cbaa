"""The files of the corpora, listed in ``manifest.json``; pooch downloads them.

The manifest holds a pinned URL, the size and the sha256 of each file. Two
environment variables say where files are:

``TRANSFORMER_COURSE_CACHE``
    the folder that downloads go to (default: the system's cache);
``TRANSFORMER_COURSE_MIRROR``
    a folder laid out like the manifest's ``file`` entries, for use without
    network.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from platformdirs import user_cache_dir

from transformer_course.errors import CorpusError

TIMEOUT = 30
"""Seconds to wait for the network."""
RETRIES = 2
Status = Literal["missing", "damaged", "ok"]


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus."""

    file: str
    """Path inside the cache or a mirror, with forward slashes."""
    url: str
    """Pinned address of the download."""
    sha256: str
    bytes: int
    """Size of the file."""
    label: str = ""
    """Group of the file, for instance an author."""
    note: str = ""
    """Content of the file."""

    @property
    def path(self) -> Path:
        """Where the file is, or will be: in the cache, unless only the mirror
        has it."""
        cached = cache_dir() / self.file
        mirror = os.environ.get("TRANSFORMER_COURSE_MIRROR")
        mirrored = Path(mirror).expanduser() / self.file if mirror else cached
        return mirrored if mirrored.is_file() > cached.is_file() else cached

    @property
    def status(self) -> Status:
        """Whether the file is here, with the right sha256."""
        if not self.path.is_file():
            return "missing"
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return "ok" if found == self.sha256 else "damaged"


@dataclass(frozen=True)
class ManifestEntry:
    """A corpus: licence, description and files."""

    name: str
    licence: str
    description: str
    files: tuple[CorpusFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files)

    @property
    def n_here(self) -> int:
        """Number of files that are on this machine."""
        return sum(file.path.is_file() for file in self.files)


@cache
def entries() -> dict[str, ManifestEntry]:
    """The corpora of the manifest, by name."""
    path = Path(__file__).with_name("manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: ManifestEntry(
            name,
            corpus["licence"],
            corpus["description"],
            tuple(CorpusFile(**file) for file in corpus["files"]),
        )
        for name, corpus in manifest["corpora"].items()
    }


def find_corpus(name: str) -> ManifestEntry:
    """A corpus of the manifest by its name.

    Raises:
        CorpusError: there is none; the message lists those that exist.
    """
    if name not in entries():
        raise CorpusError(
            f"no corpus {name!r} is downloaded; there are: "
            f"{', '.join(entries())}."
        )
    return entries()[name]


def cache_dir() -> Path:
    """The folder for downloads; it need not exist yet."""
    folder = os.environ.get("TRANSFORMER_COURSE_CACHE")
    return Path(folder or user_cache_dir("transformer-course")).expanduser()


def is_available(name: str) -> bool:
    """Whether a corpus can be read without the network.

    Raises:
        CorpusError: no such corpus.
    """
    corpus = find_corpus(name)
    return corpus.n_here == len(corpus.files)


def fetch(name: str, progress: bool = True) -> dict[str, Path]:
    """Download the files of a corpus that are missing or damaged.

    Args:
        name: a corpus of the manifest.
        progress: show a bar while downloading.

    Returns:
        The path of each file, by its ``file`` entry in the manifest.

    Raises:
        CorpusError: no such corpus, or a download that fails.
    """
    corpus = find_corpus(name)
    wanted = [file for file in corpus.files if file.status != "ok"]
    if wanted:
        _download(corpus, wanted, progress)
    return {file.file: file.path for file in corpus.files}


def _download(
    corpus: ManifestEntry, wanted: list[CorpusFile], progress: bool
) -> None:
    import pooch  # slow to import, and seldom needed
    import requests

    pooch.get_logger().setLevel("WARNING")
    cached = pooch.create(
        path=cache_dir(),
        base_url="",
        registry={file.file: f"sha256:{file.sha256}" for file in wanted},
        urls={file.file: file.url for file in wanted},
        retry_if_failed=RETRIES,
    )
    download = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT)
    try:
        for file in wanted:
            cached.fetch(file.file, downloader=download)
    except (requests.RequestException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"corpus {corpus.name} could not be downloaded ({file.url}: "
            f"{reason}) to {cache_dir()}. Connect to the network and run "
            f"'transformer-course data fetch {corpus.name}' "
            f"({corpus.bytes:,} bytes), or let TRANSFORMER_COURSE_MIRROR "
            f"name a folder that holds a right {file.file}."
        ) from error
