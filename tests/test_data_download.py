"""Fetching corpora: from cache, mirror and network, and what can go wrong.

The network is a server on this machine, which can be told to misbehave.
"""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from transformer_course.data import download
from transformer_course.data.download import CorpusFile, ManifestEntry
from transformer_course.errors import CorpusError

FILES = {"toy/one.txt": b"first\n", "toy/two.txt": b"second\n"}


class Server(ThreadingHTTPServer):
    """Serves ``files``; the first ``failures`` answers are errors."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.failures = 0
        self.asked = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if self.server.failures:
            self.server.failures -= 1
            return self.send_error(503)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.server.files[name])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(folder))
    monkeypatch.delenv("TRANSFORMER_COURSE_MIRROR", raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    return folder


@pytest.fixture
def mirror(tmp_path, cache, monkeypatch):
    folder = tmp_path / "mirror"
    for name, content in FILES.items():
        put(folder / name, content)
    monkeypatch.setenv("TRANSFORMER_COURSE_MIRROR", str(folder))
    return folder


@pytest.fixture
def toy(server, cache, monkeypatch):
    """A corpus of two files, which the server has."""
    files = []
    for name, content in FILES.items():
        sha256 = hashlib.sha256(content).hexdigest()
        about = f"{server.url}/{name}", sha256, len(content)
        files.append(CorpusFile(name, *about))
    toy = ManifestEntry("toy", "none", "two files", tuple(files))
    monkeypatch.setattr(download, "entries", lambda: {"toy": toy})
    return toy


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def left_in(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(file.relative_to(folder).as_posix() for file in files)


def fetched():
    paths = download.fetch("toy", progress=False)
    return {name: path.read_bytes() for name, path in paths.items()}


# --- what is listed ---------------------------------------------------------


def test_the_manifest_pins_every_file():
    for corpus in download.entries().values():
        for file in corpus.files:
            assert len(file.sha256) == 64 and file.bytes > 0
            assert file.url.startswith("https://")
    names = [f.file for c in download.entries().values() for f in c.files]
    assert len(names) == len(set(names))


def test_an_unknown_corpus_is_answered_by_the_names_there_are():
    with pytest.raises(CorpusError, match="no corpus 'nothing'.*soseki"):
        download.fetch("nothing")


# --- where files come from --------------------------------------------------


def test_files_are_downloaded_once(toy, server, cache):
    assert fetched() == fetched() == FILES
    assert server.asked == list(FILES)
    assert left_in(cache) == sorted(FILES)
    assert toy.n_here == 2


def test_a_mirror_is_read_without_network_or_copies(toy, server, mirror):
    assert fetched() == FILES
    assert not server.asked and toy.n_here == 2
    (mirror / "toy/two.txt").unlink()
    assert toy.n_here == 1
    assert fetched() == FILES
    assert server.asked == ["toy/two.txt"]


def test_a_damaged_file_of_the_mirror_is_downloaded(
    toy, server, mirror, cache
):
    put(mirror / "toy/two.txt", b"other")
    assert fetched() == FILES
    assert left_in(cache) == ["toy/two.txt"]


def test_a_failure_of_the_network_is_tried_again(toy, server, cache):
    server.failures = 2
    assert fetched() == FILES


def test_a_download_that_fails_leaves_nothing(toy, server, cache):
    server.failures = 99
    with pytest.raises(CorpusError) as caught:
        fetched()
    message = str(caught.value)
    assert "\n" not in message
    for said in ("toy/one.txt", server.url, "data fetch toy", str(cache)):
        assert said in message
    assert left_in(cache) == []


def test_no_connection_is_said(toy, server):
    server.shutdown()
    server.server_close()
    with pytest.raises(CorpusError, match="could not be downloaded"):
        fetched()


def test_what_has_another_sha256_is_not_kept(toy, server, cache):
    server.files["toy/one.txt"] = b"please log in"
    with pytest.raises(CorpusError, match="could not be downloaded"):
        fetched()
    assert left_in(cache) == []


@pytest.mark.parametrize("name", download.entries())
def test_what_is_here_is_right(name):
    if not download.is_available(name):
        pytest.skip(f"{name} is not here")
    files = download.find_corpus(name).files
    assert {file.status for file in files} == {"ok"}
