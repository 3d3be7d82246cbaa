"""What all have to do: the same sentences, a model of one size.

The configuration is called small: 3 + 3 layers, d_model 256, 4 heads, d_ff
1024, dropout .1, label smoothing .1, some 6,000 pieces. Tokens are those of
the target, padding left out.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import (
    Batch,
    IdPair,
    encode_pairs,
    pad_rows,
)
from transformer_course.data.corpora import load_corpus
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.inference.chat import Message, chat_text
from transformer_course.models.config import ModelConfig

PAIRS = 20_000
"""Sentence pairs of the corpus that are used, its first."""
VOCABULARY = 6_000
TOKEN_BUDGET = 1536
STEPS = 20
"""Updates in a round of training."""
SENTENCES, DECODED_ROWS, NEW_TOKENS = 200, 50, 24
"""Decoded in a round; in a batch; tokens written for each sentence."""
SMOOTHING, DROPOUT, BEAM_SIZE = 0.1, 0.1, 5
QUESTION, ANSWER = "Tell me a long story about a small boat at sea.", 128
"""What SmolLM2 is asked in a round, and the tokens that it writes."""


class Round(NamedTuple):
    """Result of a round."""

    done: int
    """Target tokens learned from, or sentences translated."""
    output: list[list[int]]
    """Tokens written; empty in training."""


Turn = Callable[[], Round]
"""Does a round's work."""


@cache
def pairs() -> tuple[list[IdPair], int]:
    """The sentence pairs as ids, and the size of the vocabulary.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    text = load_corpus("small_parallel_enja").train.take(range(PAIRS))
    lines = [*text.src, *text.tgt]
    tokenizer = Tokenizer.train(lines, VOCABULARY)
    return encode_pairs(tokenizer, text, 128), tokenizer.vocab_size


def config(**changes) -> ModelConfig:
    """The small model."""
    sizes = {"d_model": 256, "n_heads": 4, "d_ff": 1024, "n_layers": 3}
    return ModelConfig(
        vocab_size=pairs()[1],
        dropout=DROPOUT,
        norm_first=True,
        **sizes | changes,
    )


def bucketed() -> list[Batch]:
    """Batches as the course's presets make them: few shapes."""
    known = BucketedBatches(pairs()[0], TOKEN_BUDGET)
    return list(islice(known.epoch(0), STEPS))


def sources() -> list:
    """Source sentences in batches, those of like length together."""
    rows = sorted((src for src, _ in pairs()[0][:SENTENCES]), key=len)
    starts = range(0, SENTENCES, DECODED_ROWS)
    return [pad_rows(rows[s : s + DECODED_ROWS]) for s in starts]


def real_tokens(batches: Sequence[Batch]) -> int:
    """Target tokens in these batches."""
    return sum(int((batch.tgt_out != PAD).sum()) for batch in batches)


def prompt() -> str:
    """What SmolLM2 reads before it answers."""
    return chat_text([Message("user", QUESTION)])
