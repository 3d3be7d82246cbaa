"""From texts to classes, and how good the answers are (chapter 17)."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.batches import sorted_batches
from transformer_course.labelled_batches import text_rows
from transformer_course.mode import evaluating
from transformer_course.tokenizer import Tokenizer

ROWS = 64
"""Texts in a batch that is judged on."""


@torch.inference_mode()
def probabilities(
    model: nn.Module, tokenizer: Tokenizer, texts: Sequence[str]
) -> Float[Tensor, "texts classes"]:
    """Of each class, for each text.

    Args:
        model: from ids to logits.
        tokenizer: its own.
        texts: cut off at the model's ``max_length``.

    Returns:
        On the CPU, in the order of the texts.
    """
    rows = text_rows(tokenizer, texts, model.config.max_length)
    device = next(model.parameters()).device
    found = torch.empty(len(rows), model.config.n_classes)
    with evaluating(model):
        for places, ids in sorted_batches(rows, ROWS):
            logits = model(ids.to(device)).float()
            found[places] = logits.softmax(dim=-1).cpu()
    return found


def f1_by_class(
    right: Int[Tensor, " texts"], guesses: Int[Tensor, " texts"], classes: int
) -> Float[Tensor, " classes"]:
    """2 TP / (2 TP + FP + FN) of each class.

    The harmonic mean of precision and recall, without the case in which both
    are 0 / 0: a class that is neither there nor guessed has 0.

    Args:
        right: the class of each text.
        guesses: what each was taken for.
        classes: how many there are.
    """
    there = torch.bincount(right, minlength=classes)  # TP + FN
    guessed = torch.bincount(guesses, minlength=classes)  # TP + FP
    hits = torch.bincount(right[right == guesses], minlength=classes)
    return 2 * hits / (there + guessed).clamp(min=1)


def macro_f1(
    right: Int[Tensor, " texts"], guesses: Int[Tensor, " texts"], classes: int
) -> float:
    """The mean of :func:`f1_by_class`: each class counts alike, rare or not.

    Args:
        right: the class of each text.
        guesses: what each was taken for.
        classes: how many there are.
    """
    return f1_by_class(right, guesses, classes).mean().item()
