"""Whether the encoder tells senses apart: how it is asked, what is stored."""

import numpy as np
import pytest
import torch

from experiments import senses, store
from experiments.lab import weights_of
from transformer_course.checkpoints.shipped import FOLDER, load_shipped
from transformer_course.data.text import ParallelText
from transformer_course.decoding.translate import translate


@pytest.fixture(scope="module")
def stored():
    return store.read_json(store.folder("senses") / "play.json")


@pytest.fixture(scope="module")
def loaded():
    return load_shipped("en-ja")


def test_a_use_has_the_word_once_and_shows_one_sense():
    rows = [
        ("i play the piano .", "ピアノ を 弾 く 。"),
        ("i play the piano .", "私 は ピアノ で 遊 ぶ 。"),  # again
        ("we play and play .", "遊 ぶ 。"),
        ("they play here .", "弾 い て 遊 ぶ 。"),
        ("a play .", "劇 。"),
        ("play outside .", "外 で 遊 べ 。"),
    ]
    found = senses.uses_of("play", ParallelText(*zip(*rows, strict=True)))
    assert found == [("i play the piano .", 0), ("play outside .", 2)]


@pytest.mark.parametrize("word", senses.WORDS)
def test_written_sentences_have_the_word_once_and_are_different(word):
    texts = [use.text for use in senses.written_uses(word)]
    assert len(set(texts)) == len(texts)
    assert {text.split().count(word) for text in texts} == {1}


def test_known_words_are_counted():
    found = senses.counts_of(["a b a play c", "b ."], ["a", "b", "."])
    assert found.tolist() == [[2, 1, 0], [0, 1, 1]]


def test_equal_vectors_are_taken_for_the_commonest_sense():
    labels = np.array([1, 2, 2, 0, 2])
    same = np.tile(np.random.default_rng(0).normal(size=7), (5, 1))
    told = senses.left_out(senses.nearest_mean, same, labels)
    assert told.tolist() == [2] * 5


def test_a_sentence_is_not_among_those_that_its_answer_is_learned_from():
    vectors = np.array([[0.0], [1.0], [10.0], [11.0], [4.9]])
    labels = np.array([0, 0, 1, 1, 1])  # with itself, the last would be right
    told = senses.left_out(senses.nearest_mean, vectors, labels)
    assert told.tolist() == [0, 0, 1, 1, 0]
    assert senses.nearest_mean(vectors, labels, vectors)[-1] == 1


def test_on_the_plane_of_the_means_the_nearest_is_the_nearest_in_space():
    rng = np.random.default_rng(0)
    means, asked = rng.normal(size=(3, 40)), rng.normal(size=(200, 40))
    plane = senses.Plane.through(means, asked[0])
    assert plane.axes @ plane.axes.T == pytest.approx(np.eye(2))
    flat = [(one - plane.middle) @ plane.axes.T for one in (means, asked)]
    assert flat[0][0, 1] == pytest.approx(flat[0][1, 1])  # level
    assert flat[0][0, 0] < flat[0][1, 0] and flat[1][0, 1] < 0
    told = [
        np.linalg.norm(places[:, None] - points, axis=-1).argmin(axis=1)
        for points, places in ((means, asked), flat)
    ]
    assert len({*told[0].tolist()}) == 3
    assert (told[0] == told[1]).all()


def test_a_difference_is_that_of_the_same_sentences():
    right, other = np.array([1, 1, 0, 1] * 50), np.array([1, 0, 0, 1] * 50)
    found = senses.difference(right, other)
    low, high = found["interval"]
    assert found["value"] == 0.25 and 0.18 < low < 0.25 < high < 0.32


@torch.inference_mode()
def test_the_figure_shows_the_shipped_model(stored, loaded):
    assert stored["weights"] == weights_of(FOLDER / "en-ja")
    model, tokenizer = loaded.model.eval(), loaded.tokenizer
    texts = [one["text"] for one in stored["sentences"]]
    assert texts == list(senses.SHOWN)
    plane = senses.Plane(*map(np.array, (stored["middle"], stored["axes"])))
    states = senses.states_of(model, tokenizer, texts, "play")
    assert len({one.tobytes() for one in states[:, 0]}) == 1
    wanted = [one["path"] for one in stored["sentences"]]
    assert np.array(plane.shadow(states)) == pytest.approx(
        np.array(wanted), abs=0.21
    )
    told = translate(model, tokenizer, texts, 1)
    assert told == [one["written"] for one in stored["sentences"]]


def test_each_sentence_of_the_figure_ends_nearest_to_what_is_written(stored):
    for i, one in enumerate(stored["sentences"]):
        apart = np.array(stored["means"]) - one["path"][-1]
        nearest = int(np.linalg.norm(apart, axis=1).argmin())
        pairs = ParallelText([one["text"]], [one["written"]])
        assert senses.uses_of("play", pairs) == [(one["text"], nearest)]
        assert nearest == i // 3
