"""The files of the corpora: listed in ``manifest.json``, downloaded by pooch.

The manifest holds, for each file of each corpus, a pinned URL, its size and
its sha256. Two environment variables say where files are:

``TRANSFORMER_COURSE_CACHE``
    the folder that downloads are kept in (default: the system's cache);
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
"""Corpora that are not downloaded: their licence and description."""
TIMEOUT = 30
"""Seconds that the network may stay silent."""
RETRIES = 2
Status = Literal["built in", "cached", "in mirror", "not here"]


@dataclass(frozen=True)
class CorpusFile:
    """One file of a corpus."""

    file: str
    """Path inside the cache or a mirror, with forward slashes."""
    url: str
    """Pinned address of the download."""
    sha256: str
    bytes: int
    """Its size."""
    label: str = ""
    """What it belongs to, for instance an author."""
    note: str = ""
    """What is inside."""

    @property
    def copies(self) -> list[Path]:
        """Where the file is: in the cache, in the mirror."""
        mirror = os.environ.get("TRANSFORMER_COURSE_MIRROR")
        folders = [Path(mirror).expanduser()] if mirror else []
        places = [folder / self.file for folder in (cache_dir(), *folders)]
        return [path for path in places if path.is_file()]


@dataclass(frozen=True)
class ManifestEntry:
    """A corpus: licence, description and files."""

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
        """Number of its files that are on this machine."""
        return sum(bool(entry.copies) for entry in self.files)

    @property
    def status(self) -> Status:
        """Where the files are."""
        if not self.files:
            return "built in"
        if all((cache_dir() / entry.file).is_file() for entry in self.files):
            return "cached"
        return "in mirror" if self.here == len(self.files) else "not here"


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
    """A corpus by its name.

    Raises:
        CorpusError: there is none; those that exist are named.
    """
    if name in BUILT_IN:
        return ManifestEntry(name, *BUILT_IN[name], ())
    if name not in entries():
        raise CorpusError(
            f"there is no corpus {name!r}; there are: "
            f"{', '.join([*BUILT_IN, *entries()])}."
        )
    return entries()[name]


def list_corpora() -> list[ManifestEntry]:
    """Every corpus, the built-in ones first."""
    return [find_corpus(name) for name in [*BUILT_IN, *entries()]]


def cache_dir() -> Path:
    """The folder that downloads are kept in; it need not exist yet."""
    named = os.environ.get("TRANSFORMER_COURSE_CACHE")
    if named:
        return Path(named).expanduser()
    return Path(user_cache_dir("transformer-course"))


def is_available(name: str) -> bool:
    """Whether a corpus can be had without the network.

    Raises:
        CorpusError: no such corpus.
    """
    return find_corpus(name).status != "not here"


def fetch(name: str, progress: bool = True) -> dict[str, Path]:
    """Have every file of a corpus on this machine, with the right sha256.

    A damaged file in the cache is downloaded again; one in the mirror, which
    may be shared, is an error.

    Args:
        name: a corpus of the manifest.
        progress: show a bar while downloading.

    Returns:
        The path of each file, by its ``file`` entry in the manifest.

    Raises:
        CorpusError: no such corpus, a damaged file in the mirror, or a
            download that fails.
    """
    return {
        entry.file: _checked_copy(entry) or _download(name, entry, progress)
        for entry in find_corpus(name).files
    }


def verify(name: str) -> dict[str, Literal["ok", "not here"]]:
    """Check the sha256 of every file that is on this machine.

    Returns:
        For each file of the corpus whether it is here.

    Raises:
        CorpusError: no such corpus, or damaged files; they are named.
    """
    found = {entry: entry.copies[:1] for entry in find_corpus(name).files}
    damaged = [
        path
        for entry, paths in found.items()
        for path in paths
        if _sha256(path) != entry.sha256
    ]
    if damaged:
        raise CorpusError(
            f"{len(damaged)} of {len(found)} files of {name} have a wrong "
            f"sha256: {', '.join(map(str, damaged))}. Delete them, and fetch "
            f"{name} again."
        )
    return {
        entry.file: "ok" if paths else "not here"
        for entry, paths in found.items()
    }


def _checked_copy(entry: CorpusFile) -> Path | None:
    for path in entry.copies:
        got = _sha256(path)
        if got == entry.sha256:
            return path
        if path != cache_dir() / entry.file:
            raise CorpusError(
                f"{path} in TRANSFORMER_COURSE_MIRROR has sha256 {got}, "
                f"expected {entry.sha256}: put the right file there, or take "
                "it away and let it be downloaded."
            )
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(name: str, entry: CorpusFile, progress: bool) -> Path:
    import pooch  # slow to import, and seldom needed
    import requests

    pooch.get_logger().setLevel("WARNING")
    files = pooch.create(
        path=cache_dir(),
        base_url="",
        registry={entry.file: f"sha256:{entry.sha256}"},
        urls={entry.file: entry.url},
        retry_if_failed=RETRIES,
    )
    download = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT)
    try:
        return Path(files.fetch(entry.file, downloader=download))
    except (requests.RequestException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"corpus {name} is not complete: {entry.file} is neither in "
            f"TRANSFORMER_COURSE_MIRROR nor in the cache {cache_dir()}, and "
            f"{entry.url} could not be downloaded ({reason}). Connect to the "
            f"network once and run 'transformer-course data fetch {name}' "
            f"({find_corpus(name).bytes:,} bytes), or let one of these two "
            "variables name a folder that holds the file."
        ) from error
