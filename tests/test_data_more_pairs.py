"""Laws of pairs that are learned beside a corpus."""

import pytest

from transformer_course.data import more_pairs, own_text
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import CorpusError

SPLITS = Splits(
    ParallelText(["one", "two"], ["一", "二"]),
    ParallelText(["three"], ["三"]),
    ParallelText(["four"], ["四"]),
)
NAMES = ("m.en", "m.ja")


@pytest.fixture
def more(tmp_path, monkeypatch):
    """Puts pairs into two files, and adds them to the splits."""
    monkeypatch.chdir(tmp_path)

    def add(*pairs: tuple[str, str], sha256=None) -> list[tuple[str, str]]:
        for name, lines in zip(NAMES, zip(*pairs, strict=True), strict=True):
            text = "".join(f"{line}\n" for line in lines)
            (tmp_path / name).write_text(text, encoding="utf-8")
        found = more_pairs.added(SPLITS, NAMES, sha256)
        assert (found.dev, found.test) == (SPLITS.dev, SPLITS.test)
        given = list(SPLITS.train)
        assert list(found.train)[: len(given)] == given
        return list(found.train)[len(given) :]

    return add


def test_they_come_after_the_corpus_in_their_order(more):
    pairs = [("two", "弐"), ("a one", "一"), ("five", "五")]
    assert more(*pairs) == pairs


@pytest.mark.parametrize("sentence", ["three", "三", "four", "四"])
@pytest.mark.parametrize("side", [0, 1])
def test_nothing_that_is_judged_comes_in(more, sentence, side, capsys):
    pair = ("six", "六")
    other = [*pair]
    other[side] = sentence
    assert more(pair, tuple(other)) == [pair]
    assert "1 more pairs to learn from; 1 left out" in capsys.readouterr().err


def test_what_is_there_already_is_not_learned_twice(more, capsys):
    assert more(("one", "一"), ("one", "壱"), ("one", "壱")) == [("one", "壱")]
    assert "and 2 that were there already" in capsys.readouterr().err


def test_another_file_than_was_learned_from_is_refused(more):
    more(("five", "五"))
    known = own_text.digests(NAMES)
    assert more(("five", "五"), sha256=known) == [("five", "五")]
    with pytest.raises(CorpusError, match="m.en is not .*more-sha256 None"):
        more(("six", "六"), sha256=known)
