"""The rule by which speculative decoding keeps guesses, when it samples."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


EDITS = """
# ratio_upside_down
- p[token] / q[token] -> q[token] / p[token]
You compare with q over p.

Then a token is kept all the more surely the *less* the large model wants it. A
guess has to be kept where p(x) is at least q(x), and with probability
p(x) / q(x) elsewhere.

# by_the_large_model_alone
- p[token] / q[token] -> p[token]
You keep a guess with probability p(x).

It was drawn with probability q(x) already. Both together would make it come
with probability p(x) · q(x), which is far too seldom.

# drawn_from_the_large_model
- (p - q).clamp(min=0) -> p
You draw the next token from p, also after a rejected guess.

Tokens that the draft model likes then come too often: once as kept guesses,
and again here. What is missing is what p has over q.

# drawn_from_the_difference_of_the_draft
- (p - q).clamp -> (q - p).clamp
You draw the next token from what q has over p.

These are the tokens that came too often already. What is missing is what p
has over q.

# absolute_difference
- (p - q).clamp(min=0) -> (p - q).abs()
You draw from the size of the difference.

Where q is above p, nothing is missing: those tokens get zero.

# not_made_to_sum_to_one
- rest / rest.sum() -> rest
Your distribution does not sum to 1.

What p has over q sums to the probability that a guess is rejected. Divide by
it.

# made_to_sum_by_softmax
- rest / rest.sum() -> rest.softmax(dim=0)
You make the difference sum to 1 by a softmax.

A softmax gives something to every token, even where p has nothing over q.
Divide by the sum.

# last_position_for_all
- large[len(guess)] -> large[len(guess) - 1]
When all guesses are kept, you draw from the distribution of the last guess.

That position is filled. The large model has read all guesses, so it knows the
distribution *behind* the last: a token for nothing.

# one_more_counted
- return i, rest -> return i + 1, rest
You count the rejected guess as kept.

Only the guesses before it stand; in its place comes a token from the
distribution that you return.

# rejected_ones_skipped
- p, q = large[i], draft[i]
+ p, q = large[i], draft[i]
- return i, rest / rest.sum() -> return len(guess) - 1, rest / rest.sum()
You drop the rejected guess alone, and keep those behind it.

They were guessed as a continuation of that token. Without it, they stand
behind another text.
"""


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
    hints=(
        "Go through the guesses one after another. What decides whether one "
        "is kept, and what happens to those behind one that is not?",
        "After a rejection, subtract q from p, cut off what is below zero, "
        "and divide by the sum. If nothing was rejected, the large model has "
        "one row more than there are guesses.",
    ),
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
