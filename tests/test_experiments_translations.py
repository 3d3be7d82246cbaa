"""Translators are scored, searched and joined as the stored runs say."""

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU, CHRF
from tiny import (
    decided,
    tiny_corpus,
    tiny_gru,
    tiny_splits,
    tiny_transformer,
)

from experiments import (
    enja_ensemble,
    enja_soup,
    mbr,
    memory_spread,
    more_pairs,
    searches,
    store,
    translations,
)
from experiments.lab import RunContext
from transformer_course import files
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.checkpoint import weights_of
from transformer_course.data.text import ParallelText, read_lines
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding import search
from transformer_course.decoding.translate import translate
from transformer_course.errors import CourseError
from transformer_course.evaluation.bleu import (
    bleu_counts,
    bleu_of_counts,
    corpus_bleu,
    corpus_chrf,
)

SPLITS = tiny_splits()
TOKENIZER = Tokenizer.train(
    [*SPLITS.train.src, *SPLITS.train.tgt], 100, "word"
)
SIZE = TOKENIZER.vocab_size


@pytest.fixture(autouse=True)
def small_world(tmp_path, monkeypatch):
    """Sentences of three words, and translations that are not much longer.

    Stored runs go elsewhere.
    """
    tiny_corpus(monkeypatch)
    monkeypatch.setattr(search, "EXTRA_LENGTH", 4)
    monkeypatch.setattr(store, "folder", lambda name: tmp_path / "runs" / name)


def translator(seed: int = 0) -> torch.nn.Module:
    """Untrained, and sure of itself."""
    return decided(tiny_transformer(seed, vocab_size=SIZE, tied=False))


def saved(folder, model, src="en", tgt="ja"):
    """Its checkpoint, as a training of that direction would save it."""
    about = {"corpus": "grammar", "src": src, "tgt": tgt}
    checkpoint.save(folder, model, TOKENIZER, about)
    return folder


# --- scores ------------------------------------------------------------------

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


# --- the middle one of several -----------------------------------------------

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


def test_counts_of_chrf_give_the_corpus_score():
    written, wanted = TEXTS[:4], TEXTS[1:5]
    counts = mbr.chrf_counts(written, wanted)
    expected = corpus_chrf(written, wanted).value
    assert mbr.chrf_of(*counts.sum(axis=0)) == pytest.approx(expected)


def test_nobody_is_ahead_of_oneself_and_the_right_answer_of_all():
    wrong, right = TEXTS[1:5] * 6, TEXTS[:4] * 6
    beam = mbr.scores_of(wrong, right)
    same = mbr.summarize(beam, beam)
    assert same["bleu_ahead"] == same["chrf_ahead"] == [0, 0, 0]
    assert same["bleu"] == round(corpus_bleu(wrong, right).value, 2)
    ahead = mbr.summarize(mbr.scores_of(right, right), beam)
    assert min(ahead["bleu_ahead"]) > 0 and min(ahead["chrf_ahead"]) > 0


def test_cold_draws_are_greedy_search_whoever_chooses(tmp_path, monkeypatch):
    monkeypatch.setattr(mbr, "splits_for", lambda *_: SPLITS)
    monkeypatch.setattr(mbr, "WAYS", ({"temperature": 1e-4},))
    saved(tmp_path / "run/checkpoints/best", translator())
    context = RunContext(
        tmp_path / "mbr", inputs=(tmp_path / "run",), smoke=True
    )
    list(mbr.EXPERIMENT.analyse(context))
    greedy, *others = files.read_json(context.folder / "run.json")["rows"]
    draws = [row for row in others if "draws" in row]
    assert [row["draws"] for row in draws] == [1, mbr.DRAWS[0], mbr.DRAWS[0]]
    for row in draws:
        assert (row["bleu"], row["chrf"]) == (greedy["bleu"], greedy["chrf"])
    assert draws[0]["different"] == 1


# --- searches ----------------------------------------------------------------


