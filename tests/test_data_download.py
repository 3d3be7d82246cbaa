"""Fetching corpora: from cache, mirror and network, and what can go wrong.

The network is a server on this machine, which can be told to misbehave.
"""

import hashlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlparse

import pytest

from transformer_course.data import download, manifest
from transformer_course.data.manifest import CorpusFile, ManifestEntry
from transformer_course.errors import CorpusError

FILES = {"toy/one.txt": b"first\n" * 20_000, "toy/two.txt": b"second\n"}


class Server(ThreadingHTTPServer):
    """Serves ``files``; the first ``failures`` answers go wrong."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.failures = 0
        self.way = "cut"
        self.asked = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = urlparse(self.path).path.lstrip("/")
        self.server.asked.append(name)
        fails = self.server.failures > 0
        self.server.failures -= fails
        if fails and self.server.way.isdigit():
            return self.send_error(int(self.server.way))
        body = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fails else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(folder))
    monkeypatch.delenv("TRANSFORMER_COURSE_MIRROR", raising=False)
    monkeypatch.setattr(download, "RETRY_WAITS", (0.0, 0.0))
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
    return use_toy(monkeypatch, server.url)


def use_toy(monkeypatch, url):
    files = tuple(
        CorpusFile(
            name,
            f"{url}/{name}",
            hashlib.sha256(content).hexdigest(),
            len(content),
        )
        for name, content in FILES.items()
    )
    toy = ManifestEntry("toy", "none", "two files", files)
    monkeypatch.setattr(manifest, "entries", lambda: {"toy": toy})
    return toy


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def left_in(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in Path(folder).rglob("*")
        if path.is_file()
    )


def fetched(progress=False):
    paths = download.fetch("toy", progress=progress)
    return {name: path.read_bytes() for name, path in paths.items()}


def test_an_unknown_corpus_names_the_known(toy):
    for function in (
        download.fetch,
        download.verify,
        manifest.is_available,
        manifest.corpus_status,
    ):
        with pytest.raises(CorpusError, match=r"'doll'; there are: .*toy"):
            function("doll")


# Where a corpus comes from


def test_download(toy, cache, server):
    assert fetched() == FILES
    assert left_in(cache) == sorted(FILES)
    assert fetched() == FILES
    assert server.asked == list(FILES)


def test_a_mirror_is_used_in_place(toy, cache, mirror, server):
    assert fetched() == FILES
    paths = download.fetch("toy")
    assert all(mirror in path.parents for path in paths.values())
    assert not server.asked
    assert not cache.exists()


def test_the_cache_comes_before_the_mirror(toy, cache, mirror):
    put(cache / "toy/one.txt", FILES["toy/one.txt"])
    assert download.fetch("toy")["toy/one.txt"] == cache / "toy/one.txt"


def test_what_the_mirror_lacks_is_downloaded(toy, cache, mirror, server):
    (mirror / "toy/two.txt").unlink()
    assert fetched() == FILES
    assert server.asked == ["toy/two.txt"]
    assert left_in(cache) == ["toy/two.txt"]


def test_a_damaged_file_of_the_cache_is_fetched_anew(toy, cache, server):
    put(cache / "toy/one.txt", b"damaged")
    assert fetched() == FILES
    assert server.asked == list(FILES)


def test_status(toy, cache, mirror, monkeypatch):
    assert manifest.corpus_status("toy") == "in mirror"
    monkeypatch.delenv("TRANSFORMER_COURSE_MIRROR")
    assert manifest.corpus_status("toy") == "not here"
    assert not manifest.is_available("toy")
    fetched()
    assert manifest.corpus_status("toy") == "cached"
    assert manifest.is_available("toy")
    (cache / "toy/two.txt").unlink()
    assert not manifest.is_available("toy")
    put(cache / "toy/two.txt", b"cut")
    assert not manifest.is_available("toy")


def test_list(toy):
    *built_in, listed = manifest.list_corpora()
    assert [one.name for one in built_in] == list(manifest.BUILT_IN)
    assert {one.status for one in built_in} == {"built in"}
    assert listed.name == "toy"
    assert len(listed.files) == 2
    assert listed.bytes == sum(map(len, FILES.values()))
    assert (listed.status, listed.here) == ("not here", 0)


def test_a_corpus_that_is_here_in_part(toy, cache):
    put(cache / "toy/two.txt", FILES["toy/two.txt"])
    listed = manifest.list_corpora()[-1]
    assert (listed.status, listed.here) == ("not here", 1)


# What can go wrong


def test_a_wrong_sha256(toy, cache, server):
    server.files["toy/one.txt"] = b"<html>please log in</html>"
    with pytest.raises(CorpusError) as error:
        fetched()
    got = hashlib.sha256(server.files["toy/one.txt"]).hexdigest()
    assert got in str(error.value)
    assert toy.files[0].sha256 in str(error.value)
    assert toy.files[0].url in str(error.value)
    assert left_in(cache) == []


def test_a_wrong_file_in_the_mirror(toy, mirror):
    put(mirror / "toy/two.txt", b"wrong")
    with pytest.raises(CorpusError) as error:
        fetched()
    assert str(mirror / "toy/two.txt") in str(error.value)
    assert toy.files[1].sha256 in str(error.value)


def test_a_download_cut_in_the_middle(toy, cache, server):
    server.failures = 100
    with pytest.raises(CorpusError, match="cut in the middle") as error:
        fetched()
    assert "toy/one.txt" in str(error.value)
    assert len(server.asked) == 3
    assert left_in(cache) == []


@pytest.mark.parametrize("way", ["cut", "503"])
def test_a_second_attempt_helps(toy, server, way):
    server.failures, server.way = 2, way
    assert fetched() == FILES
    assert len(server.asked) == 4


def test_a_file_that_is_gone_is_asked_for_once(toy, cache, server):
    server.failures, server.way = 1, "404"
    with pytest.raises(CorpusError, match="HTTP 404"):
        fetched()
    assert server.asked == ["toy/one.txt"]
    assert left_in(cache) == []


def test_no_network(cache, monkeypatch, capfd):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    use_toy(monkeypatch, url)
    with pytest.raises(CorpusError) as error:
        fetched(progress=True)
    message = str(error.value)
    assert "\n" not in message
    assert capfd.readouterr().err == ""  # no bar for nothing
    for part in (
        "corpus toy",
        f"{url}/toy/one.txt",
        "no connection",
        str(cache),
        "TRANSFORMER_COURSE_MIRROR",
        "TRANSFORMER_COURSE_CACHE",
        "transformer-course data fetch toy",
    ):
        assert part in message
    assert left_in(cache) == []


def test_a_damaged_file_of_the_cache_and_no_network(toy, cache, server):
    server.failures, server.way = 1, "404"
    put(cache / "toy/one.txt", b"damaged")
    with pytest.raises(CorpusError) as error:
        fetched()
    for part in (
        f"{cache / 'toy/one.txt'} is damaged",
        hashlib.sha256(b"damaged").hexdigest(),
        toy.files[0].sha256,
        "HTTP 404",
        "transformer-course data fetch toy",
    ):
        assert part in str(error.value)
    assert "neither in the cache" not in str(error.value)
    assert "\n" not in str(error.value)
    assert (cache / "toy/one.txt").read_bytes() == b"damaged"


def test_verify(toy, cache, mirror, monkeypatch):
    assert download.verify("toy") == dict.fromkeys(FILES, "ok")
    monkeypatch.delenv("TRANSFORMER_COURSE_MIRROR")
    assert download.verify("toy") == dict.fromkeys(FILES, "not here")
    put(cache / "toy/two.txt", b"SECOND\n")
    with pytest.raises(CorpusError, match="1 of 2") as error:
        download.verify("toy")
    assert str(cache / "toy/two.txt") in str(error.value)
    assert "Delete them" in str(error.value)


def test_what_is_here_is_right():
    here = [
        name
        for name in ("small_parallel_enja", "sentence_polarity")
        if manifest.is_available(name)
    ]
    if not here:
        pytest.skip(
            "needs the corpus small_parallel_enja or sentence_polarity, "
            "neither cached nor in a mirror"
        )
    for name in here:
        assert set(download.verify(name).values()) == {"ok"}
