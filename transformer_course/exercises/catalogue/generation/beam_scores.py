"""What a beam ranks its hypotheses by."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def beam_scores(
    tgt: Int[Tensor, "beam length"],
    log_probs: Float[Tensor, " beam"],
    alpha: float,
) -> Float[Tensor, " beam"]:
    """What a beam ranks its hypotheses by: the length penalty of GNMT.

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

Log-probabilities are negative: multiplied, those of long sentences fall even
lower. The penalty is there to *lift* them.

# brackets_left_out
- ((5 + lengths) / 6) ** alpha -> (5 + lengths) * 6**alpha
Your exponent reaches the 6 alone.

`a / b / c**d` divides a by b, and the result by c**d. The whole fraction needs
brackets, and the exponent stands behind them.

# best_first
- log_probs / penalty -> (log_probs / penalty).sort(descending=True).values
Your scores are sorted.

Which hypothesis a score belongs to is told by its place. Who ranks them needs
that.

# sign_turned
- return -> return -
Your scores have the other sign.

They are positive, and the best hypothesis has the smallest. A beam keeps the
largest.

# alpha_turned
- ** alpha -> ** (1 / alpha)
Your exponent is 1/α.

A larger α should mean more help for long sentences; with yours it is less, and
with 0 it fails.

# bos_counted
- tgt[:, 1:] -> tgt
You count bos.

Your lengths are one too large: bos was given, not written.

# eos_not_counted
- tgt[:, 1:] != 0 -> tgt > 2
You do not count eos.

It is a token that was written, and its logarithm is in the sum.

# eos_always_counted
- tgt[:, 1:] != 0 -> tgt > 2
- 5 + -> 6 +
You count an eos in each hypothesis, and one that has not ended has none.

Your length seems to be that of its words and one more. What counts is what was
written.

# hypotheses_counted
- written.sum(dim=1) -> len(tgt)
You take the number of hypotheses for the length.

`len` of a tensor is the size of its first axis, the beam. Each hypothesis has
a length of its own, along the second.

# last_place_not_counted
- 5 + -> 4 +
You take one off for eos in each row.

Eos counts, for it was written. And a hypothesis that has not ended has none to
be taken off.

# padding_counted
- written.sum(dim=1) -> tgt.size(1) - 1
All hypotheses of your beam have one length: you count padding.

A beam with finished and unfinished hypotheses is where lengths have to
compete.

# lengths_summed
- sum(dim=1) -> sum()
All hypotheses of your beam have one length: that of all together.

The sum runs over the whole beam. Each row has a length of its own.

# all_places_counted
- written.sum(dim=1) -> tgt.size(1)
All hypotheses of your beam have one length: you count padding, and bos.

What counts is the tokens written.

# length_itself
- ((5 + lengths) / 6) -> lengths
You divide by the length to the power of alpha.

That is another penalty, and a much stronger one. Here the length comes with 5
added, and over 6.

# five_left_out
- 5 + -> 0 +
You divide by (length / 6) to the power of alpha: the 5 is missing.

It keeps short sentences from being judged by their length alone: a sentence of
one token has a penalty of exactly 1.

# base_and_exponent_exchanged
- ((5 + lengths) / 6) ** alpha -> alpha ** ((5 + lengths) / 6)
You raise alpha to the power of the length.

The fraction is the base and alpha the exponent.

# mean_per_token
- ((5 + lengths) / 6) ** alpha -> lengths
You divide by the length: a mean per token, whatever alpha is.

That is another penalty. Here the length comes with 5 added, over 6, and to the
power of alpha.

# without_alpha
-  ** alpha ->
You never use alpha: your exponent is always 1.

It says how much length should count, and is chosen on a development set.

# times_alpha
- ** alpha -> * alpha
You multiply by alpha where it should be the exponent.

With alpha = 0 you would divide by 0.

# six_outside_the_power
- ((5 + lengths) / 6) ** alpha -> (5 + lengths) ** alpha / 6
You take the power of 5 + length, and divide it by 6 afterwards.

The exponent belongs to the whole fraction. With alpha = 0 nothing should
change; yours gets 6 times as large.

# only_length_over_six
- (5 + lengths) -> 5 + lengths
You divide only the length by 6, not 5 + length.

Brackets: a sentence of one token has a penalty of exactly 1.

# six_left_out
-  / 6 ->
You do not divide by 6.

The order of the hypotheses would be the same. But a score should be log p
itself for one token, and can then be compared.

# penalty_taken_off
- / penalty -> - penalty
You subtract the length penalty from the log-probability.

The formula divides. Subtracted, it makes long sentences worse.

# penalty_added
- / penalty -> + penalty
You add the length penalty to the log-probability.

That is another rule, a reward for each word. Here the formula divides.

# of_probabilities
- log_probs / -> log_probs.exp() /
You take the exponential of the log-probabilities first.

Divided, a *probability* of a long sentence gets even smaller. It is the
logarithm, a negative number, that is divided.

# not_penalised
- / penalty -> * 1.0
Your scores are the log-probabilities as they are.

Every word costs, so the shortest hypothesis wins.

# logarithm_twice
- log_probs / -> log_probs.log() /
You take the logarithm of the log-probabilities.

They are logarithms already, and negative: a negative number has none, and
what comes out is NaN.

# last_column_left_out
- [:, 1:] -> [:, 1:-1]
You leave out the last column, as if eos stood there in each row.

Eos counts, for it was written. And in the last column there may be a word, or
padding.

# longest_for_all
- sum(dim=1) -> sum(dim=1).max()
All hypotheses of your beam have one length, that of the longest.

Each has a length of its own, or else nothing is changed in their order.

# unended_not_penalised
- log_probs / penalty
+ torch.where((tgt == 2).any(dim=1), log_probs / penalty, log_probs)
Only those hypotheses that have ended get a length penalty of yours.

A beam holds both kinds, and compares them: all are to be ranked by one rule.

# probabilities_returned
- log_probs / penalty -> (log_probs / penalty).exp()
You take the exponential of your scores.

The order of the hypotheses is the same. But the formula has no exponential,
and for long sentences nothing would be left but 0.

# penalty_alone
- log_probs / penalty -> penalty + 0 * log_probs
You return the length penalty itself.

It is what log p is divided by. Asked for is the score.
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
    place=2,
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
    edits=EDITS,
)
