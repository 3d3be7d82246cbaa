"""BERT's masking of tokens."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def mask_tokens(
    words: Int[Tensor, "batch length"],
    chance: Float[Tensor, "batch length"],
    fate: Float[Tensor, "batch length"],
    drawn: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
    """Hide words as BERT does, and say what is asked for.

    The ids are pad 0, [CLS] 1, [SEP] 2, unknown 3 and [MASK] 4; all from 5
    on are words. What is drawn at random is given, one number for each token.

    Args:
        words: the rows as they are; they hold no [MASK], and stay unchanged.
        chance: from 0 to 1. A word is *chosen* where this is below 0.15; the
            ids below 5 are never chosen.
        fate: from 0 to 1. A chosen word becomes [MASK] where this is below
            0.8, and another word where it is from 0.8 to below 0.9. From 0.9
            on it stays as it is.
        drawn: the other word for each position.

    Returns:
        The rows that the model reads, and the right answers: the word at each
        chosen position, and -100 at all others, which no loss counts. Both
        have the dtype of ``words``.
    """
    ### BEGIN SOLUTION
    ordinary = words >= 5
    chosen = (chance < 0.15) & ordinary
    masked = chosen & (fate < 0.8)
    swapped = chosen & (fate >= 0.8) & (fate < 0.9)
    hidden = words.masked_fill(masked, 4)
    hidden = torch.where(swapped, drawn, hidden)
    answers = words.masked_fill(~chosen, -100)
    return hidden, answers
    ### END SOLUTION


@other
def masking_by_loop(words, chance, fate, drawn):
    hidden, answers = words.clone(), torch.full_like(words, -100)
    for row in range(words.size(0)):
        for place in range(words.size(1)):
            if words[row, place] < 5 or chance[row, place] >= 0.15:
                continue
            answers[row, place] = words[row, place]
            if fate[row, place] < 0.8:
                hidden[row, place] = 4
            elif fate[row, place] < 0.9:
                hidden[row, place] = drawn[row, place]
    return hidden, answers


@other
def masking_by_places(words, chance, fate, drawn):
    chosen = (words > 4).logical_and(chance < 0.15)
    replaced = torch.where(fate < 0.8, 4, drawn)
    replaced = torch.where(fate < 0.9, replaced, words)
    return (
        torch.where(chosen, replaced, words),
        torch.where(chosen, words, -100),
    )


def tokens(note: str, *columns: tuple[int, float, float, int]) -> Case:
    """One row, given as a tuple (word, chance, fate, drawn) for each token."""
    words, chance, fate, drawn = zip(*columns, strict=True)
    return case(
        note,
        torch.tensor([words]),
        torch.tensor([chance]),
        torch.tensor([fate]),
        torch.tensor([drawn]),
    )


def draw_rows(draw: Draw) -> Case:
    rows, length = draw.size(1, 3), draw.size(3, 8)
    words = draw.ids(rows, length)
    words += 4 * (words != 0)
    words = torch.cat([torch.ones(rows, 1).long(), words], dim=1)
    shape = words.shape
    # half of the tokens are chosen, so that much is seen
    chance = draw.normal(*shape).abs().frac() * 0.3
    fate = draw.normal(*shape).mul(7).abs().frac()
    return case("random rows", words, chance, fate, draw.ids(*shape).clamp(5))


EXERCISE = exercise_of(
    mask_tokens,
    section="18_bert#masked-language-modelling-hide-then-ask",
    points=3,
    cases=[
        tokens("one word, hidden", (7, 0.1, 0.5, 9)),
        tokens("one word, not chosen", (7, 0.5, 0.5, 9)),
        tokens("one word, swapped", (7, 0.1, 0.85, 9)),
        tokens("one word, kept", (7, 0.1, 0.95, 9)),
        tokens("a fate near 0", (7, 0.1, 0.05, 9)),
        tokens("not chosen, a fate near 0", (7, 0.5, 0.05, 9)),
        tokens("padding", (7, 0.5, 0.5, 9), (0, 0.1, 0.5, 9)),
        tokens("the first sign", (1, 0.1, 0.5, 9), (7, 0.1, 0.5, 9)),
        tokens("the last sign", (7, 0.5, 0.5, 9), (2, 0.1, 0.5, 9)),
        tokens("the word with the smallest id", (5, 0.1, 0.5, 9)),
        tokens("an unknown word", (7, 0.5, 0.5, 9), (3, 0.1, 0.5, 9)),
        tokens("the bounds", (7, 0.15, 0.5, 9), (8, 0.1, 0.8, 9)),
        tokens("a fate just above 0.8", (7, 0.1, 0.81, 9)),
        tokens("both sides of 0.9", (7, 0.1, 0.89, 9), (8, 0.1, 0.91, 10)),
        tokens(
            "a whole row",
            (1, 0.01, 0.3, 9),
            (7, 0.02, 0.1, 9),
            (8, 0.9, 0.2, 10),
            (9, 0.14, 0.83, 11),
            (10, 0.0, 0.99, 12),
            (2, 0.1, 0.85, 9),
            (0, 0.1, 0.3, 9),
        ),
    ],
    draw=draw_rows,
)