def test_ways_are_scored_and_the_beams_counted_on_the_test_set(
    tmp_path, monkeypatch
):
    few = [searches.WAYS[0], searches.WAYS[1], searches.WAYS[-1]]
    monkeypatch.setattr(searches, "splits_for", lambda *_: SPLITS)
    monkeypatch.setattr(searches, "WAYS", few)
    saved(tmp_path / "run/checkpoints/best", translator())
    context = RunContext(tmp_path, inputs=(tmp_path / "run",))
    list(searches.EXPERIMENT.analyse(context))
    greedy, beam, _ = store.read_json(tmp_path / "run.json")["rows"]
    assert greedy["likelier_than_greedy"] == 0
    assert beam["log_prob"] >= greedy["log_prob"]
    with np.load(tmp_path / "run.npz") as arrays:
        counts = dict(arrays)
    loaded = checkpoint.load(tmp_path / "run/checkpoints/best")
    written = translate(loaded.model, TOKENIZER, SPLITS.test.src)
    np.testing.assert_array_equal(
        counts["beam-1"], bleu_counts(written, SPLITS.test.tgt)
    )


@pytest.mark.parametrize("one", [mbr, memory_spread, searches])
def test_a_folder_without_a_checkpoint_is_refused(one, tmp_path):
    with pytest.raises(CourseError, match="no checkpoint"):
        context = RunContext(tmp_path / "none", inputs=(tmp_path,))
        list(one.EXPERIMENT.analyse(context))


# --- several trainings as one ------------------------------------------------


def test_an_ensemble_is_stored_as_a_training_is(tmp_path):
    members = [translator(), decided(tiny_gru(vocab_size=SIZE))]
    folders = tuple(
        saved(tmp_path / name, model)
        for name, model in zip(("one", "other"), members, strict=True)
    )
    context = RunContext(
        tmp_path / "runs" / "both", (), (), folders, smoke=True
    )
    assert list(enja_ensemble.analyse(context))
    stored, counts = store.read("both"), store.read_counts("both")
    assert stored.settings == {"models": list(map(str, folders))}
    assert stored.epochs == []
    (best,) = stored.results["dev_bleu_of_the_beam"].values()
    for row in stored.results["rows"]:
        assert best[str(row["alpha"])] == max(best.values())
        found = counts[f"ensemble-{row['beam']}-words"].astype(int)
        if row["sentences"] == "unseen":
            found = found[counts["unseen"]]
        assert round(bleu_of_counts(found), 2) == row["bleu"]
    assert stored.results["parameters"] == sum(
        p.numel() for model in members for p in model.parameters()
    )
    with pytest.raises(CourseError, match="'two'; there are of: both"):
        store.read_counts("two")


def test_each_weight_of_a_soup_is_the_mean_of_two(tmp_path):
    model = translator()
    folders = [saved(tmp_path / "one", model)]
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3)
    folders.append(saved(tmp_path / "other", model))
    enja_soup.cooked(folders, tmp_path / "soup")
    made = checkpoint.load(tmp_path / "soup" / "checkpoints" / "average")
    for name, weights in weights_of(made.model).items():
        torch.testing.assert_close(weights, weights_of(model)[name] * 2 / 3)
    assert (made.details["src"], made.details["tgt"]) == ("en", "ja")


# --- pairs that two translators make -----------------------------------------


@pytest.fixture
def pair(tmp_path):
    """Two translators, and a context that makes a few pairs with them."""
    ways = {"there": ("en", "ja"), "back": ("ja", "en")}
    models = tuple(
        saved(tmp_path / name, translator(seed), *way)
        for seed, (name, way) in enumerate(ways.items())
    )
    return RunContext(
        tmp_path / "runs" / "more-pairs", (), (), models, smoke=True
    )


def test_each_pair_is_half_a_person_s_and_written_once(pair, monkeypatch):
    list(more_pairs.analyse(pair))
    folder = pair.stored("outputs") / "more-pairs"
    src, tgt = (read_lines(folder / f"more.{one}") for one in ("en", "ja"))
    train = SPLITS.train
    size = len(src) // 2
    assert len(tgt) == 2 * size > 0
    assert src[:size] == train.src[:size]
    assert tgt[size:] == train.tgt[:size]
    assert src[size:] == read_lines(folder / "written.en")
    path = folder / "written.ja"
    whole = read_lines(path)
    assert tgt[:size] == whole
    path.write_text("".join(f"{x}\n" for x in whole[: size // 2]), "utf-8")
    asked = []

    def counted(model, tokenizer, sentences, *how):
        asked.extend(sentences)
        return translate(model, tokenizer, sentences, *how)

    monkeypatch.setattr(translations, "translate", counted)
    list(more_pairs.analyse(pair))
    assert read_lines(path) == whole
    assert asked == train.src[size // 2 : size]
