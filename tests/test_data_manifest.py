"""What the manifest says, and what is wrong with a damaged one."""

import json
from pathlib import Path

import pytest

from transformer_course.data import download, manifest
from transformer_course.errors import CorpusError

FILE = {"file": "a", "url": "https://a", "sha256": "0", "bytes": 1}


@pytest.fixture
def use_manifest(tmp_path, monkeypatch):
    """Put other bytes in the place of ``manifest.json``."""
    monkeypatch.setattr(manifest, "__file__", str(tmp_path / "manifest.py"))

    def use(content):
        (tmp_path / "manifest.json").write_bytes(content)

    return use


# The manifest itself


def test_the_manifest_is_whole():
    names = list(manifest.entries())
    assert names == [
        "small_parallel_enja",
        "soseki",
        "authors",
        "haiku",
        "sentence_polarity",
        "fashion_mnist",
    ]
    seen = set()
    for corpus in manifest.entries().values():
        assert corpus.licence
        assert corpus.description
        for entry in corpus.files:
            assert entry.url.startswith("https://")
            assert len(entry.sha256) == 64
            assert entry.bytes > 0
            assert ".." not in entry.file.split("/")
            assert not entry.file.startswith("/")
            seen.add(entry.file)
    assert len(seen) == sum(
        len(corpus.files) for corpus in manifest.entries().values()
    )
    assert len(manifest.entries()["soseki"].files) == 20
    authors = manifest.entries()["authors"].files
    assert len({entry.label for entry in authors}) == 10


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "FileNotFoundError"),
        (b"", "JSONDecodeError"),
        (b'{"format": 1, "corpora": {', "JSONDecodeError"),
        (b"\xff", "UnicodeDecodeError"),
        (b"[]", "TypeError"),
        (b"{}", "KeyError"),
        (b'{"format": 2, "corpora": {}}', "format 2"),
        (b'{"format": 1, "corpora": []}', "AttributeError"),
        (b'{"format": 1, "corpora": {"toy": 7}}', "TypeError"),
        (b'{"format": 1, "corpora": {"toy": {"licence": ""}}}', "TypeError"),
    ],
)
def test_a_damaged_manifest(use_manifest, content, said):
    if content is not None:
        use_manifest(content)
    with pytest.raises(CorpusError, match=said) as error:
        manifest.entries.__wrapped__()
    assert "manifest.json" in str(error.value)
    assert "Install the package anew" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": "1"},
        {"bytes": None},
        {"file": 3},
        {"sha256": ["0"]},
        {"colour": "red"},
    ],
)
def test_a_file_with_values_of_other_types(use_manifest, change):
    corpus = {"licence": "", "description": "", "files": [FILE | change]}
    content = {"format": 1, "corpora": {"toy": corpus}}
    use_manifest(json.dumps(content).encode())
    with pytest.raises(CorpusError, match="TypeError"):
        manifest.entries.__wrapped__()


def test_the_built_in_corpus_needs_nothing():
    assert download.fetch("grammar") == {}
    assert download.verify("grammar") == {}
    assert manifest.is_available("grammar")
    assert manifest.corpus_status("grammar") == "built in"


def test_the_default_cache_is_the_systems(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_COURSE_CACHE", raising=False)
    assert manifest.cache_dir().name == "transformer-course"


@pytest.mark.parametrize("name", ["CACHE", "MIRROR"])
def test_a_folder_of_a_user_that_is_not(monkeypatch, name):
    monkeypatch.setenv(f"TRANSFORMER_COURSE_{name}", "~nobody-of-that-name/x")
    with pytest.raises(CorpusError, match=f"_{name} is '~nobody-of") as error:
        manifest.corpus_status("soseki")
    assert "\n" not in str(error.value)


def test_a_home_folder_is_found(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", "~/corpora")
    assert manifest.cache_dir() == Path.home() / "corpora"
