"""Texts with labels: what each part holds, and what it does not share."""

import zipfile
from collections import Counter
from itertools import combinations

import pytest
from corpus_here import needs

from transformer_course.data import labelled
from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.corpora import load_labelled
from transformer_course.data.labelled import (
    CLASSES,
    FOLDS,
    PASSAGE,
    SHORTEST,
    LabelledText,
    folds,
    passages,
)


def text(labels: list[int]) -> LabelledText:
    """A text for each label."""
    texts = [f"text {i}" for i in range(len(labels))]
    return LabelledText(texts, labels, ("a", "b", "c"), list(texts))


def work(*chapters: list[str], author: str = "太宰治") -> Work:
    return Work("題", author, tuple(Chapter("", tuple(c)) for c in chapters))


# --- what texts with labels can do -------------------------------------------


def test_each_beginning_of_what_is_mixed_has_all_classes():
    mixed = text([0] * 60 + [1] * 30 + [2] * 10).mixed()
    for tens in (1, 2, 5, 10):
        found = Counter(mixed.labels[: 10 * tens])
        assert found == {0: 6 * tens, 1: 3 * tens, 2: tens}


def test_mixing_moves_texts_with_their_labels_and_is_always_the_same():
    whole = text([0, 1, 2] * 20)
    mixed = whole.mixed()
    label_of = dict(zip(whole.texts, whole.labels, strict=True))
    assert [label_of[t] for t in mixed.texts] == mixed.labels
    assert mixed.groups == mixed.texts
    assert sorted(mixed.texts) == sorted(whole.texts) != mixed.texts
    turned = whole.take(reversed(range(len(whole)))).mixed()
    assert turned == mixed


def test_a_cap_keeps_the_first_of_each_class():
    found = text([0, 0, 1, 0, 1, 2]).at_most(2)
    assert found.texts == ["text 0", "text 1", "text 2", "text 4", "text 5"]


def test_equal_sentences_are_in_one_fold():
    twice = LabelledText(["x"] * 2 + ["y"], [0, 1, 0], ("a", "b"), ["g"] * 3)
    first, second, _ = folds(twice)
    assert first == second
    found = folds(text([0] * 1000))
    assert set(found) == set(range(FOLDS))


# --- passages ----------------------------------------------------------------


def test_passages_are_whole_sentences_of_one_chapter():
    sentence = "あ" * 59 + "。"
    first, second = [sentence * 2, sentence * 3], [sentence]
    found = list(passages(work(first, second)))
    assert found == [sentence * 3, sentence * 2]


def test_a_passage_is_no_longer_than_asked_unless_it_is_one_sentence():
    long, short = "あ" * (2 * PASSAGE) + "。", "い" * 50 + "。"
    found = list(passages(work([short * 5 + long + short * 2])))
    assert found == [short * 3, short * 2, long, short * 2]
    assert min(map(len, found)) >= SHORTEST


def test_what_is_too_short_at_a_chapters_end_is_left_out():
    assert list(passages(work(["う" * (SHORTEST - 2) + "。"]))) == []


# --- the corpora -------------------------------------------------------------


def shared(sets):
    """What stands in two of some sets."""
    return any(a & b for a, b in combinations(sets, 2))


@needs("sentence_polarity")
def test_sentence_polarity_in_three_parts_that_share_no_sentence():
    splits = load_labelled("sentence_polarity")
    parts = splits.train, splits.dev, splits.test
    assert not shared(set(part.texts) for part in parts)
    everything = Counter(label for part in parts for label in part.labels)
    assert everything == {0: 5331, 1: 5331}
    assert f"{len(splits.train):,} sentences to learn from" in splits.how


@pytest.mark.exhaustive
@needs("authors", "soseki")
def test_authors_are_parted_by_work_and_balanced():
    splits = load_labelled("authors")
    caps = {
        "train": labelled.MAX_TRAIN,
        "dev": labelled.MAX_HELD_OUT,
        "test": labelled.MAX_HELD_OUT,
    }
    parts = {name: getattr(splits, name) for name in caps}
    for name, part in parts.items():
        counts = Counter(part.labels)
        assert set(counts) == set(range(11))
        assert max(counts.values()) == caps[name]
    assert not shared(set(part.groups) for part in parts.values())
    assert len(set(splits.train.labels[:22])) == 11


def test_reviews_are_read_as_they_stand_but_for_a_dash(tmp_path, monkeypatch):
    path = tmp_path / "sentence_polarity.zip"
    monkeypatch.setattr(
        labelled, "fetch", lambda *_: {"sentence_polarity.zip": path}
    )
    with zipfile.ZipFile(path, "w") as archive:
        for part, line in (("neg", "bad \x97 bad . \n\n"), ("pos", "café")):
            archive.writestr(f"sentence_polarity/rt-polarity.{part}", line)
    found = labelled.reviews()
    assert found.texts == ["bad — bad .", "café"]
    assert found.labels == [0, 1]
    assert found.names == CLASSES["sentence_polarity"]
