"""Corpora from the web: where they are, whether they are right.

``manifest.json`` holds, for each file of each corpus, a pinned URL, its size
and its sha256. A file is looked for in the cache, then in a mirror, then on
the network, and its sha256 is checked wherever it comes from.

Two environment variables say where:

``TRANSFORMER_COURSE_CACHE``
    the folder that downloads are kept in (default: the system's cache);
``TRANSFORMER_COURSE_MIRROR``
    a folder laid out like the manifest's ``file`` entries, used in place.
"""

import errno
import hashlib
import json
import os
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Literal

from tqdm import tqdm

from transformer_course.errors import CorpusError

with warnings.catch_warnings():
    # pooch loads tqdm's bar for notebooks, which misses ipywidgets aloud
    warnings.filterwarnings("ignore", message="IProgress not found")
    import pooch

FORMAT = 1
"""The format of ``manifest.json`` that this module reads."""
BUILT_IN = {"grammar": "bilingual grammar of English and Japanese, built in"}
"""Corpora that are made, not fetched."""
TIMEOUT = 30
"""Seconds that the network may stay silent."""
RETRY_WAITS = (1.0, 3.0)
"""Seconds to wait before each further attempt."""

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
class Corpus:
    """A corpus, as the manifest has it."""

    name: str
    licence: str
    description: str
    files: tuple[CorpusFile, ...]

    @property
    def bytes(self) -> int:
        """Size of all its files together."""
        return sum(entry.bytes for entry in self.files)


@cache
def corpora() -> dict[str, Corpus]:
    """Every corpus of the manifest, by name."""
    path = Path(__file__).with_name("manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    if manifest["format"] != FORMAT:
        raise CorpusError(
            f"{path} has format {manifest['format']}, but this version reads "
            f"{FORMAT}: install the package anew."
        )
    return {
        name: Corpus(
            name,
            entry["licence"],
            entry["description"],
            tuple(CorpusFile(**file) for file in entry["files"]),
        )
        for name, entry in manifest["corpora"].items()
    }


def find_corpus(name: str) -> Corpus:
    """What the manifest says about one corpus.

    Raises:
        CorpusError: the manifest has no such corpus; those it has are named.
    """
    if name in BUILT_IN:
        return Corpus(name, "MIT", BUILT_IN[name], ())
    if name not in corpora():
        raise CorpusError(
            f"there is no corpus {name!r}; there are: "
            f"{', '.join([*BUILT_IN, *corpora()])}."
        )
    return corpora()[name]


def cache_dir() -> Path:
    """The folder that downloads are kept in; it need not exist yet."""
    named = os.environ.get("TRANSFORMER_COURSE_CACHE")
    return Path(named or pooch.os_cache("transformer-course")).expanduser()


def mirror_dir() -> Path | None:
    """The folder that is looked into before the network, if one is named."""
    named = os.environ.get("TRANSFORMER_COURSE_MIRROR")
    return Path(named).expanduser() if named else None


def corpus_status(name: str) -> Status:
    """Where a corpus is, judged by the sizes of its files; no network.

    Raises:
        CorpusError: no such corpus.
    """
    files = find_corpus(name).files
    if not files:
        return "built in"
    if all(_has_size(cache_dir() / entry.file, entry) for entry in files):
        return "cached"
    if all(_local_copy(entry) for entry in files):
        return "in mirror"
    return "not here"


def is_available(name: str) -> bool:
    """Whether a corpus can be had without the network.

    Raises:
        CorpusError: no such corpus.
    """
    return corpus_status(name) != "not here"


@dataclass(frozen=True)
class CorpusInfo:
    """One line of :func:`list_corpora`."""

    name: str
    description: str
    licence: str
    files: int
    """Number of files."""
    bytes: int
    """Size of all files together."""
    status: Status
    here: int
    """Number of files that are here, of the right size."""


def list_corpora() -> list[CorpusInfo]:
    """Every corpus with its size, licence and whether it is here."""
    found = [find_corpus(name) for name in [*BUILT_IN, *corpora()]]
    return [
        CorpusInfo(
            corpus.name,
            corpus.description,
            corpus.licence,
            len(corpus.files),
            corpus.bytes,
            corpus_status(corpus.name),
            sum(_local_copy(entry) is not None for entry in corpus.files),
        )
        for corpus in found
    ]


def fetch(name: str, progress: bool = True) -> dict[str, Path]:
    """Have every file of a corpus on this machine, and checked.

    Args:
        name: a corpus of the manifest.
        progress: show a bar while downloading.

    Returns:
        The path of each file, by its ``file`` entry in the manifest.

    Raises:
        CorpusError: no such corpus; a file of the mirror is not the one that
            the manifest means; a download fails, is cut or is wrong; there
            is no room for it.
    """
    corpus = find_corpus(name)
    here = {entry.file: _checked_copy(entry) for entry in corpus.files}
    absent = [entry for entry in corpus.files if here[entry.file] is None]
    if absent:
        with tqdm(
            total=sum(entry.bytes for entry in absent),
            desc=name,
            unit="B",
            unit_scale=True,
            disable=not progress,
            delay=1e-6,  # no bar before the first byte
            file=sys.stderr,
        ) as bar:
            for entry in absent:
                here[entry.file] = _download(name, entry, bar)
    return here


def verify(name: str) -> dict[str, Literal["ok", "not here"]]:
    """Compute the sha256 of every file that is here anew.

    Returns:
        For each file of the corpus whether it is here.

    Raises:
        CorpusError: no such corpus, or files that are not what the manifest
            says; they are named.
    """
    copies = {
        entry: _local_copy(entry, any_size=True)
        for entry in find_corpus(name).files
    }
    damaged = [
        path
        for entry, path in copies.items()
        if path is not None and _sha256(path) != entry.sha256
    ]
    if damaged:
        raise CorpusError(
            f"{len(damaged)} of {len(copies)} files of {name} have a wrong "
            f"sha256: {', '.join(map(str, damaged))}. {_remedy(name, damaged)}"
        )
    return {
        entry.file: "not here" if path is None else "ok"
        for entry, path in copies.items()
    }


def _remedy(name: str, damaged: list[Path]) -> str:
    """What to do about damaged files: those of a mirror may be shared."""
    if all(cache_dir() in path.parents for path in damaged):
        return f"Delete them and fetch {name} again."
    return (
        f"What is in the cache {cache_dir()} may be deleted and fetched "
        "again; what is in TRANSFORMER_COURSE_MIRROR is for whoever keeps "
        "it to put right."
    )


def _has_size(path: Path, entry: CorpusFile) -> bool:
    return path.is_file() and path.stat().st_size == entry.bytes


def _places(entry: CorpusFile) -> list[Path]:
    folders = [cache_dir(), mirror_dir()]
    return [folder / entry.file for folder in folders if folder]


def _local_copy(entry: CorpusFile, any_size: bool = False) -> Path | None:
    """Where the file is without the network; its content is not looked at."""
    for path in _places(entry):
        if path.is_file() and (any_size or _has_size(path, entry)):
            return path
    return None


def _checked_copy(entry: CorpusFile) -> Path | None:
    """Like :func:`_local_copy`, with the right sha256.

    A damaged file of the cache counts as absent, since it can be fetched
    again; one of the mirror is the user's, and is an error.
    """
    for path in _places(entry):
        if not path.is_file():
            continue
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
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read ({error.strerror}): check its rights, or "
            "delete it and fetch the corpus again."
        ) from error


