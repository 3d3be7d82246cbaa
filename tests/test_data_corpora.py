"""Corpora by name: one table, which is light, and what it refuses."""

import pytest
from corpus_here import needs

from transformer_course.data.corpora import (
    CORPORA,
    Corpus,
    load_corpus,
    manifest_entry,
)
from transformer_course.data.download import entries
from transformer_course.errors import CorpusError


def test_the_table_and_the_manifest_name_the_same_corpora():
    assert set(entries()) < set(CORPORA)
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        about = manifest_entry(corpus)
        assert about.licence and about.description
        assert bool(about.files) == (not corpus.licence)


def test_what_no_training_reads_yet():
    with pytest.raises(CorpusError, match="authors .* these can: grammar,"):
        load_corpus("authors", "ja", "ja")


def test_an_unknown_corpus():
    with pytest.raises(CorpusError, match=r"'enfr'; there are: grammar, "):
        load_corpus("enfr")


@pytest.mark.parametrize(
    ("languages", "given", "found"),
    [
        (("en", "ja"), (None, None), ("en", "ja")),
        (("en", "ja"), ("ja", None), ("ja", "en")),
        (("en", "ja"), ("de", None), ("de", "ja")),
        (("ja",), (None, "ja"), ("ja", "ja")),
        ((), (None, None), (None, None)),
    ],
)
def test_languages_that_are_not_given_are_the_corpus_s(
    languages, given, found
):
    assert Corpus("x", languages).direction(*given) == found


@pytest.mark.parametrize(("src", "tgt"), [("en", "en"), ("en", "de")])
def test_an_unknown_direction(src, tgt):
    with pytest.raises(CorpusError, match=f"from '{src}' to '{tgt}'"):
        load_corpus("grammar", src, tgt)


def test_a_corpus_is_read_in_either_direction(small_corpus):
    assert load_corpus("grammar", "ja", "en") == load_corpus("grammar").swap()


@needs("small_parallel_enja")
def test_counts_of_small_parallel_enja():
    splits = load_corpus("small_parallel_enja")
    parts = splits.train, splits.dev, splits.test
    assert [len(part) for part in parts] == [50_000, 500, 500]
    for part in parts:
        for sentence in (*part.src, *part.tgt):
            assert 4 <= len(sentence.split()) <= 16
