"""Batches: bos and eos, padding, the target shift; with a source or none."""

import pytest
import torch

from transformer_course.batches.pairs import (
    encode_pairs,
    encode_texts,
    pad_rows,
    padded_batch,
    sampled_pairs,
    sorted_batches,
)
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.tokenizer import BOS, EOS, PAD, Tokenizer
from transformer_course.errors import ConfigError


@pytest.fixture(scope="module")
def text():
    return grammar_corpus(train=300, dev=0, test=0).train


@pytest.fixture(scope="module")
def tokenizer(text):
    return Tokenizer.train([*text.src, *text.tgt], 600, "word")


def test_encoded_pairs_have_bos_and_eos(tokenizer, text):
    for (src, tgt), (en, ja) in zip(
        encode_pairs(tokenizer, text, 64), text, strict=True
    ):
        assert src == tokenizer.encode(en) + [EOS]
        assert tgt == [BOS] + tokenizer.encode(ja) + [EOS]


@pytest.mark.parametrize("max_length", [2, 5])
def test_encoded_pairs_are_cut_before_eos(tokenizer, text, max_length):
    whole = encode_pairs(tokenizer, text, 64)
    cut = encode_pairs(tokenizer, text, max_length)
    for (src, tgt), (short_src, short_tgt) in zip(whole, cut, strict=True):
        assert len(short_src) == min(len(src), max_length)
        assert len(short_tgt) == min(len(tgt), max_length)
        assert short_src == src[: len(short_src) - 1] + [EOS]
        assert short_tgt == tgt[: len(short_tgt) - 1] + [EOS]


def test_max_length_without_room_for_bos_and_eos(tokenizer, text):
    for encode, texts in ((encode_pairs, text), (encode_texts, text.tgt)):
        with pytest.raises(ConfigError, match="max_length is 1"):
            encode(tokenizer, texts, 1)


def test_padded_batch():
    batch = padded_batch([([5, 2], [1, 6, 7, 2]), ([2], [1, 2])])
    assert batch.src.tolist() == [[5, 2], [2, PAD]]
    assert batch.tgt.tolist() == [[1, 6, 7, 2], [1, 2, PAD, PAD]]
    assert batch.src.dtype == batch.tgt.dtype == torch.int64


def test_a_batch_without_sources():
    batch = padded_batch([(None, [1, 6, 7]), (None, [1, 2])])
    assert batch.src is None
    assert batch.tgt.tolist() == [[1, 6, 7], [1, 2, PAD]]
    assert batch.to("meta").src is None
    (tgt_in,) = batch.inputs
    assert torch.equal(tgt_in, batch.tgt_in)


def test_rows_of_a_batch():
    thrice = padded_batch([([5, 2], [1, 6, 2]), ([2], [1, 2])]).repeat(3)
    assert thrice.src.tolist() == 3 * [[5, 2], [2, PAD]]
    last, first = thrice.take(torch.tensor([3, 0])).tgt.tolist()
    assert (last, first) == ([1, 2, PAD], [1, 6, 2])


def test_pad_rows():
    assert pad_rows([[1], [1, 2]], 3).tolist() == [[1, 0, 0], [1, 2, 0]]
    assert pad_rows([]).shape == (0, 0)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_sorted_batches_hold_every_sequence_once(size):
    sequences = [[4 + i] * (1 + 7 * i % 11) for i in range(20)]
    found = {}
    for places, ids in sorted_batches(sequences, size):
        assert len(places) <= size
        assert ids.shape[1] == max(len(sequences[i]) for i in places)
        for place, row in zip(places, ids.tolist(), strict=True):
            assert place not in found
            found[place] = [i for i in row if i != PAD]
    assert [found[i] for i in range(20)] == sequences


def test_blocks_of_a_text_leave_nothing_out(tokenizer, text):
    texts = [" ".join(text.tgt[:20]), "", text.tgt[20]]
    pairs = encode_texts(tokenizer, texts, 9)
    assert all(src is None for src, _ in pairs)
    assert all(tgt[0] == BOS and 1 < len(tgt) <= 9 for _, tgt in pairs)
    joined = [i for _, tgt in pairs for i in tgt[1:]]
    assert joined == [i for t in texts for i in [*tokenizer.encode(t), EOS]]


@pytest.fixture(scope="module")
def unigram(text):
    return Tokenizer.train([*text.src, *text.tgt], 600, "unigram")


def test_drawn_pieces_spell_the_same_text(unigram, text):
    text = text.take(range(40))
    drawn, again = (sampled_pairs(unigram, text, 99, 0.2, 7) for _ in "12")
    other = sampled_pairs(unigram, text, 99, 0.2, 8)
    assert drawn == again != other
    for pairs in (drawn, other):
        for (src, tgt), (en, ja) in zip(pairs, text, strict=True):
            assert (unigram.decode(src), unigram.decode(tgt)) == (en, ja)
