"""The rule by which speculative decoding keeps guesses, when it samples."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def accept_draft(
    guess: Int[Tensor, " k"],
    draft: Float[Tensor, "k vocab"],
    large: Float[Tensor, "more vocab"],
    chance: Float[Tensor, " more"],
) -> tuple[int, Float[Tensor, " vocab"]]:
    """Decide how many guessed tokens are kept, and how the next is drawn.

    Guess i, a token x that was drawn with the draft model's probability q(x),
    is kept if ``chance[i]`` is below p(x) / q(x), where p(x) is the large
    model's probability. The first that is not kept ends it: those behind it
    are dropped, too. The next token is then drawn from what p has over q at
    that position: max(0, p - q), made to sum to 1. If all are kept, it is
    drawn from p at the position behind the last guess.

    Args:
        guess: tokens that the draft model drew.
        draft: its distribution at the position of each guess.
        large: the large model's, at these positions and at the one behind.
        chance: drawn evenly from 0 to 1.

    Returns:
        The number of guesses that are kept, and the distribution from which
        the next token is drawn.
    """
    ### BEGIN SOLUTION
    for i, token in enumerate(guess.tolist()):
        p, q = large[i], draft[i]
        if chance[i] >= p[token] / q[token]:
            rest = (p - q).clamp(min=0)
            return i, rest / rest.sum()
    return len(guess), large[len(guess)]
    ### END SOLUTION


@other
def accept_at_once(guess, draft, large, chance):
    k = len(guess)
    rows = torch.arange(k)
    ratio = large[rows, guess] / draft[rows, guess]
    kept = int((chance[:k] < ratio).long().cumprod(0).sum())
    if kept == k:
        return kept, large[k]
    rest = torch.relu(large[kept] - draft[kept])
    return kept, rest / rest.sum()


@other
def accept_by_products(guess, draft, large, chance):
    kept = 0
    while kept < len(guess):
        token = guess[kept]
        if chance[kept] * draft[kept, token] >= large[kept, token]:
            over = torch.maximum(
                large[kept] - draft[kept], torch.zeros_like(draft[kept])
            )
            return kept, torch.nn.functional.normalize(over, p=1, dim=0)
        kept += 1
    return kept, large[-1]


def draw_guesses(draw: Draw) -> Case:
    k, vocab = draw.size(1, 4), draw.size(3, 6)
    draft = draw.normal(k, vocab).softmax(-1)
    large = draw.normal(k + 1, vocab).softmax(-1)
    guess = draft.argmax(-1)
    chance = torch.tensor([draw.size(1, 99) / 100 for _ in range(k + 1)])
    return case("random distributions", guess, draft, large, chance)


EXERCISE = exercise_of(
    accept_draft,
    section="21_speed#guess-then-check",
    points=3,
    cases=[
        case(
            "one guess, which the large model likes as much",
            torch.tensor([0]),
            torch.tensor([[0.5, 0.25, 0.25]]),
            torch.tensor([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]]),
            torch.tensor([0.9, 0.5]),
        ),
        case(
            "one guess, half as probable, an unlucky draw",
            torch.tensor([0]),
            torch.tensor([[0.8, 0.1, 0.1]]),
            torch.tensor([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]),
            torch.tensor([0.7, 0.5]),
        ),
        case(
            "the same, a lucky draw",
            torch.tensor([0]),
            torch.tensor([[0.8, 0.1, 0.1]]),
            torch.tensor([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]),
            torch.tensor([0.45, 0.5]),
        ),
        case(
            "three guesses, the second is rejected, the third would do",
            torch.tensor([1, 0, 2]),
            torch.tensor(
                [[0.2, 0.6, 0.2], [0.9, 0.05, 0.05], [0.2, 0.2, 0.6]]
            ),
            torch.tensor(
                [
                    [0.1, 0.8, 0.1],
                    [0.3, 0.5, 0.2],
                    [0.1, 0.1, 0.8],
                    [0.6, 0.2, 0.2],
                ]
            ),
            torch.tensor([0.5, 0.6, 0.5, 0.5]),
        ),
        case(
            "two guesses, both are kept",
            torch.tensor([1, 2]),
            torch.tensor([[0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]),
            torch.tensor([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]),
            torch.tensor([0.5, 0.6, 0.5]),
        ),
    ],
    draw=draw_guesses,
)
