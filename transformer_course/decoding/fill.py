"""Hidden words, guessed from both sides (chapter 18)."""

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_course.data.tokenizer import BOS, EOS, MASK_PIECE, Tokenizer
from transformer_course.decoding.search import require_numbers
from transformer_course.errors import ConfigError
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.mode import eval_mode


class Guess(NamedTuple):
    """A piece that may stand in a hidden place, and how likely that is."""

    piece: str
    probability: float


def encode_masked(
    tokenizer: Tokenizer, text: str, max_length: int
) -> list[int]:
    """The ids of a text that may hold [MASK], between [CLS] and [SEP].

    A space before [MASK] belongs to what is hidden, as it does to any piece.

    Args:
        tokenizer: knows [MASK].
        text: of any length.
        max_length: ids at the most.

    Raises:
        ConfigError: the text is longer; how long is said.
        TokenizerError: the pieces have no [MASK].
    """
    mask_id = tokenizer.mask_id
    kept = [
        i
        for i, after in pairwise([*tokenizer.encode(text), EOS])
        if not (after == mask_id and tokenizer.piece(i) == "▁")
    ]
    if len(kept) > max_length - 2:
        raise ConfigError(
            f"the text is {len(kept)} pieces long, but this model reads "
            f"{max_length - 2}: shorten it."
        )
    return [BOS, *kept, EOS]


def fill(
    model: BertPreTraining, tokenizer: Tokenizer, text: str, top: int = 5
) -> list[list[Guess]]:
    """What may stand in each hidden place of a text.

    Each place is guessed with all others hidden.

    Args:
        model: put into evaluation mode meanwhile.
        tokenizer: its own.
        text: with [MASK] in it, once or more.
        top: guesses for each place.

    Returns:
        For each [MASK], from left to right, its guesses, the likeliest first.

    Raises:
        ConfigError: no [MASK], too long a text, or ``top`` is not from 1 to
            the size of the vocabulary.
        TokenizerError: the pieces have no [MASK].
        DivergedError: the model's predictions are not numbers.
    """
    if not 1 <= top <= tokenizer.vocab_size:
        raise ConfigError(
            f"top is {top}: it must be from 1 to {tokenizer.vocab_size}, the "
            "number of pieces."
        )
    ids = torch.tensor(
        [encode_masked(tokenizer, text, model.config.max_length)]
    )
    if not (ids == tokenizer.mask_id).any():
        raise ConfigError(
            f"no {MASK_PIECE} stands in {text!r}: write it in the place of "
            "each word to be guessed, with spaces where words have them."
        )
    shares = hidden_words(model, ids, tokenizer.mask_id)
    require_numbers(shares.isfinite())
    likeliest = shares.topk(top)
    return [
        [
            Guess(tokenizer.decode([i]) or tokenizer.piece(i), p)
            for i, p in zip(*row, strict=True)
        ]
        for row in zip(
            likeliest.indices.tolist(), likeliest.values.tolist(), strict=True
        )
    ]


def hidden_words(model: BertPreTraining, ids: Tensor, mask_id: int) -> Tensor:
    """Probabilities of each piece, in each hidden place.

    Args:
        model: put into evaluation mode meanwhile.
        ids: rows of a batch, with ``mask_id`` in them.
        mask_id: of [MASK].

    Returns:
        One row for each hidden place, in order: (places, vocab).
    """
    ids = ids.to(next(model.parameters()).device)
    with torch.inference_mode(), eval_mode(model):
        logits, _ = model(ids, chosen=ids == mask_id)
    return logits.float().softmax(dim=-1)
