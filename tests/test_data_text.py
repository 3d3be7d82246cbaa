"""Parallel text: reading it, and what is wrong with other people's files."""

import unicodedata

import pytest

from transformer_course.data.text import (
    ParallelText,
    Splits,
    read_columns,
    read_lines,
    read_parallel,
    unseen,
)
from transformer_course.errors import CorpusError


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_text_goes_both_ways():
    text = ParallelText(["a", "b"], ["c", "d"], ("13a", "char"))
    back = ParallelText(["c", "d"], ["a", "b"], ("char", "13a"))
    assert text.swap() == back
    assert list(text) == [("a", "c"), ("b", "d")]
    parts = [text, text.take([0]), text.take([1])]
    assert parts[2] == ParallelText(["b"], ["d"], ("13a", "char"))
    assert Splits(*parts, "how").swap() == Splits(
        *(part.swap() for part in parts), "how"
    )


def test_sides_of_different_lengths():
    with pytest.raises(CorpusError, match=r"2 source .* 1 target"):
        ParallelText(["a", "b"], ["c"])


def test_unseen_looks_at_the_source_side_only():
    train = ParallelText(["a", "b"], ["x", "y"])
    test = ParallelText(["a", "c", "x"], ["z", "y", "x"])
    assert unseen(test, train) == [1, 2]
    assert unseen(test.swap(), train.swap()) == [0]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\rtwo\r", ["one", "two"]),
        (b"one\ra\n\rtwo\r\n", ["one\ra", "\rtwo"]),
        (b"one\r\r\ntwo\r\r\n", ["one", "two"]),
        (b"one\n\ntwo", ["one", "", "two"]),
        ("\ufeff一\n".encode(), ["一"]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc"]),
    ],
)
def test_lines(write, content, lines):
    assert read_lines(write("text", content)) == lines


def test_bytes_that_are_not_utf8(write):
    path = write("text.ja", "良い\nか".encode() + "猫".encode("cp932"))
    said = "text.ja is not UTF-8: line 2, byte 4 is 0x94.*iconv"
    with pytest.raises(CorpusError, match=said):
        read_lines(path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "iso2022_jp", "iso2022_kr"])
def test_what_only_looks_like_utf8(write, encoding):
    content = "cat 犬".encode(encoding, "ignore")
    with pytest.raises(CorpusError, match="is not UTF-8.* UTF-16 have"):
        read_lines(write("text.ja", content))


@pytest.mark.parametrize("name", ["absent", "."])
def test_a_file_that_cannot_be_read(tmp_path, name):
    with pytest.raises(CorpusError, match="cannot be read"):
        read_lines(tmp_path / name)


def test_two_files(write):
    text = read_parallel(write("en", b"one\ntwo\n"), write("ja", b"1\n2"))
    assert list(text) == [("one", "1"), ("two", "2")]


def test_files_with_different_line_counts(write):
    en, ja = write("a.en", b"one\ntwo\n"), write("a.ja", b"1\n")
    with pytest.raises(CorpusError, match="en has 2 lines but .*ja has 1"):
        read_parallel(en, ja)


def test_empty_files(write):
    with pytest.raises(CorpusError, match="are empty"):
        read_parallel(write("a.en", b""), write("a.ja", b""))


@pytest.mark.parametrize("text", ["が", "각"])
def test_characters_that_were_taken_apart_are_put_together(write, text):
    apart = unicodedata.normalize("NFD", text)
    assert read_lines(write("text", apart.encode())) == [text]


def test_one_file_of_two_columns(write):
    text = read_columns(write("a.tsv", b"one\t1\r\ntwo\t2\n"))
    assert list(text) == [("one", "1"), ("two", "2")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"one\t1\ntwo\n", "line 2 of .* has 1 columns"),
        (b"one\t1\tCC BY\n", "line 1 of .* has 3 columns.*cut -f1,2"),
        (b"", "is empty"),
    ],
)
def test_one_file_without_two_columns(write, content, words):
    with pytest.raises(CorpusError, match=words):
        read_columns(write("a.tsv", content))