def _download(name: str, entry: CorpusFile, bar: tqdm) -> Path:
    """Download one file into the cache: wholly, or not at all."""
    target = cache_dir() / entry.file
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}."
        )
    except OSError as error:
        raise _cannot_write(name, target, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            _download_with_retries(name, entry, file, bar)
        _check_download(entry, Path(temporary))
        os.replace(temporary, target)
    except OSError as error:
        raise _cannot_write(name, target, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)
    return target


class _CountedFile:
    """A file that tells a progress bar what is written to it."""

    def __init__(self, file: BinaryIO, bar: tqdm):
        self.file, self.bar, self.written = file, bar, 0

    def write(self, chunk: bytes) -> None:
        self.file.write(chunk)
        self.written += len(chunk)
        self.bar.update(len(chunk))

    def flush(self) -> None:
        self.file.flush()

    def start_again(self) -> None:
        if self.written:
            self.bar.update(-self.written)
        self.written = 0
        self.file.seek(0)
        self.file.truncate()


def _download_with_retries(
    name: str, entry: CorpusFile, file: BinaryIO, bar: tqdm
) -> None:
    import requests  # as pooch does: it is slow to import

    downloader = pooch.HTTPDownloader(timeout=TIMEOUT, chunk_size=2**16)
    counted = _CountedFile(file, bar)
    for wait in (*RETRY_WAITS, None):
        try:
            return downloader(entry.url, counted, None)
        except requests.RequestException as error:
            if wait is None or _is_refused(error):
                raise _cannot_download(name, entry, error) from error
            counted.start_again()
            time.sleep(wait)


def _is_refused(error: Exception) -> bool:
    """Whether the server answered that it will not send the file."""
    response = getattr(error, "response", None)
    return response is not None and 400 <= response.status_code < 500


def _check_download(entry: CorpusFile, path: Path) -> None:
    got = _sha256(path)
    if got != entry.sha256:
        raise CorpusError(
            f"{entry.url} gave {path.stat().st_size:,} bytes with sha256 "
            f"{got}, expected {entry.bytes:,} bytes with {entry.sha256}; "
            "nothing was kept. Try again; a network that wants a login may "
            "have answered in its place."
        )


def _cannot_download(
    name: str, entry: CorpusFile, error: Exception
) -> CorpusError:
    mirror = mirror_dir() or "not set"
    return CorpusError(
        f"corpus {name} is not complete: {entry.file} is neither in the cache "
        f"{cache_dir()} nor in the mirror (TRANSFORMER_COURSE_MIRROR: "
        f"{mirror}), and {entry.url} could not be downloaded "
        f"({_reason(error)}). Connect to the network once and run "
        f"'transformer-course data fetch {name}', or let "
        f"TRANSFORMER_COURSE_MIRROR name a folder that holds {entry.file}, "
        "or TRANSFORMER_COURSE_CACHE the cache of another machine."
    )


def _reason(error: Exception) -> str:
    """What went wrong with a download, in a few words."""
    import requests

    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code} {response.reason}"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection was cut in the middle"
    if isinstance(error, requests.Timeout):
        return f"no answer within {TIMEOUT} seconds"
    if isinstance(error, requests.ConnectionError):
        return "no connection to the server"
    return type(error).__name__


def _cannot_write(name: str, target: Path, error: OSError) -> CorpusError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    reason = "the disk is full" if full else error.strerror or str(error)
    return CorpusError(
        f"corpus {name} cannot be kept at {target}: {reason}; nothing was "
        f"left there. It takes {find_corpus(name).bytes:,} bytes: make room, "
        "or let TRANSFORMER_COURSE_CACHE name another folder."
    )
