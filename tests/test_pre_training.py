"""Hidden words, pairs of passages, and what is learned from them."""

import dataclasses
import random
from collections import Counter
from itertools import chain, pairwise

import pytest
import torch
from tiny_runs import SIZES, other, tiny_books, tiny_masked, tiny_works

from transformer_course.batches.masked import (
    FOLLOWS,
    OTHER_WORK,
    SAME_WORK,
    MaskedBatches,
    draw_pairs,
    encode_works,
    mask_words,
    passages_of,
)
from transformer_course.cli import main
from transformer_course.data.aozora import authors
from transformer_course.data.tokenizer import (
    MASK_PIECE,
    Tokenizer,
)
from transformer_course.decoding.fill import encode_masked, fill
from transformer_course.errors import ConfigError
from transformer_course.inference.model import TrainedModel
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.bert_config import BertConfig
from transformer_course.training.loop import evaluate
from transformer_course.training.run.prepare import prepare
from transformer_course.training.run.training import run
from transformer_course.training.tasks.pre_training import next_accuracy

MASK, VOCAB = 4, 50


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [s for work in tiny_works(4) for s in work.sentences]
    return Tokenizer.train(lines, 60, "word", masked=True)


@pytest.fixture(autouse=True)
def small_library(monkeypatch):
    tiny_books(monkeypatch)


# --- hidden words ------------------------------------------------------------


def test_the_shares_are_those_of_the_paper():
    """With three ordinary words: a random one may be the word itself."""
    words = torch.full((400, 500), 7)
    generator = torch.Generator().manual_seed(0)
    ids, chosen = mask_words(words, MASK, 8, generator)
    assert chosen.float().mean().item() == pytest.approx(0.15, abs=0.005)
    found = ids[chosen].bincount() / chosen.sum()
    shares = [0, 0, 0, 0, 0.8, 0.1 / 3, 0.1 / 3, 0.1 / 3 + 0.1]
    assert found.tolist() == pytest.approx(shares, abs=0.01)


# --- rows --------------------------------------------------------------------


def test_passages_hold_all_sentences_of_a_chapter_in_order(tokenizer):
    works = encode_works(tiny_works(2), tokenizer)
    for skip in (0, 1, 3):
        for work, cut in zip(works, passages_of(works, 10, skip), strict=True):
            for chapter, passages in zip(work, cut, strict=True):
                whole = list(chain.from_iterable(chapter))
                assert list(chain.from_iterable(passages)) == whole
                assert all(0 < len(p) <= 10 for p in passages)


def test_a_sentence_without_room_is_cut_off(tokenizer):
    works = [[[[5] * 9, [6] * 2]]]
    assert passages_of(works, 4) == [[[[5] * 4, [6] * 2]]]


def test_pairs_are_what_their_kind_says(tokenizer):
    passages = passages_of(encode_works(tiny_works(4), tokenizer), 5)
    work_of = {
        tuple(p): number
        for number, work in enumerate(passages)
        for chapter in work
        for p in chapter
    }
    following = {
        (tuple(a), tuple(b))
        for work in passages
        for chapter in work
        for a, b in pairwise(chapter)
    }
    seen = Counter()
    for seed in range(40):
        for a, b, kind in draw_pairs(passages, random.Random(seed)):
            a, b = tuple(a), tuple(b)
            seen[kind] += 1
            assert ((a, b) in following) == (kind == FOLLOWS)
            assert (work_of[a] == work_of[b]) == (kind != OTHER_WORK)
    shares = [seen[k] / seen.total() for k in (FOLLOWS, OTHER_WORK, SAME_WORK)]
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=0.03)


@pytest.mark.parametrize("pairs", [True, False])
def test_an_epoch_is_the_same_each_time_and_the_next_is_another(
    tokenizer, pairs
):
    documents = encode_works(tiny_works(3), tokenizer)
    batches = MaskedBatches(documents, tokenizer, 20, 100, 0, pairs)
    first, again = list(batches.epoch(0)), list(batches.epoch(0))
    assert len(first) == len(batches)
    assert all(
        torch.equal(x.ids, y.ids) for x, y in zip(first, again, strict=True)
    )
    for number in (1, 4):  # the fifth has the passages of the first
        other = next(iter(batches.epoch(number)))
        assert other.ids.shape != first[0].ids.shape or not torch.equal(
            other.ids, first[0].ids
        )
    assert torch.equal(batches.in_order()[0].ids, batches.in_order()[0].ids)
    assert (first[0].kinds is None) != pairs


