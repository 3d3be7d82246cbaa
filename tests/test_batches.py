"""Batches: every pair once an epoch, few shapes, little padding."""

import subprocess
import sys
from collections import Counter

import pytest
import torch

from transformer_course.data.batches import (
    MOST_CELLS,
    Batch,
    BucketedBatches,
    _cells,
    encode_pairs,
    encode_texts,
    pad_rows,
    padded_batch,
    sampled_pairs,
    sorted_batches,
)
from transformer_course.data.corpus import ParallelText
from transformer_course.data.grammar import grammar_corpus
from transformer_course.errors import ConfigError
from transformer_course.tokenizer import BOS, EOS, PAD, Tokenizer


@pytest.fixture(scope="module")
def text():
    return grammar_corpus(train=300, dev=0, test=0).train


@pytest.fixture(scope="module")
def tokenizer(text):
    return Tokenizer.train([*text.src, *text.tgt], 600, "word")


def random_pairs(number, longest=40, seed=0):
    """Pairs whose ids tell them apart, of lengths that go together."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low, high):
        return int(torch.randint(low, high, (), generator=generator))

    pairs = []
    for i in range(number):
        source = draw(1, longest)
        target = max(1, min(longest - 1, source + draw(-5, 6)))
        body = [4 + i] * target
        pairs.append(([4 + i] * (source - 1) + [EOS], [BOS, *body, EOS]))
    return pairs


def real_rows(batch):
    """The pairs of a batch without their padding; rows of padding left out."""
    for src, tgt in zip(batch.src.tolist(), batch.tgt.tolist(), strict=True):
        pair = tuple(i for i in src if i), tuple(i for i in tgt if i)
        if any(pair):
            yield pair


def test_encoded_pairs_have_bos_and_eos(tokenizer, text):
    for (src, tgt), (en, ja) in zip(
        encode_pairs(tokenizer, text, 64), text, strict=True
    ):
        assert src == tokenizer.encode(en) + [EOS]
        assert tgt == [BOS] + tokenizer.encode(ja) + [EOS]


@pytest.mark.parametrize("max_length", [2, 3, 5])
def test_encoded_pairs_are_cut_before_eos(tokenizer, text, max_length):
    whole = encode_pairs(tokenizer, text, 64)
    cut = encode_pairs(tokenizer, text, max_length)
    for (src, tgt), (short_src, short_tgt) in zip(whole, cut, strict=True):
        assert len(short_src) == min(len(src), max_length)
        assert len(short_tgt) == min(len(tgt), max_length)
        assert short_src == src[: len(short_src) - 1] + [EOS]
        assert short_tgt == tgt[: len(short_tgt) - 1] + [EOS]


def test_empty_sentences_can_be_encoded(tokenizer):
    pairs = encode_pairs(tokenizer, ParallelText([""], [""]), 8)
    assert pairs == [([EOS], [BOS, EOS])]


def test_max_length_without_room_for_bos_and_eos(tokenizer, text):
    with pytest.raises(ConfigError, match="max_length is 1"):
        encode_pairs(tokenizer, text, 1)


def test_padded_batch():
    batch = padded_batch([([5, 2], [1, 6, 7, 2]), ([2], [1, 2])])
    assert batch.src.tolist() == [[5, 2], [2, PAD]]
    assert batch.tgt.tolist() == [[1, 6, 7, 2], [1, 2, PAD, PAD]]
    assert batch.src.dtype == batch.tgt.dtype == torch.int64


def test_the_target_is_shifted_by_one():
    batch = padded_batch([([2], [1, 6, 7, 2]), ([2], [1, 8, 2])])
    assert batch.tgt_in.tolist() == [[1, 6, 7], [1, 8, 2]]
    assert batch.tgt_out.tolist() == [[6, 7, 2], [8, 2, PAD]]


def test_a_batch_moves_as_a_whole():
    batch = padded_batch([([2], [1, 2])]).to("meta")
    assert isinstance(batch, Batch)
    assert batch.src.device.type == batch.tgt.device.type == "meta"


def test_pad_rows():
    assert pad_rows([[1], [1, 2]], 3, 9).tolist() == [[1, 9, 9], [1, 2, 9]]
    assert pad_rows([]).shape == (0, 0)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_sorted_batches_hold_every_sequence_once(size):
    sequences = [src for src, _ in random_pairs(20)]
    found = {}
    for places, ids in sorted_batches(sequences, size):
        assert len(places) <= size
        assert ids.shape[1] == max(len(sequences[i]) for i in places)
        for place, row in zip(places, ids.tolist(), strict=True):
            assert place not in found
            found[place] = [i for i in row if i != PAD]
    assert [found[i] for i in range(20)] == sequences


CASES = [(1, 64), (2, 40), (37, 64), (300, 100), (500, 512), (200, 40)]


@pytest.mark.parametrize(("number", "budget"), CASES)
@pytest.mark.parametrize("step", [2, 8])
@pytest.mark.parametrize("max_shapes", [1, 12])
def test_every_pair_comes_once_an_epoch(number, budget, step, max_shapes):
    pairs = random_pairs(number, seed=number)
    batches = BucketedBatches(pairs, budget, step=step, max_shapes=max_shapes)
    expected = Counter((tuple(src), tuple(tgt)) for src, tgt in pairs)
    for epoch in (0, 1):
        found = Counter()
        for batch in batches.epoch(epoch):
            found.update(real_rows(batch))
        assert found == expected


@pytest.mark.parametrize(("number", "budget"), CASES)
def test_shapes_are_few_and_within_the_budget(number, budget):
    batches = BucketedBatches(random_pairs(number, seed=number), budget)
    assert len(batches.shapes) <= 12
    counts = Counter()
    for batch in batches.epoch(0):
        rows, source = batch.src.shape
        assert rows * max(source, batch.tgt_in.shape[1]) <= budget
        assert batch.src.dtype == batch.tgt.dtype == torch.int64
        counts[rows, source, batch.tgt_in.shape[1]] += 1
    assert set(counts) == set(batches.shapes)
    assert sum(counts.values()) == len(batches)


def test_every_batch_has_a_pair_and_one_empty_row_at_the_most():
    for number, budget in CASES:
        batches = BucketedBatches(random_pairs(number), budget)
        for batch in batches.epoch(0):
            empty = len(batch.src) - len(list(real_rows(batch)))
            assert empty <= 1
            assert empty < len(batch.src)


def test_padding_share_is_that_of_an_epoch():
    batches = BucketedBatches(random_pairs(400), 256)
    ids = [i for b in batches.epoch(3) for i in (b.src, b.tgt_in)]
    # The eos of a row that is not the longest stays in tgt_in; it is counted
    # as padding, since nothing is to be answered there.
    extra = sum(int((b.tgt_in == EOS).sum()) for b in batches.epoch(3))
    real = sum(int((i != PAD).sum()) for i in ids) - extra
    assert batches.real_tokens == real
    share = 1 - real / sum(i.numel() for i in ids)
    assert batches.padding_share == pytest.approx(share)


def test_bucketing_pads_less_than_batches_in_any_order():
    pairs = random_pairs(1000)
    cells = sum(
        batch.src.numel() + batch.tgt_in.numel()
        for start in range(0, 1000, 32)
        for batch in [padded_batch(pairs[start : start + 32])]
    )
    batches = BucketedBatches(pairs, 640)
    assert batches.padding_share < 0.5 * (1 - batches.real_tokens / cells)


def same(one, other):
    return all(
        torch.equal(a, b)
        for pair in zip(one, other, strict=True)
        for a, b in zip(*pair, strict=True)
    )


def test_an_epoch_depends_on_seed_and_number_only():
    pairs = random_pairs(200)
    first = list(BucketedBatches(pairs, 128, seed=3).epoch(5))
    torch.manual_seed(99)
    again = BucketedBatches(pairs, 128, seed=3)
    list(again.epoch(0))
    assert same(first, list(again.epoch(5)))


def test_epochs_and_seeds_differ():
    pairs = random_pairs(200)
    batches = BucketedBatches(pairs, 128, seed=3)
    first = [list(real_rows(b)) for b in batches.epoch(0)]
    for other in (
        batches.epoch(1),
        BucketedBatches(pairs, 128, seed=4).epoch(0),
    ):
        rows = [list(real_rows(b)) for b in other]
        assert rows != first
        # not only the order of the batches is new
        assert {frozenset(b) for b in rows} != {frozenset(b) for b in first}


def test_the_global_random_state_is_left_alone():
    batches = BucketedBatches(random_pairs(50), 128)
    before = torch.get_rng_state()
    list(batches.epoch(0))
    assert torch.equal(before, torch.get_rng_state())


def test_blocks_of_a_text_leave_nothing_out(tokenizer, text):
    texts = [" ".join(text.tgt[:20]), "", text.tgt[20]]
    pairs = encode_texts(tokenizer, texts, 9)
    assert all(src == [EOS] for src, _ in pairs)
    assert all(tgt[0] == BOS and 1 < len(tgt) <= 9 for _, tgt in pairs)
    joined = [i for _, tgt in pairs for i in tgt[1:]]
    assert joined == [i for t in texts for i in [*tokenizer.encode(t), EOS]]


def test_many_lengths_are_still_quick_to_set_up():
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 250, (4000, 2), generator=generator).tolist()
    pairs = [([4] * s + [EOS], [BOS, *[4] * t, EOS]) for s, t in sizes]
    batches = BucketedBatches(pairs, 512)
    assert len(_cells([(s + 1, t + 1) for s, t in sizes], 2)) > MOST_CELLS
    assert len(batches.shapes) <= 12
    rows = sum(len(list(real_rows(b))) for b in batches.epoch(0))
    assert rows == len(pairs)


@pytest.fixture(scope="module")
def unigram(text):
    return Tokenizer.train([*text.src, *text.tgt], 600, "unigram")


def test_drawn_pieces_spell_the_same_text(unigram, text):
    drawn, again = (sampled_pairs(unigram, text, 99, 0.2, 7) for _ in "12")
    other = sampled_pairs(unigram, text, 99, 0.2, 8)
    assert drawn == again != other
    for pairs in (drawn, other):
        for (src, tgt), (en, ja) in zip(pairs, text, strict=True):
            assert (unigram.decode(src), unigram.decode(tgt)) == (en, ja)


def test_another_process_draws_the_same(unigram, text, tmp_path):
    unigram.save(tmp_path / "pieces.model")
    sentences = text.tgt[:30]
    program = (
        "from transformer_course.tokenizer import Tokenizer\n"
        f"model = Tokenizer.load({str(tmp_path / 'pieces.model')!r})\n"
        f"print(model.encode_sampled({sentences!r}, 0.2, 5))"
    )
    printed = subprocess.check_output([sys.executable, "-c", program])
    drawn = unigram.encode_sampled(sentences, 0.2, 5)
    assert printed.decode().strip() == str(drawn)
    assert drawn != [unigram.encode(sentence) for sentence in sentences]


def test_the_sharper_the_draw_the_likelier_the_pieces(unigram, text):
    best = encode_pairs(unigram, text, 99)
    agree = [
        sum(
            a == b
            for a, b in zip(
                sampled_pairs(unigram, text, 99, alpha, 0), best, strict=True
            )
        )
        for alpha in (0.1, 1.0, 100.0)
    ]
    assert agree == sorted(agree) and agree[0] < len(best) / 2
    assert agree[-1] > len(best) * 0.9


def test_a_pair_longer_than_the_budget():
    pairs = [([2], [1, 2]), ([5] * 9 + [2], [1, 2])]
    assert len(BucketedBatches(pairs, 10)) >= 1
    with pytest.raises(ConfigError, match=r"10 tokens .* token_budget 9"):
        BucketedBatches(pairs, 9)


def test_no_pairs():
    with pytest.raises(ConfigError, match="no sentence pairs"):
        BucketedBatches([], 10)
