"""What is stored of a run agrees with the scores beside it."""

import numpy as np
import pytest

from experiments import translations
from transformer_course import runs
from transformer_course.data.text import ParallelText
from transformer_course.errors import CourseError
from transformer_course.score import bleu_of_counts

TEXT = ParallelText(
    ["the cat drinks milk", "dogs sleep", "he reads"],
    ["猫 が ミルク を 飲 む 。", "犬 が 寝 る 。", "彼 は 本 を 読 む 。"],
)
WRITTEN = ["猫 は ミルク を 飲 む 。", "犬 が 寝 る", "彼 は 読 む 。"]


def test_counts_give_the_scores_of_the_rows():
    counts = translations.counts_of("best", 5, WRITTEN, TEXT, "ja")
    rows = translations.score_rows("best", 5, WRITTEN, TEXT, [0, 2])
    words = counts["best-5-words"]
    for row, places in zip(rows, ([0, 1, 2], [0, 2]), strict=True):
        assert round(bleu_of_counts(words[places]), 2) == row["bleu"]


def test_japanese_is_counted_in_every_cut_english_where_it_has_spaces():
    counts = translations.counts_of("best", 1, WRITTEN, TEXT, "ja")
    assert set(counts) == {f"best-1-{cut}" for cut in translations.CUTS}
    english = translations.counts_of("best", 1, TEXT.src, TEXT.swap(), "en")
    assert set(english) == {f"best-1-{cut}" for cut in translations.SPACED}
    assert bleu_of_counts(english["best-1-words"]) == pytest.approx(100)


def test_a_cut_changes_how_long_the_same_text_is():
    counts = translations.counts_of("best", 1, WRITTEN, TEXT, "ja")
    lengths = {
        name.removeprefix("best-1-"): found[:, 1].sum()
        for name, found in counts.items()
    }
    characters = sum(len(line.replace(" ", "")) for line in TEXT.tgt)
    assert lengths["characters"] == characters
    assert lengths["words"] == sum(len(line.split()) for line in TEXT.tgt)
    assert lengths["dictionary"] < lengths["words"]  # 飲む is one word
    assert lengths["unspaced-13a"] == len(TEXT)  # a line is one "word"


def test_stored_counts_are_read_back(monkeypatch, tmp_path):
    monkeypatch.setattr(runs, "folder", lambda name: tmp_path / name)
    counts = translations.counts_of("best", 1, WRITTEN, TEXT, "ja")
    runs.write_arrays(tmp_path / "one" / "counts.npz", counts)
    found = runs.read_counts("one")
    assert set(found) == set(counts)
    for name, array in found.items():
        np.testing.assert_array_equal(array, counts[name])

    with pytest.raises(CourseError, match="'two'; there are of: one"):
        runs.read_counts("two")