# --- works -------------------------------------------------------------------


def test_held_out_works_are_those_of_all_authors_and_not_learned():
    titles = [*authors.DEV, *authors.TEST]
    assert len(set(titles)) == len(titles)
    given = [
        dataclasses.replace(tiny_works(1)[0], title=title)
        for title in [*titles, "another"]
    ]
    parts = authors.works(given)
    assert [work.title for work in parts.train] == ["another"]
    assert {work.title for work in parts.dev} == set(authors.DEV)


# --- the task ----------------------------------------------------------------


def test_the_loss_is_that_of_chosen_words_and_of_pairs():
    made = prepare(tiny_masked())
    made.model.eval()
    batch = next(iter(made.batches.epoch(0)))
    sums = made.task.unsmoothed_loss(made.model, batch)
    alone = made.task.unsmoothed_loss(made.model, batch._replace(kinds=None))
    assert sums.nll == alone.nll == alone.loss
    assert sums.loss > alone.loss
    assert int(sums.tokens) == int(batch.chosen.sum())
    changed = batch.words.clone()
    changed[~batch.chosen] = 7  # what is not asked for does not count
    same = made.task.unsmoothed_loss(made.model, batch._replace(words=changed))
    assert same.nll == sums.nll


def test_a_batch_without_a_chosen_word_has_a_finite_loss():
    made = prepare(tiny_masked())
    batch = next(iter(made.batches.epoch(0)))
    empty = batch._replace(chosen=torch.zeros_like(batch.chosen))
    sums = made.task.unsmoothed_loss(made.model, empty)
    assert torch.isfinite(sums.loss / sums.tokens)


def test_words_and_pairs_of_a_small_world_are_learned(tmp_path):
    settings = tiny_masked(epochs=25, peak_rate=0.02, average_last=0)
    settings = other(settings, token_budget=512)
    made = prepare(settings)
    before = evaluate(made.model, made.dev_batches, made.task.unsmoothed_loss)
    folder = run(settings, tmp_path, quiet=True)
    used = TrainedModel.load(folder)
    after = evaluate(used.model, made.dev_batches, made.task.unsmoothed_loss)
    assert after["nll"] < 0.7 * before["nll"]
    shares = next_accuracy(used.model, made.dev_batches)
    assert set(shares) <= {"follows", "other_work", "same_work", "all"}
    found = fill(used.model, used.tokenizer, f"ag {MASK_PIECE} 。", 3)
    assert [len(guesses) for guesses in found] == [3]
    assert sum(g.probability for g in found[0]) <= 1 + 1e-5


# --- filling -----------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tokenizer) -> BertPreTraining:
    torch.manual_seed(0)
    size = tokenizer.vocab_size
    return BertPreTraining(BertConfig(size, max_length=12, **SIZES))


def test_guesses_are_the_softmax_of_each_hidden_place(model, tokenizer):
    text = f"ag {MASK_PIECE} {MASK_PIECE}"
    ids = torch.tensor([encode_masked(tokenizer, text, 12)])
    model.eval()
    with torch.no_grad():
        logits, _ = model(ids)
    found = fill(model, tokenizer, text, 2)
    for guesses, place in zip(found, (2, 3), strict=True):
        likeliest = logits[0, place].softmax(dim=-1).topk(2)
        assert [g.probability for g in guesses] == pytest.approx(
            likeliest.values.tolist(), abs=1e-6
        )


@pytest.mark.parametrize(
    ("text", "top", "said"),
    [
        ("ag kiro", 5, r"no \[MASK\] stands in 'ag kiro'"),
        (f"{MASK_PIECE} " + "ag " * 30, 5, "32 pieces long, but .* reads 10"),
        (MASK_PIECE, 10_000, "top is 10000: it must be from 1"),
    ],
)
def test_what_cannot_be_filled_is_one_clear_line(
    model, tokenizer, text, top, said
):
    with pytest.raises(ConfigError, match=said):
        fill(model, tokenizer, text, top)


def test_the_command_fills_and_others_refuse(tmp_path, capsys, monkeypatch):
    folder = str(run(tiny_masked(epochs=1), tmp_path, quiet=True))
    main(["fill", folder, f"ag {MASK_PIECE} 。", "--top", "2"])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [(row[:2], len(row)) for row in rows] == [(["1", "1"], 4)] * 2
    main(["score", folder, "--split", "dev"])
    assert "hidden words, nll" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["translate", folder])
    assert "a model for pre training" in capsys.readouterr().err
