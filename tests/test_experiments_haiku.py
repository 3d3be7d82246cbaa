"""What is counted of haiku is what it says."""

import json

import pytest

from experiments.haiku import (
    Shelf,
    about,
    chosen_to_map,
    further_keywords,
    read_glosses,
    sample_rows,
)
from experiments.haiku_forms import clauses, forms, without_a_word
from transformer_course.data.text import ParallelText, Splits

LINES = [
    "古池や蛙飛びこむ水の音",
    "初凪や大きな浪のときに来る",
    "春草を踏み越え〳〵鳩あるく",
]


@pytest.fixture
def shelf():
    return Shelf(LINES)


def edit_distance(one: str, other: str) -> int:
    """Levenshtein's definition, by recursion on the first characters."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        edit_distance(one[1:], other) + 1,
        edit_distance(one, other[1:]) + 1,
        edit_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )


def test_distances_are_levenshtein_s():
    lines = ["abca", "b", "acab", "bcbca"]
    for line in ("abc", "", "cabab"):
        expected = [edit_distance(line, other) for other in lines]
        assert Shelf(lines).distances(line).tolist() == expected


def test_a_copy_is_known_whatever_its_signs_of_repetition(shelf):
    again = LINES[2].replace("越え〳〵", "越え越え")
    assert shelf.copied(LINES[0]) and shelf.copied(again)
    assert not shelf.copied(LINES[0] + "哉")
    assert shelf.near(LINES[0]) is None


def test_a_near_copy_is_off_by_one_or_two_characters(shelf):
    pond = LINES[0]
    for changed in (pond[1:], pond + "かな", pond.replace("古池", "新海")):
        assert shelf.near(changed) == pond
    assert shelf.near(pond[3:]) is None


def test_what_is_counted_of_lines(shelf):
    written = [LINES[0], LINES[0], LINES[0][1:], "ただの散文である"]
    found = about(written, ["蛙", "山", "水", "雪"], shelf)
    assert (found["lines"], found["different"]) == (4, 3)
    assert (found["with_keyword"], found["copied"]) == (2, 2)
    assert found["near"] == [[LINES[0][1:], LINES[0]]]
    assert sum(found["forms"].values()) == pytest.approx(1, abs=1e-3)
    assert found["forms"] == forms(written)


def test_a_word_is_lost_and_always_the_same():
    for line in LINES:
        shorter = without_a_word(line)
        assert len(shorter) < len(line)
        assert shorter == without_a_word(line)


def test_prose_is_cut_at_its_signs():
    text = "「硝子戸の中から外を見渡すと、霜除をした芭蕉だの。」と云う。"
    assert clauses([text]) == [
        "硝子戸の中から外を見渡すと",
        "霜除をした芭蕉だの",
    ]


def test_further_keywords_are_the_commonest_that_were_not_asked():
    train = ParallelText(list("花花花月月雪鳥"), list("abcdefg"))
    dev = ParallelText(["花"], ["h"])
    splits = Splits(train, dev, dev)
    assert further_keywords(splits, 2) == ["月", "雪"]


def test_glosses_written_by_hand_are_kept(tmp_path):
    text = ParallelText(["蛙", "雪"], LINES[:2])
    ways = {"greedy": ["蛙かな", "雪かな"]}
    rows = sample_rows(text, ways, {})
    assert rows[0]["outputs"]["greedy"] == {"text": "蛙かな", "gloss": ""}
    rows[0]["outputs"]["greedy"]["gloss"] = "A frog!"
    path = tmp_path / "samples.json"
    assert read_glosses(path) == {}
    path.write_text(json.dumps({"samples": rows}), encoding="utf-8")
    glosses = read_glosses(path)
    assert glosses == {"蛙かな": "A frog!"}
    assert sample_rows(text, ways, glosses) == rows


class Pieces:
    """Cuts a keyword into characters, after SentencePiece's ▁."""

    def pieces(self, word: str) -> list[str]:
        return ["▁", *word]


def test_half_of_the_maps_are_of_keywords_in_several_pieces():
    words = [*"花月雪鳥風雲", "谷水", "涅槃", "中二階"]
    chosen = [words[i] for i in chosen_to_map(Pieces(), words)]
    assert chosen == ["花", "月", "雪", "鳥", "谷水", "涅槃", "中二階"]
