"""Agreement is sacreBLEU's, and the middle one agrees best."""

import json

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from tiny import decided, tiny_splits, tiny_transformer

from experiments import mbr
from experiments.lab import Bench
from transformer_course import checkpoint
from transformer_course.errors import CourseError
from transformer_course.score import corpus_bleu, corpus_chrf
from transformer_course.tokenizer import Tokenizer

TEXTS = [
    "猫 が ミルク を 飲 む 。",
    "猫 は ミルク を 飲 む",
    "犬 が 寝 る 。",
    "犬 犬 犬",
    "が",
    "",
]
SENTENCE_SCORES = {
    "chrf": CHRF().sentence_score,
    "bleu": BLEU(tokenize="none", effective_order=True).sentence_score,
}


@pytest.mark.parametrize("utility", mbr.UTILITIES)
def test_agreement_is_sacrebleus_score_of_the_sentence(utility):
    score = SENTENCE_SCORES[utility]
    expected = [
        [score(one, [other]).score for other in TEXTS] for one in TEXTS
    ]
    found = mbr.agreement(utility, TEXTS)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("utility", mbr.UTILITIES)
def test_equal_draws_agree_as_their_texts_do(utility):
    places = [2, 0, 0, 3, 2, 5]
    once = mbr.agreement(utility, TEXTS)
    found = mbr.agreement(utility, [TEXTS[i] for i in places])
    np.testing.assert_array_equal(found, once[np.ix_(places, places)])


def test_the_middle_one_is_of_the_first_draws_and_agrees_best():
    agreed = np.array([[9, 0, 0, 8], [0, 9, 5, 0], [0, 6, 9, 0], [8] * 4])
    assert mbr.middle(agreed, 1) == 0
    assert mbr.middle(agreed, 3) == 2
    assert mbr.middle(agreed, 4) == 3


def test_counts_of_chrf_give_the_corpus_score():
    written, wanted = TEXTS[:4], TEXTS[1:5]
    counts = mbr.chrf_counts(written, wanted)
    expected = corpus_chrf(written, wanted).value
    assert mbr.chrf_of(*counts.sum(axis=0)) == pytest.approx(expected)


def test_nobody_is_ahead_of_oneself_and_the_right_answer_of_all():
    wrong, right = TEXTS[1:5] * 6, TEXTS[:4] * 6
    beam = mbr.scores_of(wrong, right)
    same = mbr.told(beam, beam)
    assert same["bleu_ahead"] == same["chrf_ahead"] == [0, 0, 0]
    assert same["bleu"] == round(corpus_bleu(wrong, right).value, 2)
    ahead = mbr.told(mbr.scores_of(right, right), beam)
    assert min(ahead["bleu_ahead"]) > 0 and min(ahead["chrf_ahead"]) > 0


# --- a run -------------------------------------------------------------------

SPLITS = tiny_splits()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run with a checkpoint; what is drawn of it is little."""
    monkeypatch.setattr(mbr, "splits_for", lambda *_: SPLITS)
    text = [*SPLITS.train.src, *SPLITS.train.tgt]
    tokenizer = Tokenizer.train(text, 100, "word")
    sizes = {"vocab_size": tokenizer.vocab_size, "tied": False}
    model = decided(tiny_transformer(0, **sizes))
    details = {"corpus": "grammar", "src": "en", "tgt": "ja"}
    folder = tmp_path / "run"
    checkpoint.save(folder / "checkpoints/best", model, tokenizer, details)
    return folder


def rows_of(folder, monkeypatch, **way) -> list[dict]:
    """What is stored when there is one way to draw."""
    monkeypatch.setattr(mbr, "WAYS", (way,))
    bench = Bench(folder.parent / "mbr", inputs=(folder,), smoke=True)
    list(mbr.read(bench))
    stored = (folder.parent / "mbr" / "run.json").read_text()
    return json.loads(stored)["rows"]


def test_cold_draws_are_greedy_search_whoever_chooses(folder, monkeypatch):
    greedy, *others = rows_of(folder, monkeypatch, temperature=1e-4)
    draws = [row for row in others if "draws" in row]
    assert [row["draws"] for row in draws] == [1, mbr.DRAWS[0], mbr.DRAWS[0]]
    for row in draws:
        assert (row["bleu"], row["chrf"]) == (greedy["bleu"], greedy["chrf"])
    assert draws[0]["different"] == 1


def test_warm_draws_differ(folder, monkeypatch):
    rows = rows_of(folder, monkeypatch, temperature=5.0)
    single = next(row for row in rows if row.get("draws") == 1)
    assert single["different"] > 1


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    bench = Bench(tmp_path / "mbr", inputs=(tmp_path,))
    with pytest.raises(CourseError, match="no checkpoint"):
        list(mbr.read(bench))
