"""Laws of the nats that are kept of each text."""

import numpy as np
import pytest
from tiny import tiny_language_model, tiny_transformer

from experiments.surprise import nats_of_texts, of_part, of_sources, speaks
from transformer_course import runs
from transformer_course.data.text import ParallelText
from transformer_course.tasks.table import find_task
from transformer_course.tokenizer import Tokenizer

TEXT = ParallelText(
    ["「そうか」", "雨が降る。", "猫がいる。"],
    ["雨が降っている。", "「猫だ」", "猫が雨の中で長い間黙っている。"],
)
TOKENIZER = Tokenizer.train([*TEXT.src, *TEXT.tgt] * 3, 290, "bpe")


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
    found = of_part(*judged, TEXT, "dev")
    task, *model = judged
    expected = task.text_nll(*model, TEXT)
    assert found["dev-tokens"].sum() == expected.tokens
    assert found["dev-characters"].sum() == expected.characters
    mean = found["dev-nll"].sum() / expected.tokens
    assert mean == pytest.approx(expected.nll, rel=1e-4)


def test_each_text_keeps_its_own(judged):
    together = nats_of_texts(*judged, TEXT)
    for i, nats in enumerate(together):
        (alone,) = nats_of_texts(*judged, TEXT.take([i]))
        np.testing.assert_allclose(nats, alone, rtol=1e-3, atol=1e-4)


def test_another_source_changes_the_nats_but_not_what_is_asked():
    model = tiny_transformer(vocab_size=TOKENIZER.vocab_size).eval()
    found = of_sources(PAIRS, model, TOKENIZER, TEXT)
    assert found["own"].shape == found["other"].shape
    assert not np.allclose(found["own"], found["other"])
    assert found["source"].tolist() == [True, False, False]
    assert sorted(found["other_source"]) == sorted(found["source"])
    assert speaks(TEXT.tgt).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["soseki-cpu", "soseki-lm"])
def test_what_is_stored_adds_up_to_what_the_run_says(name):
    with np.load(runs.folder(name) / "surprise.npz") as arrays:
        found = dict(arrays)
    results = runs.read(name).results
    for part in ("dev", "test"):
        for unit, key in (
            ("tokens", "nll"),
            ("characters", "nll_per_character"),
        ):
            assert found[f"{part}-{unit}"].sum() == results[part][unit]
            mean = found[f"{part}-nll"].sum() / results[part][unit]
            assert mean == pytest.approx(results[part][key], abs=2e-4)
