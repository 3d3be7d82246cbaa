"""What experiments count is what they say, and notes on it are kept."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from tiny import tiny_language_model, tiny_transformer

from experiments import (
    enja_attention,
    haiku,
    judging,
    leaks,
    padding,
    translation_errors,
)
from experiments.classifiers import by_passage
from experiments.haiku import Shelf
from experiments.lab import RunContext
from experiments.leaks import END, ORDER, signs_of, split_at_random
from experiments.one_side import Neighbours
from experiments.small_images import FOLDS, colours_of, in_grey, read
from experiments.surprise import nats_of_texts, of_part
from transformer_course.batches.pairs import padded_batch
from transformer_course.data.images import ImageSet
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.models.ngram import KneserNey
from transformer_course.training.report import text_nll
from transformer_course.training.tasks.table import find_task

# --- haiku and Soseki --------------------------------------------------------

LINES = [
    "古池や蛙飛びこむ水の音",
    "初凪や大きな浪のときに来る",
    "春草を踏み越え〳〵鳩あるく",
]


@pytest.fixture
def shelf():
    return Shelf(LINES)


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


CHAPTERS = [["猫が寝る。", "猫が鳴く。"], ["犬が鳴く。"]]


TEXT = [line for chapter in CHAPTERS for line in chapter]


def test_surprise_is_the_mean_over_characters_and_the_end():
    signs = signs_of(CHAPTERS)
    assert signs == len(set("".join(TEXT)) | {END})
    model = KneserNey([line + END for line in TEXT], ORDER, signs, discounts=1)
    nats = model.nll("犬が寝る。" + END) + model.nll("猫" + END)
    found = leaks.surprise(TEXT, ["犬が寝る。", "猫"], signs)
    assert found == pytest.approx(nats / 8, abs=1e-4)


def test_held_out_sentences_are_only_in_the_leaking_text():
    chapters = [[f"{c}{s}" for s in range(20)] for c in "ABC"]
    targets, *learned = split_at_random(chapters, seed=0, size=5)
    leaking, clean = map(set, learned)
    assert len(targets) == 5
    assert not clean & set(targets)
    assert leaking & set(targets)
    assert clean < leaking


# --- padding -----------------------------------------------------------------

draw = random.Random(1)
LENGTHS = [(draw.randint(1, 20), draw.randint(1, 20)) for _ in range(200)]


@pytest.mark.parametrize("way", padding.WAYS)
def test_each_pair_is_in_one_batch_and_padding_is_what_batches_hold(way):
    cut = padding.WAYS[way](LENGTHS, 100)
    assert all(cut)
    assert sorted(i for places in cut for i in places) == list(range(200))
    found = padding.describe_cut(LENGTHS, cut)
    pairs = padding.pairs_of(LENGTHS)
    batches = [padded_batch([pairs[i] for i in places]) for places in cut]
    cells = sum(b.src.numel() + b.tgt_in.numel() for b in batches)
    real = sum(int((b.src != PAD).sum()) for b in batches)
    tokens = sum(int((b.tgt_out != PAD).sum()) for b in batches)
    assert found["padding"] == pytest.approx(
        1 - (real + tokens) / cells, abs=1e-5
    )


@pytest.mark.parametrize("way", ["random, by budget", "sorted, by budget"])
def test_a_budget_is_kept_and_used(way):
    cut = padding.WAYS[way](LENGTHS, 100)

    def work(places):
        return len(places) * max(max(LENGTHS[i]) for i in places)

    assert all(work(places) <= 100 for places in cut)
    for places, after in pairwise(cut):
        assert work([*places, after[0]]) > 100


# --- classes -----------------------------------------------------------------


def test_a_split_by_passage_has_the_same_sizes_and_works_in_all_parts():
    def part(first: int, size: int) -> LabelledText:
        places = range(first, first + size)
        return LabelledText(
            [f"passage {i}" for i in places],
            [i % 2 for i in places],
            ("a", "b"),
            [f"work {i // 30}" for i in places],
        )

    by_work = Splits(part(0, 60), part(60, 30), part(90, 30))
    found = by_passage(by_work)
    parts = found.train, found.dev, found.test
    assert list(map(len, parts)) == [60, 30, 30]
    assert len({text for p in parts for text in p.texts}) == 120
    assert set(found.test.groups) == set(found.train.groups)


# --- surprise ----------------------------------------------------------------

SAID = ParallelText(
    ["「そうか」", "雨が降る。", "猫がいる。"],
    ["雨が降っている。", "「猫だ」", "猫が雨の中で長い間黙っている。"],
)


TOKENIZER = Tokenizer.train([*SAID.src, *SAID.tgt] * 3, 290, "bpe")


SIZES = {"vocab_size": TOKENIZER.vocab_size, "max_length": 16}


PAIRS = find_task("next_sentence")


KINDS = {
    "pairs": (PAIRS, tiny_transformer),
    "running text": (find_task("language_modelling"), tiny_language_model),
}


@pytest.fixture(params=KINDS)
def judged(request):
    task, made = KINDS[request.param]
    return task, made(**SIZES), TOKENIZER


def test_sums_are_those_that_are_scored(judged):
    found = of_part(*judged, SAID, "dev")
    task, *model = judged
    expected = text_nll(task, *model, SAID)
    assert found["dev-tokens"].sum() == expected.tokens
    assert found["dev-characters"].sum() == expected.characters
    mean = found["dev-nll"].sum() / expected.tokens
    assert mean == pytest.approx(expected.nll, rel=1e-4)


def test_each_text_keeps_its_own(judged):
    together = nats_of_texts(*judged, SAID)
    for i, nats in enumerate(together):
        (alone,) = nats_of_texts(*judged, SAID.take([i]))
        np.testing.assert_allclose(nats, alone, rtol=1e-3, atol=1e-4)


# --- what was written by hand ------------------------------------------------


def test_notes_on_haiku_are_kept_when_they_are_written_anew(tmp_path):
    text = ParallelText(["蛙", "雪"], LINES[:2])
    ways = {"greedy": ["蛙かな", "雪かな"]}
    rows = haiku.sample_rows(text, ways, {})
    assert rows[0]["outputs"]["greedy"] == {"text": "蛙かな", "gloss": ""}
    rows[0]["outputs"]["greedy"]["gloss"] = "A frog!"
    path = tmp_path / "samples.json"
    assert haiku.read_glosses(path) == {}
    path.write_text(json.dumps({"samples": rows}), encoding="utf-8")
    glosses = haiku.read_glosses(path)
    assert glosses == {"蛙かな": "A frog!"}
    assert haiku.sample_rows(text, ways, glosses) == rows


def test_notes_on_words_are_kept():
    text = ParallelText(["a cat", "a dog"], ["猫 だ", "犬 だ"])
    known = {"犬 だ": {"gloss": ["dog", "is"], "gold": [[1], []]}}
    cat, dog = enja_attention.words_of(text, known)
    assert cat["gloss"] == ["", ""] and cat["gold"] == [[], []]
    assert dog["gloss"] == ["dog", "is"] and dog["gold"] == [[1], []]


def test_verdicts_stay_with_the_text_that_they_are_about():
    known = {"text": "犬 だ", "gloss": "a dog", "verdict": "wrong"}
    samples = [
        {
            "src": "a cat",
            "ref": {"text": "猫 だ", "gloss": "a cat"},
            "outputs": {"a": known | {"kind": "word"}},
        }
    ]
    notes = judging.notes_of(samples)
    assert judging.annotated("犬 だ", notes) == known
    assert judging.annotated("鳥 だ", notes)["verdict"] == ""
    notes = translation_errors.notes_of(samples)
    kept = translation_errors.annotated("a cat", "犬 だ", notes)
    assert kept == known | {"kind": "word"}
    other = translation_errors.annotated("a dog", "犬 だ", notes)
    assert other["verdict"] == other["kind"] == ""


# --- neighbours --------------------------------------------------------------


def test_both_neighbours_say_more_than_the_left_one_and_that_than_none():
    rows = [*["axb"] * 2, *["ayc"] * 3, *["dze"] * 9]
    counts = Neighbours(rows)
    assert counts.guess("a", "b") == "x"
    assert counts.guess("a", "never") == "y"
    assert counts.guess("never", "b") == "z"


def test_nothing_is_counted_around_a_hidden_word():
    counts = Neighbours([["a", None, "b", "c", "d"], ["a", "x", "b"]])
    assert counts.guess("a", "b") == "x"
    assert counts.guess("b", "d") == "c"
    assert "b" not in {counts.guess(left, "c") for left in ("a", None)}


# --- pictograms --------------------------------------------------------------

SMOKE = RunContext(folder=None, smoke=True)


def test_after_all_seeds_each_image_was_held_out_once():
    parts = [read("colour", seed, SMOKE) for seed in range(FOLDS)]
    whole = torch.cat([part.images for part in parts[0]])
    asked = torch.cat([held.images for _, held in parts])
    same = (asked[:, None] == whole).flatten(2).all(dim=2)
    assert len(asked) == len(whole)
    assert same.any(dim=0).all()
    for known, held in parts:
        assert len(known) + len(held) == len(whole)


def test_colours_are_counted_wherever_they_stand():
    torch.manual_seed(0)
    pixels = torch.randint(256, (2, 3, 4, 4), dtype=torch.uint8)
    images = ImageSet(pixels, torch.tensor([0, 1]), ("a", "b"))
    moved = ImageSet(pixels.flip(3), images.labels, images.names)
    other = ImageSet(pixels.flip(1), images.labels, images.names)
    assert (colours_of(images) == colours_of(moved)).all()
    assert (colours_of(images) != colours_of(other)).any()


def test_grey_is_the_mean_of_the_channels():
    pixels = torch.tensor([30, 60, 90], dtype=torch.uint8)
    images = ImageSet(pixels.view(1, 3, 1, 1), torch.tensor([0]), ("a",))
    assert in_grey(images).images.flatten().tolist() == [60]
