"""Having the files of a corpus here, and right: fetched, and checked.

A file is looked for in the cache, then in a mirror, then on the network, and
its sha256 is checked wherever it comes from.
"""

import errno
import hashlib
import sys
import time
import warnings
from pathlib import Path
from typing import BinaryIO, Literal

from tqdm import tqdm

from transformer_course import files
from transformer_course.data.manifest import (
    CorpusFile,
    cache_dir,
    copies,
    find_corpus,
    mirror_dir,
)
from transformer_course.errors import CorpusError

TIMEOUT = 30
"""Seconds that the network may stay silent."""
RETRY_WAITS = (1.0, 3.0)
"""Seconds to wait before each further attempt."""


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
    found = {
        entry: next(copies(entry), None) for entry in find_corpus(name).files
    }
    damaged = [
        path
        for entry, path in found.items()
        if path is not None and _sha256(path) != entry.sha256
    ]
    if damaged:
        raise CorpusError(
            f"{len(damaged)} of {len(found)} files of {name} have a wrong "
            f"sha256: {', '.join(map(str, damaged))}. {_remedy(name, damaged)}"
        )
    return {
        entry.file: "not here" if path is None else "ok"
        for entry, path in found.items()
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


def _checked_copy(entry: CorpusFile) -> Path | None:
    """Where the file is with the right sha256, without the network.

    A damaged file of the cache counts as absent, since it can be fetched
    again; one of the mirror is the user's, and is an error.
    """
    for path in copies(entry):
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
        with files.writing(target) as file:
            _download_with_retries(name, entry, file, bar)
            file.flush()
            _check_download(entry, Path(file.name))
    except OSError as error:
        raise _cannot_write(name, target, error) from error
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
    # imported here, since they are slow to import and seldom needed
    import requests

    with warnings.catch_warnings():
        # pooch loads tqdm's bar for notebooks, which misses ipywidgets aloud
        warnings.filterwarnings("ignore", message="IProgress not found")
        import pooch

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
    return CorpusError(
        f"corpus {name} is not complete: {_absence(entry)}, and {entry.url} "
        "could not be downloaded "
        f"({_reason(error)}). Connect to the network once and run "
        f"'transformer-course data fetch {name}', or let "
        f"TRANSFORMER_COURSE_MIRROR name a folder that holds {entry.file}, "
        "or TRANSFORMER_COURSE_CACHE the cache of another machine."
    )


def _absence(entry: CorpusFile) -> str:
    """Why a file has to be downloaded."""
    mirror = mirror_dir() or "not set"
    cached = cache_dir() / entry.file
    if cached.is_file():
        return (
            f"{cached} is damaged (its sha256 is {_sha256(cached)}, expected "
            f"{entry.sha256}), it is not in the mirror "
            f"(TRANSFORMER_COURSE_MIRROR: {mirror})"
        )
    return (
        f"{entry.file} is neither in the cache {cache_dir()} nor in the "
        f"mirror (TRANSFORMER_COURSE_MIRROR: {mirror})"
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
