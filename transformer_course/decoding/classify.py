"""Classification of texts, and its metrics (chapter 17)."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.batches.labelled import text_rows
from transformer_course.batches.pairs import sorted_batches
from transformer_course.data.tokenizer import AnyTokenizer
from transformer_course.decoding.search import require_numbers
from transformer_course.errors import ConfigError
from transformer_course.models.mode import eval_mode

EVAL_BATCH_SIZE = 64
"""Texts in a batch of an evaluation."""


class Guess(NamedTuple):
    """A predicted class or token, with its probability."""

    name: str
    probability: float


def top_guesses(
    probabilities: Float[Tensor, "rows choices"],
    names: Sequence[str],
    top: int = 1,
) -> list[list[Guess]]:
    """The most probable choices of each row, in descending order.

    Args:
        probabilities: of each choice.
        names: of the choices: classes, or tokens.
        top: guesses for each row.

    Raises:
        ConfigError: ``top`` is not from 1 to the number of choices.
        DivergedError: the probabilities are not numbers.
    """
    if not 1 <= top <= len(names):
        raise ConfigError(
            f"top is {top}: it must be from 1 to {len(names)}, the number of "
            "choices."
        )
    require_numbers(probabilities.isfinite())
    found = probabilities.topk(top)
    rows = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [
        [Guess(names[i], p) for i, p in zip(*row, strict=True)] for row in rows
    ]


@torch.inference_mode()
def probabilities(
    model: nn.Module, tokenizer: AnyTokenizer, texts: Sequence[str]
) -> Float[Tensor, "texts classes"]:
    """Probability of each class, for each text.

    Args:
        model: from ids to logits.
        tokenizer: the model's own.
        texts: truncated to the model's ``max_length``.

    Returns:
        In the order of the texts; on the CPU, or where tensors are made by
        default.
    """
    rows = text_rows(tokenizer, texts, model.config.max_length)
    device = next(model.parameters()).device
    found = torch.empty(len(rows), model.config.n_classes)
    with eval_mode(model):
        for places, ids in sorted_batches(rows, EVAL_BATCH_SIZE):
            logits = model(ids.to(device)).float()
            found[places] = logits.softmax(dim=-1).to(found.device)
    return found


def confusion(
    right: Int[Tensor, " texts"], guesses: Int[Tensor, " texts"], classes: int
) -> Int[Tensor, "class guess"]:
    """How many texts of each class (row) were taken for which (column).

    Args:
        right: the class of each text.
        guesses: the predicted class of each text.
        classes: number of classes.
    """
    places = right * classes + guesses
    return places.bincount(minlength=classes**2).view(classes, classes)


def f1_by_class(
    confused: Int[Tensor, "class guess"],
) -> Float[Tensor, " class"]:
    """2 TP / (2 TP + FP + FN) of each class.

    The harmonic mean of precision and recall, without the case in which both
    are 0 / 0: a class that is neither present nor predicted has 0.

    Args:
        confused: from :func:`confusion`.
    """
    both = confused.sum(dim=0) + confused.sum(dim=1)  # 2 TP + FP + FN
    return 2 * confused.diag() / both.clamp(min=1)


def macro_f1(
    right: Int[Tensor, " texts"], guesses: Int[Tensor, " texts"], classes: int
) -> float:
    """The mean of :func:`f1_by_class`: each class counts alike, rare or not.

    Args:
        right: the class of each text.
        guesses: the predicted class of each text.
        classes: number of classes.
    """
    return f1_by_class(confusion(right, guesses, classes)).mean().item()


def interval_of_groups(
    hits: Bool[Tensor, " texts"] | Float[Tensor, " texts"],
    groups: Sequence[str],
    samples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """95 % bootstrap interval of accuracy, with groups resampled.

    Texts of one work are right or wrong together, so there is no more
    evidence than there are works: works are drawn with replacement, and each
    brings all of its texts (Efron and Tibshirani 1993, chapter 8).

    Args:
        hits: 1 for each right text; or numbers, for an interval of their
            mean: the differences between two models, for instance.
        groups: the group of each text.
        samples: number of bootstrap samples.
        seed: of the random numbers.

    Returns:
        The bounds that 2.5 % of the draws lie below, and above.
    """
    number = {name: i for i, name in enumerate(dict.fromkeys(groups))}
    place = torch.tensor([number[name] for name in groups])
    sizes = torch.bincount(place).double()
    right = torch.bincount(place, weights=hits.double())
    generator = torch.Generator().manual_seed(seed)
    accuracy = torch.empty(samples, dtype=torch.float64)
    for i in range(samples):
        drawn = torch.randint(len(sizes), (len(sizes),), generator=generator)
        accuracy[i] = right[drawn].sum() / sizes[drawn].sum()
    low, high = accuracy.quantile(torch.tensor([0.025, 0.975]).double())
    return low.item(), high.item()
