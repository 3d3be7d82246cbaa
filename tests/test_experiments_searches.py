"""What is measured of searches, and that it can go on."""

import json

import numpy as np
import pytest
from tiny import decided, tiny_splits, tiny_transformer

from experiments import searches
from experiments.lab import Bench
from experiments.searches import (
    WAYS,
    chosen_penalties,
    compare,
    draw,
    likelier_but_short,
    quality,
)
from transformer_course import checkpoint
from transformer_course.data.text import ParallelText
from transformer_course.errors import CourseError
from transformer_course.score import bleu_counts
from transformer_course.tokenizer import Tokenizer
from transformer_course.translate import Candidate, translate

FEW = [WAYS[0], WAYS[1], WAYS[10], WAYS[-1]]
DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}
SPLITS = tiny_splits()


def save_model(folder, seed: int) -> None:
    text = [*SPLITS.train.src, *SPLITS.train.tgt]
    tokenizer = Tokenizer.train(text, 100, "word")
    sizes = {"vocab_size": tokenizer.vocab_size, "tied": False}
    model = decided(tiny_transformer(seed, **sizes))
    checkpoint.save(folder / "checkpoints/best", model, tokenizer, DETAILS)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """A run's folder, where the tool writes, and how often it measured."""
    monkeypatch.setattr(searches, "splits_for", lambda *_: SPLITS)
    monkeypatch.setattr(searches, "WAYS", FEW)
    measured = []
    measure = searches.measure

    def count(loaded, dev, way, greedy):
        measured.append(way)
        return measure(loaded, dev, way, greedy)

    monkeypatch.setattr(searches, "measure", count)
    save_model(tmp_path / "run", seed=0)
    return tmp_path / "run", tmp_path / "run.json", measured


def made(folder) -> list[str]:
    """All that is said while everything is made that is missing."""
    return list(compare(folder, Bench(folder.parent)))


def test_each_way_is_measured_once(trained):
    folder, path, measured = trained
    made(folder)
    stored = json.loads(path.read_text())
    assert len(stored["rows"]) == len(FEW) == len(measured) - 1
    greedy, *others = stored["rows"]
    assert greedy["likelier_than_greedy"] == 0
    beams = [row for row in others if "beam" in row and row["alpha"] == 0]
    assert all(row["log_prob"] >= greedy["log_prob"] for row in beams)
    measured.clear()
    assert made(folder) == measured == []


def test_what_is_missing_is_made_up_for(trained):
    folder, path, measured = trained
    made(folder)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"rows": whole["rows"][:2]}))
    measured.clear()
    made(folder)
    assert measured == [FEW[0], *FEW[2:]]
    again = json.loads(path.read_text())
    assert [r["bleu"] for r in again["rows"]] == [
        r["bleu"] for r in whole["rows"]
    ]


def test_other_weights_begin_anew(trained):
    folder, _, measured = trained
    made(folder)
    measured.clear()
    save_model(folder, seed=1)
    made(folder)
    assert len(measured) == len(FEW) + 1


def test_on_the_test_set_each_beam_has_the_penalty_that_dev_likes(trained):
    folder, path, _ = trained
    made(folder)
    stored = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as arrays:
        counts = dict(arrays)
    beams = {way["beam"] for way in FEW if "beam" in way}
    assert set(counts) == {"unseen"} | {f"beam-{beam}" for beam in beams}
    assert {int(beam) for beam in stored["chosen"]} == beams
    greedy = checkpoint.load(folder / "checkpoints/best")
    text = SPLITS.test
    written = translate(greedy.model, greedy.tokenizer, text.src)
    np.testing.assert_array_equal(
        counts["beam-1"], bleu_counts(written, text.tgt)
    )


def test_a_penalty_is_chosen_for_each_beam():
    rows = [
        {"beam": 1, "alpha": 0.0, "bleu": 3.0},
        {"beam": 2, "alpha": 0.0, "bleu": 4.0},
        {"beam": 2, "alpha": 1.0, "bleu": 5.0},
        {"temperature": 1.0, "bleu": 9.0},
    ]
    assert chosen_penalties(rows) == {1: 0.0, 2: 1.0}


def test_beams_penalties_and_draws_are_among_the_ways():
    assert {way.get("beam") for way in WAYS} == {1, 2, 5, 10, None}
    assert {"beam", "alpha"} == set(FEW[0]) and "temperature" in FEW[-1]


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(CourseError, match="no checkpoint"):
        made(tmp_path)


def test_a_cold_draw_is_greedy(trained):
    folder, _, _ = trained
    loaded = checkpoint.load(folder / "checkpoints/best")
    sentences = SPLITS.dev.src
    assert draw(loaded, sentences, temperature=1e-4) == translate(
        loaded.model, loaded.tokenizer, sentences
    )


def test_empty_and_short_translations_are_counted():
    dev = ParallelText(["s"] * 4, ["a b c d"] * 4)
    found = quality(["", "a b", "a b c", "a b c d"], dev)
    assert (found["empty"], found["short"]) == (1, 2)
    assert found["length_ratio"] == round(9 / 16, 4)


def test_examples_are_likelier_and_half_as_long():
    dev = ParallelText(["s"] * 3, ["a b c d"] * 3)
    greedy = [Candidate("a b c d", -2.0, -2.0)] * 3
    best = [
        Candidate("a b", -1.0, -1.0),
        Candidate("a b c", -1.0, -1.0),
        Candidate("a", -3.0, -3.0),
    ]
    (example,) = likelier_but_short(best, greedy, dev)
    assert (example["beam"], example["greedy"]) == ("a b", "a b c d")
