"""Scores of beam search, with a length penalty."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def beam_scores(
    tgt: Int[Tensor, "beam length"],
    log_probs: Float[Tensor, " beam"],
    alpha: float,
) -> Float[Tensor, " beam"]:
    """Score hypotheses as a beam ranks them, by GNMT's length penalty.

    Args:
        tgt: a row for each hypothesis: bos (1), the tokens written, and then
            eos (2) if it has ended; pad (0) fills up.
        log_probs: log p of each hypothesis, the sum of its tokens'
            log-probabilities: logarithms already, 0 or below.
        alpha: the exponent; with 0 nothing changes.

    Returns:
        The score of each hypothesis: s = log p / ((5 + length) / 6)^alpha,
        in the order and the dtype of ``log_probs``. The length counts what
        was written in its row: eos if it is there, but neither bos nor pad.
    """
    ### BEGIN SOLUTION
    written = tgt[:, 1:] != 0
    lengths = written.sum(dim=1)
    penalty = ((5 + lengths) / 6) ** alpha
    return log_probs / penalty
    ### END SOLUTION


@other
def scores_by_loop(tgt, log_probs, alpha):
    scores = []
    for row, log_p in zip(tgt.tolist(), log_probs, strict=True):
        length = len([token for token in row if token > 1])
        scores.append(log_p / math.pow((5 + length) / 6, alpha))
    return torch.stack(scores)


@other
def scores_by_logarithms(tgt, log_probs, alpha):
    pads = tgt.eq(0).sum(dim=1)
    length = tgt.size(1) - 1 - pads
    penalty = alpha * (torch.log(5.0 + length) - math.log(6))
    return log_probs * torch.exp(-penalty).to(log_probs.dtype)


EDITS = """
# multiplied
- / penalty -> * penalty
You multiply by the length penalty.

Log-probabilities are negative. Multiplying makes those of long sentences even
lower; dividing brings them closer to 0.

# brackets_left_out
- ((5 + lengths) / 6) ** alpha -> (5 + lengths) * 6**alpha
Your exponent belongs to the 6 alone.

`a / b / c**d` divides a by b, and the result by c**d. Put the whole fraction
in brackets, and the exponent behind them.

# best_first
- log_probs / penalty -> (log_probs / penalty).sort(descending=True).values
Your scores are sorted.

The place of a score says which hypothesis it belongs to. Whoever ranks them
needs that order.

# ranking_returned
- log_probs / penalty -> (log_probs / penalty).argsort(descending=True)
You return a ranking: the indices of the hypotheses, the best one first.

Return the scores themselves, in the order of `log_probs`.

# sign_turned
- return -> return -
Your scores have the other sign.

Log-probabilities are negative, and so are scores. With yours the best
hypothesis has the smallest score, but a beam keeps the largest.

# alpha_turned
- ** alpha -> ** (1 / alpha)
Your exponent is 1/α.

A larger α should help long sentences more. With yours it helps them less, and
with α = 0 there is an error.

# bos_counted
- tgt[:, 1:] -> tgt
You count bos.

It was given, not written: your lengths are one too large.

# eos_not_counted
- tgt[:, 1:] != 0 -> tgt > 2
You do not count eos.

eos is a token that was written: its log-probability is in the sum, too.

# eos_always_counted
- tgt[:, 1:] != 0 -> tgt > 2
- 5 + -> 6 +
You count an eos in every hypothesis.

One that has not ended has none. Do you count the words and add 1? Count what
was written.

# hypotheses_counted
- written.sum(dim=1) -> len(tgt)
You take the number of hypotheses for the length.

`len` of a tensor is the size of its first axis, the beam. The tokens of a
hypothesis lie along the second.

# last_place_not_counted
- 5 + -> 4 +
You subtract 1 in each row, for eos.

eos counts, since it was written. And a hypothesis that has not ended has none.

# padding_counted
- written.sum(dim=1) -> tgt.size(1) - 1
All hypotheses of your beam have the same length: you count padding.

Then the penalty is the same for all, and changes nothing in their order.

# lengths_summed
- sum(dim=1) -> sum()
All hypotheses of your beam have the same length: that of all together.

Your sum runs over the whole beam. Each row has a length of its own.

# all_places_counted
- written.sum(dim=1) -> tgt.size(1)
All hypotheses of your beam have the same length: you count padding, and bos.

Count only the tokens that were written in each row.

# length_itself
- ((5 + lengths) / 6) -> lengths
You divide by the length to the power of alpha.

That is another penalty, and a much stronger one. Here 5 is added to the
length, and the sum is divided by 6.

# divided_by_length_too
- log_probs / -> log_probs / lengths /
You divide by the length, and by the length penalty as well.

The penalty takes the place of the length: divide once.

# penalty_in_the_logarithm
- / penalty -> - penalty.log()
You subtract the logarithm of the length penalty.

That divides the *probability* by the penalty. The formula divides its
logarithm.

# five_left_out
- 5 + -> 0 +
You divide by (length / 6) to the power of alpha: the 5 is missing.

With it, the penalty grows slowly: a sentence of one token has a penalty of
exactly 1.

# base_and_exponent_exchanged
- ((5 + lengths) / 6) ** alpha -> alpha ** ((5 + lengths) / 6)
You raise alpha to the power of the fraction.

The fraction is the base, and alpha the exponent.

