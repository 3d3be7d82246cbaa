"""Corpora by name: one table, which is light, and what it refuses."""

import pytest

from transformer_course.data import small_parallel_enja
from transformer_course.data.corpora import (
    CORPORA,
    Corpus,
    load_corpus,
    manifest_entry,
)
from transformer_course.data.download import entries, is_available
from transformer_course.data.text import unseen
from transformer_course.errors import CorpusError

needs_enja = pytest.mark.skipif(
    not is_available("small_parallel_enja"),
    reason="needs the corpus small_parallel_enja, which is neither cached "
    "nor in a mirror",
)


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
        (("en", "ja"), (None, "en"), ("ja", "en")),
        (("en", "ja"), ("de", None), ("de", "ja")),
        (("ja",), (None, None), ("ja", "ja")),
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


@pytest.fixture(scope="module")
def enja():
    return small_parallel_enja.load(progress=False)


@needs_enja
def test_counts_of_small_parallel_enja(enja):
    sizes = [len(part) for part in (enja.train, enja.dev, enja.test)]
    assert sizes == [50_000, 500, 500]
    for part in (enja.train, enja.dev, enja.test):
        for sentence in (*part.src, *part.tgt):
            assert 4 <= len(sentence.split()) <= 16


@needs_enja
def test_what_small_parallel_enja_shows_before_the_test(enja):
    assert len(unseen(enja.test, enja.train)) == 500 - 60
    assert len(unseen(enja.dev, enja.train)) == 500 - 77
    back = enja.swap()
    assert len(unseen(back.test, back.train)) == 500
    assert len(unseen(back.dev, back.train)) == 500
    pairs = set(enja.train)
    assert pairs.isdisjoint(enja.test)
    assert pairs.isdisjoint(enja.dev)


@needs_enja
def test_small_parallel_enja_in_either_direction(enja):
    assert load_corpus("small_parallel_enja", "en", "ja") == enja
    assert load_corpus("small_parallel_enja", "ja", "en") == enja.swap()
