"""Prediction of masked tokens (chapter 18)."""

from itertools import pairwise

import torch
from torch import Tensor

from transformer_course.data.tokenizer import EOS, MASK_PIECE, AnyTokenizer
from transformer_course.decoding.classify import Guess, top_guesses
from transformer_course.errors import ConfigError
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.mode import eval_mode


def encode_masked(
    tokenizer: AnyTokenizer, text: str, max_length: int
) -> list[int]:
    """Ids of a text that may contain [MASK], between [CLS] and [SEP].

    A space before [MASK] belongs to the masked token, as to any other.

    Args:
        tokenizer: knows [MASK].
        text: of any length.
        max_length: maximum number of ids.

    Raises:
        ConfigError: the text is longer.
        TokenizerError: the vocabulary has no [MASK].
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
    return [tokenizer.cls_id, *kept, tokenizer.sep_id]


def fill(
    model: BertPreTraining, tokenizer: AnyTokenizer, text: str, top: int = 5
) -> list[list[Guess]]:
    """Most probable tokens for each [MASK] of a text.

    Each is predicted while all others stay masked.

    Args:
        model: put into evaluation mode meanwhile.
        tokenizer: the model's own.
        text: with one [MASK] or more.
        top: guesses for each [MASK].

    Returns:
        For each [MASK], from left to right, its guesses in descending order
        of probability.

    Raises:
        ConfigError: no [MASK], too long a text, or ``top`` is not from 1 to
            the size of the vocabulary.
        TokenizerError: the vocabulary has no [MASK].
        DivergedError: the model's predictions are not numbers.
    """
    ids = torch.tensor(
        [encode_masked(tokenizer, text, model.config.max_length)]
    )
    if not (ids == tokenizer.mask_id).any():
        raise ConfigError(
            f"no {MASK_PIECE} stands in {text!r}: write it in place of "
            "each word to be guessed, with spaces around it as around a word."
        )
    names = [
        tokenizer.decode([i]) or tokenizer.piece(i)
        for i in range(tokenizer.vocab_size)
    ]
    return top_guesses(
        masked_probabilities(model, ids, tokenizer.mask_id), names, top
    )


def masked_probabilities(
    model: BertPreTraining, ids: Tensor, mask_id: int
) -> Tensor:
    """Probability of each token, at each masked position.

    Args:
        model: put into evaluation mode meanwhile.
        ids: rows of a batch, with ``mask_id`` in them.
        mask_id: the id of [MASK].

    Returns:
        (masked positions, vocab), in order.
    """
    ids = ids.to(next(model.parameters()).device)
    with torch.inference_mode(), eval_mode(model):
        logits, _ = model(ids, chosen=ids == mask_id)
    return logits.float().softmax(dim=-1)