# mean_per_token
- ((5 + lengths) / 6) ** alpha -> lengths
You divide by the length: that gives a mean per token, whatever alpha is.

Here 5 is added to the length, the sum is divided by 6, and that is raised to
the power of alpha.

# without_alpha
-  ** alpha ->
You never use alpha: your exponent is always 1.

Alpha says how much the length should count, and is chosen on a development
set.

# times_alpha
- ** alpha -> * alpha
You multiply by alpha where it should be the exponent.

With alpha = 0 you divide by 0, where nothing should change.

# six_outside_the_power
- ((5 + lengths) / 6) ** alpha -> (5 + lengths) ** alpha / 6
You take the power of 5 + length, and divide it by 6 afterwards.

The exponent belongs to the whole fraction. With alpha = 0 nothing should
change, but yours divides by 1/6.

# only_length_over_six
- (5 + lengths) -> 5 + lengths
You divide only the length by 6, not 5 + length.

Put the sum in brackets: a sentence of one token has a penalty of exactly 1.

# six_left_out
-  / 6 ->
You do not divide by 6.

That alone does not change the order of the hypotheses. But for a sentence of
one token the score should be log p itself.

# penalty_taken_off
- / penalty -> - penalty
You subtract the length penalty from the log-probability.

The formula divides by it. Subtracted, it makes long sentences worse.

# penalty_added
- / penalty -> + penalty
You add the length penalty to the log-probability.

That is another rule, a reward for each word. This formula divides by it.

# of_probabilities
- log_probs / -> log_probs.exp() /
You take the exponential of the log-probabilities first.

Dividing a probability makes it smaller, so long sentences would lose even
more. Dividing its logarithm, which is negative, brings it closer to 0.

# not_penalised
- / penalty -> * 1.0
Your scores are the log-probabilities as they are.

Without a penalty every word costs, and the shortest hypothesis wins.

# logarithm_twice
- log_probs / -> log_probs.log() /
You take the logarithm of the log-probabilities.

They are logarithms already. They are negative, and the logarithm of a negative
number is NaN.

# last_column_left_out
- [:, 1:] -> [:, 1:-1]
You leave out the last column, as if eos stood there in each row.

eos counts, since it was written. And in the last column there may be a word,
or padding.

# longest_for_all
- sum(dim=1) -> sum(dim=1).max()
All hypotheses of your beam have the same length, that of the longest.

Then the penalty is the same for all, and changes nothing in their order.

# unended_not_penalised
- log_probs / penalty
+ torch.where((tgt == 2).any(dim=1), log_probs / penalty, log_probs)
You apply the length penalty only to hypotheses that have ended.

A beam holds both kinds, and compares them: rank all by one rule.

# probabilities_returned
- log_probs / penalty -> (log_probs / penalty).exp()
You take the exponential of your scores.

The formula has no exponential, and for long sentences nothing would be left
but 0.

# penalty_alone
- log_probs / penalty -> penalty + 0 * log_probs
You return the length penalty itself.

Divide log p by it: the quotient is the score.
"""


def draw_beam(draw: Draw) -> Case:
    words = draw.ids(draw.size(1, 4), draw.size(1, 6))
    words += 3 * (words != 0)
    beam, length = words.shape
    tgt = torch.zeros(beam, length + 2, dtype=torch.long)
    tgt[:, 0], tgt[:, 1:-1] = 1, words
    for row in tgt:
        if draw.choice([True, True, False]):
            row[int((row != 0).sum())] = 2
    log_probs = -3 * draw.normal(beam).abs()
    return case("a random beam", tgt, log_probs, draw.choice([0.6, 1.0, 1.8]))


def beam(
    note: str, rows: list[list[int]], log_probs: list[float], alpha: float
) -> Case:
    return case(note, torch.tensor(rows), torch.tensor(log_probs), alpha)


EXERCISE = exercise_of(
    beam_scores,
    section="13_generation#when-the-likelier-translation-is-worse",
    points=2,
    hints=(
        "Which tokens count? Take the empty sentence, bos and eos: its "
        "length is 1, and its penalty (5 + 1) / 6 = 1, so that its score is "
        "its log-probability. Is yours?",
        "Compare all but the first column with padding, and sum along each "
        "row: these are the lengths. The formula then goes over the whole "
        "beam at once.",
    ),
    cases=[
        beam("the empty sentence: its penalty is 1", [[1, 2]], [-2.0], 1.0),
        beam(
            "six words and eos: its penalty is 2",
            [[1, 4, 5, 6, 7, 8, 9, 2]],
            [-3.0],
            1.0,
        ),
        beam("alpha 0", [[1, 4, 2], [1, 2, 0]], [-3.0, -2.0], 0.0),
        beam(
            "a short one and a long one",
            [[1, 2, 0, 0], [1, 4, 5, 2]],
            [-2.0, -2.4],
            0.6,
        ),
        beam("not ended yet", [[1, 4, 5], [1, 4, 2]], [-1.0, -1.5], 1.0),
        beam(
            "the chapter's two sentences",
            [[1, 2, 0, 0, 0, 0, 0, 0], [1, 4, 5, 6, 7, 8, 9, 2]],
            [-2.30, -3.17],
            0.47,
        ),
        case(
            "float64",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
            torch.tensor([-3.0, -2.5], dtype=torch.float64),
            2.0,
        ),
    ],
    draw=draw_beam,
)
