"""Soseki as training text: works kept apart, nothing across a chapter."""

import pytest

from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.aozora.prose import (
    DEV,
    TEST,
    next_sentences,
    running_text,
)
from transformer_course.data.corpora import find, load_corpus
from transformer_course.data.download import is_available

needs_soseki = pytest.mark.skipif(
    not is_available("soseki"), reason="soseki is not here"
)
TITLES = ("坊っちゃん", *DEV, "草枕", *TEST)


def work(title: str) -> Work:
    """Two chapters of two lines; every sentence names where it stands."""
    lines = [
        [f"{title}{c}の{line}のイ。{title}{c}の{line}のロ。" for line in "12"]
        for c in "上下"
    ]
    chapters = (
        Chapter(c, tuple(t)) for c, t in zip("上下", lines, strict=True)
    )
    return Work(title, "夏目漱石", (*chapters, Chapter("題のみ", ())))


@pytest.fixture
def works():
    return [work(title) for title in TITLES]


@pytest.mark.parametrize("make", [next_sentences, running_text])
def test_each_part_has_its_own_works(works, make):
    splits = make(works)
    parts = {"train": ("坊っちゃん", "草枕"), "dev": DEV, "test": TEST}
    for part, titles in parts.items():
        text = getattr(splits, part)
        for sentence in (*text.src, *text.tgt):
            assert not sentence or sentence.startswith(titles)
        for title in titles:
            assert any(t.startswith(title) for t in text.tgt)


def test_a_pair_is_a_sentence_and_the_next_of_the_same_chapter(works):
    pairs = list(next_sentences(works).train)
    assert len(pairs) == 2 * 2 * 3
    for src, tgt in pairs:
        assert src.split("の")[0] == tgt.split("の")[0]
        assert src < tgt


def test_running_text_keeps_paragraphs_and_chapters(works):
    text = running_text(works).train
    assert set(text.src) == {""}
    assert text.tgt == [
        "\n".join(chapter.lines)
        for title in ("坊っちゃん", "草枕")
        for chapter in work(title).chapters[:2]
    ]


@needs_soseki
def test_the_twenty_works():
    splits = load_corpus("soseki", "ja", "ja")
    sizes = [len(part) for part in (splits.train, splits.dev, splits.test)]
    assert sizes == [68_616, 1_235, 3_515]
    text = find("soseki").texts()
    held_out = "".join([*text.dev.tgt, *text.test.tgt])
    assert len(held_out) > 180_000
    trained = set("".join(text.train.tgt).split("。"))
    longer = [s for s in held_out.split("。") if len(s) > 20]
    assert sum(s in trained for s in longer) < len(longer) / 1000
