"""BLEU from n-gram counts."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def bleu(counts: Int[Tensor, "sentence 10"]) -> float:
    """BLEU of a corpus, from the counts of its sentences; not smoothed.

    Args:
        counts: a row for each sentence: the number of words written, h, and
            of the reference, r; then the clipped matches of n = 1, 2, 3, 4
            words in a row, and how many of these were written. In a short
            sentence some are 0.

    Returns:
        A plain number from 0 to 100; 0 if one of the four n has no match in
        the whole corpus.
    """
    ### BEGIN SOLUTION
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, totals = rest[:4], rest[4:]
    if 0 in matches:
        return 0.0
    precisions = [m / t for m, t in zip(matches, totals, strict=True)]
    mean = math.prod(precisions) ** (1 / 4)
    brevity = math.exp(min(0.0, 1 - r / h))
    return 100 * brevity * mean
    ### END SOLUTION


@other
def bleu_by_tensors(counts):
    sums = counts.sum(dim=0).double()
    if (sums[2:6] == 0).any():
        return 0.0
    mean = (sums[2:6] / sums[6:]).log().mean().exp()
    penalty = torch.exp(1 - sums[1] / sums[0]).clamp(max=1)
    return float(100 * penalty * mean)


@other
def bleu_by_logarithms(counts):
    h, r, *rest = counts.sum(dim=0).tolist()
    matches, totals = rest[:4], rest[4:]
    if 0 in matches:
        return 0.0
    pairs = zip(matches, totals, strict=True)
    log_mean = sum(math.log(match / total) for match, total in pairs) / 4
    return 100 * math.exp(min(0.0, 1 - r / h) + log_mean)


@other
def bleu_by_product(counts):
    columns = [sum(column) for column in zip(*counts.tolist(), strict=True)]
    product = 1.0
    for n in range(4):
        if columns[2 + n] == 0:
            return 0.0
        product *= columns[2 + n] / columns[6 + n]
    h, r = columns[:2]
    penalty = 1.0 if h >= r else math.exp(1 - r / h)
    return 100.0 * penalty * product**0.25


EDITS = """
# mean_of_sentence_bleus
- h, r, *rest =
+ if len(counts) > 1:
+     return sum(bleu(row[None]) for row in counts) / len(counts)
+ h, r, *rest =
or
- h, r, *rest =
+ if len(counts) > 1:
+     words = counts[:, 0].tolist()
+     each = [bleu(row[None]) for row in counts]
+     return sum(map(math.prod, zip(words, each))) / sum(words)
+ h, r, *rest =
or
- h, r, *rest =
+ if len(counts) > 1:
+     return sum(bleu(row[None]) for row in counts)
+ h, r, *rest =
You compute BLEU for each sentence, and combine the scores.

A sentence in which no four words in a row match gets 0, however close it is.
Sum the counts over the corpus first, then compute one score.

# mean_of_precisions
- precisions = [m / t for m, t in zip(matches, totals, strict=True)]
+ shares = counts[:, 2:6] / counts[:, 6:].double().clamp(min=1)
+ precisions = shares.mean(dim=0).tolist()
You divide in each sentence, and take the mean of the precisions.

A short sentence then counts as much as a long one. Sum the matches, and the
totals, over the corpus; then divide once for each n.

# penalty_by_sentence
- math.exp(min(0.0, 1 - r / h))
+ (1 - counts[:, 1] / counts[:, 0].double()).clamp(max=0).exp().mean().item()
or
- math.exp(min(0.0, 1 - r / h))
+ math.exp((1 - counts[:, 1] / counts[:, 0].double()).clamp(max=0).sum())
or
- r / h -> counts[:, :2].amax(dim=1).sum().item() / h
You compute a brevity penalty for each sentence.

One short sentence is no fault, as long as the text as a whole is long enough.
Sum both lengths over the corpus: there is one penalty.

# arithmetic_mean
- math.prod(precisions) ** (1 / 4) -> sum(precisions) / 4
You add the four precisions and divide by four.

Single words, which match easily, then count most. BLEU takes the geometric
mean: halving any one of the four costs the same.

# harmonic_mean
- math.prod(precisions) ** (1 / 4) -> 4 / sum(1 / p for p in precisions)
You take the harmonic mean of the four precisions.

An F-score does so, as in chrF. BLEU takes the geometric mean: halving any one
of the four costs the same.

# arithmetic_mean_with_zeros
- 0 in matches -> False
- m / t -> m / max(t, 1)
- math.prod(precisions) ** (1 / 4) -> sum(precisions) / 4
You add the four precisions and divide by four, zeros included.

BLEU takes the geometric mean: if one precision is 0, so is the score.

# product_without_root
- ** (1 / 4) ->
You multiply the four precisions, but take no root.

The mean of four equal precisions has to be that precision.

# one_division_for_all
- math.prod(precisions) ** (1 / 4) -> sum(matches) / sum(totals)
You sum over all n, and divide once.

Each n has a precision of its own, and BLEU takes the mean of the four.

# up_to_three
- rest[:4], rest[4:] -> rest[:3], rest[4:7]
- ** (1 / 4) -> ** (1 / 3)
or
- rest[:4], rest[4:] -> rest[:3], rest[4:7]
You leave out the four words in a row.

BLEU takes the mean over n = 1, 2, 3 and 4.

# without_single_words
- rest[:4], rest[4:] -> rest[1:4], rest[5:]
- ** (1 / 4) -> ** (1 / 3)
You leave out the single words.

BLEU takes the mean over n = 1, 2, 3 and 4.

# words_alone
- math.prod(precisions) ** (1 / 4) -> precisions[0]
You use the precision of single words alone.

Then the order of the words does not matter. BLEU takes the mean over n = 1, 2,
3 and 4.

# fours_alone
- rest[:4], rest[4:] -> rest[3:4], rest[7:]
- ** (1 / 4) ->
You use the precision of four words in a row alone.

BLEU takes the mean over n = 1, 2, 3 and 4.

# matches_over_totals_of_one
- m / t -> m / totals[0]
You divide every match by the number of single words.

There are fewer of the longer n-grams: each n has a total of its own.

# zeros_left_out
- 0 in matches -> not any(matches)
- strict=True) -> strict=True) if m
- 1 / 4 -> 1 / len(precisions)
or
- 0 in matches -> not any(matches)
- strict=True) -> strict=True) if m
or
- 0 in matches -> False
- strict=True) -> strict=True) if m
You leave out an n without matches, and average the others.

Without smoothing, one precision of 0 makes the whole score 0.

# one_added_to_each
- 0 in matches -> False
- m / t -> (m + 1) / (t + 1)
or
- 0 in matches -> matches[0] == 0
- precisions = [m / t for m, t in zip(matches, totals, strict=True)]
+ first, *rest = zip(matches, totals)
+ precisions = [first[0] / first[1]] + [(m + 1) / (t + 1) for m, t in rest]
or
- 0 in matches -> False
- precisions = [m / t for m, t in zip(matches, totals, strict=True)]
+ first, *rest = zip(matches, totals)
+ precisions = [first[0] / first[1]] + [(m + 1) / (t + 1) for m, t in rest]
You add 1 to the matches and to the totals.

That is a kind of smoothing, for single sentences. The exercise does not ask
for it, and it raises every precision that is not perfect.

# nearly_zero
- 0 in matches -> False
- m / t -> max(m, 1e-9) / max(t, 1e-9)
or
- 0 in matches -> False
- m / t -> (m + 1e-9) / (t + 1e-9)
or
- 0 in matches -> False
- m / t -> max(m, 1e-9) / max(t, 1)
or
- 0 in matches -> False
- m / t -> (m / t if t else 0.0) + 1e-9
or
- 0 in matches -> False
- m / t -> max(m, 0.1) / max(t, 1)
You replace a zero by a small number.

That is a kind of smoothing: under the fourth root 10⁻⁹ becomes 0.006. Without
smoothing, one precision of 0 makes the whole score 0.

# zeros_fail
- 0 in matches -> False
- math.prod(precisions) ** (1 / 4)
+ math.exp(sum(math.log(p) for p in precisions) / 4)
Your code raises an error where one n has no match: log 0.

The score is 0 then: a geometric mean with a zero in it is zero.

# zeros_not_caught
- 0 in matches -> False
or
- 0 in matches -> False
- m / t -> m / max(t, 1)
- math.prod(precisions) ** (1 / 4)
+ math.exp(sum(math.log(p) for p in precisions) / 4)
Your code raises an error where it divides by 0 or takes the logarithm of 0.

A corpus of short sentences has no four words in a row: 0 matches of 0. The
score is 0 then.

# nothing_over_nothing
- 0 in matches -> False
- m / t -> m / t if t else math.nan
Where no sentence has four words your score is NaN: 0 matches of 0.

There is no match of four words, so the score is 0. Check before you divide.

# one_zero_makes_all_zero
- 0 in matches -> 0 in counts[:, 2:6]
Your score is 0 as soon as one sentence has an n without a match.

Sum over the corpus first. The score is 0 only if some n has no match in any
sentence.

# no_brevity_penalty
- min(0.0, 1 - r / h) -> 0
A translation that is too short costs nothing: you have no brevity penalty.

Whoever writes only the words they are sure of gets full marks.

# penalty_turned_round
- r / h -> h / r
or
- 1 - r / h -> r / h - 1
You punish what is too long, not what is too short.

Each word too many lowers the precisions already. What they do not see is what
is missing. (Which of the two lengths comes first in a row?)

# long_ones_rewarded
- min(0.0, 1 - r / h) -> 1 - r / h
What is longer than the reference gets more than it should.

You multiply by e to the power of 1 - r/h for long texts too. If h ≥ r, the
factor has to be 1.

# long_ones_punished_too
- 0.0, 1 - r / h -> 1 - h / r, 1 - r / h
or
- min(0.0, 1 - r / h) -> -abs(1 - r / h)
or
- math.exp(min(0.0, 1 - r / h)) -> min(h / r, r / h)
You punish what is too short, and what is too long as well.

Each word too many lowers the precisions already. If h ≥ r, the factor has to
be 1.

# short_ones_rewarded
- math.exp(min(0.0, 1 - r / h)) -> math.exp(max(0.0, r / h - 1))
or
- min(0.0, 1 - r / h) -> max(0.0, 1 - h / r)
or
- brevity * mean -> mean / brevity
You *reward* what is too short: your factor is above 1 where h < r.

A penalty is a factor below 1: e to the power of 1 - r/h.

# share_of_the_length
- math.exp(min(0.0, 1 - r / h)) -> min(1.0, h / r)
Your brevity penalty is h/r itself.

That is close for nearly full length, but too mild for much shorter texts: BLEU
takes e to the power of 1 - r/h.

# another_exponent
- 1 - r / h -> h / r - 1
or
- 1 - r / h -> h - r
or
- math.exp(min(0.0, 1 - r / h)) -> (1.0 if h >= r else math.exp(-r / h))
or
- math.exp(min(0.0, 1 - r / h)) -> 2 ** min(0.0, 1 - r / h)
Your penalty is a power, but not e to the power of 1 - r/h.

Half as many words as the reference has give e⁻¹.

# exponent_for_the_factor
- math.exp(min(0.0, 1 - r / h)) -> min(0.0, 1 - r / h)
or
- math.exp(min(0.0, 1 - r / h)) -> (1.0 if h >= r else 1 - r / h)
You take the exponent, 1 - r/h, for the factor itself.

It is 0 or negative where the factor counts. The factor is e to its power.

# always_punished
- min(0.0, 1 - r / h) -> 1 - h / r
or
- math.exp(min(0.0, 1 - r / h)) -> h / r
or
- min(0.0, 1 - r / h) -> -r / h
Your factor depends on the lengths even where the text is long enough.

If h ≥ r it has to be 1: what is too long has lower precisions already.

# penalty_under_the_root
- brevity * -> brevity**0.25 *
You take the fourth root of the brevity penalty, too.

Under the root it loses most of its force. Multiply the mean by the penalty
after the root is taken.

# penalty_by_matches
- r / h -> r / matches[0]
or
- r / h -> r / max(1, matches[0])
You compare the length of the reference with the number of matches.

The penalty looks at lengths only: all words that were written count.

# zero_to_one
- 100 * ->
Your score goes from 0 to 1. The exercise asks for 0 to 100.

# hundred_under_the_root
- m / t -> 100 * m / t
or
- math.prod(precisions) ** (1 / 4) -> (100 * math.prod(precisions)) ** (1 / 4)
- 100 * brevity -> brevity
You multiply by 100 in the wrong place, or twice.

Under the fourth root 100 becomes 3.16. Multiply the finished score by it.

# rounded
- 100 * brevity * mean -> round(100 * brevity * mean, 2)
or
- 100 * brevity * mean -> round(100 * brevity * mean, 1)
or
- 100 * brevity * mean -> round(100 * brevity * mean)
or
- 100 * brevity * mean -> int(100 * brevity * mean)
You round your score.

Two decimals are enough to print it, but whoever compares or averages scores
needs all of them: round where you print.

# sentences_without_fours_left_out
- h, r, *rest =
+ counts = counts[(counts[:, 2:6] > 0).all(dim=1)]
+ h, r, *rest =
You leave out the sentences in which some n has no match.

They are the bad ones, so the score rises. All sentences go into the sums.

# first_sentence_only
- counts.sum(dim=0) -> counts[0]
You look at the first sentence only.

Sum over the rows before you divide.

# divided_by_the_words_wanted
- precisions =
+ wanted = counts[:, 1].tolist()
+ totals = [sum(max(0, r - n) for r in wanted) for n in range(4)]
+ precisions =
or
- precisions =
+ totals = [r - n for n in range(4)]
+ precisions =
or
- m / t -> m / r
You divide the matches by the length of the *reference*.

That is recall. BLEU divides by what was written, which the last four columns
say.

# totals_of_one_long_sentence
- precisions =
+ totals = [h - n for n in range(4)]
+ precisions =
You compute the totals from h, as if all sentences were one.

No n-gram reaches from one sentence into the next. The last four columns have
the totals: sum these.

# another_root
- 1 / 4 -> 1 / 2
or
- 1 / 4 -> 1 / 3
or
- 1 / 4 -> 1 // 4
or
- ** (1 / 4) -> / 4
or
- math.prod(precisions) ** (1 / 4)
+ (math.prod(matches) / math.prod(totals)) ** (1 / 8)
You multiply the precisions, but do not take the fourth root.

The mean of four equal precisions has to be that precision. (In Python
`x ** 1 / 4` is a quarter of x, and `1 // 4` is 0.)

# logarithms_left
- math.prod(precisions) ** (1 / 4) -> sum(map(math.log, precisions)) / 4
or
- math.prod(precisions) ** (1 / 4) -> sum(map(math.log, precisions))
or
- math.prod(precisions) ** (1 / 4) -> -sum(map(math.log, precisions)) / 4
You use logarithms of the precisions, and take no exponential afterwards.

Their mean is the logarithm of the geometric mean: e to its power is what
counts.

# logarithms_of_two_bases
- math.prod(precisions) ** (1 / 4)
+ 2 ** (sum(math.log(p) for p in precisions) / 4)
or
- math.prod(precisions) ** (1 / 4)
+ math.exp(sum(math.log2(p) for p in precisions) / 4)
You take logarithms to one base, and powers of another.

Natural logarithms go with e, those to the base of 2 with 2.

# columns_in_turn
- rest[:4], rest[4:] -> rest[::2], rest[1::2]
- m / t -> m / max(t, 1)
or
- rest[:4], rest[4:] -> rest[::2], rest[1::2]
You take the columns in turn: matches, total, matches, total.

They come in groups: four of matches first, then four of totals.

# groups_exchanged
- matches, totals = rest[:4], rest[4:] -> totals, matches = rest[:4], rest[4:]
You take the matches for the totals, and the totals for the matches.

The first group of four is of matches, the second of totals.
"""


def sentences(*rows: tuple[int, ...]) -> Tensor:
    """Counts of hypothesis and reference lengths and of four matches."""
    return torch.tensor(
        [[*row, *(max(0, row[0] - n) for n in range(4))] for row in rows]
    )


def draw_counts(draw: Draw) -> Case:
    rows = []
    for _ in range(draw.size(1, 5)):
        row = [draw.size(5, 12), draw.size(5, 12)]
        for n in range(4):
            last = row[-1] if n else min(row)
            most = min(last, row[0] - n, row[1] - n)
            row.append(max(0, most - draw.size(0, 2)))
        rows.append(tuple(row))
    return case("random counts", sentences(*rows))


EXERCISE = exercise_of(
    bleu,
    section="14_evaluation#bleu-of-a-whole-corpus",
    points=3,
    hints=(
        "What is summed over the corpus, and what is divided? There are four "
        "fractions, one mean of a certain kind, and one factor that looks at "
        "nothing but two lengths.",
        "Sum each column first. A geometric mean is the exponential of a "
        "mean of logarithms; see to the zeros before you take them. What the "
        "brevity penalty has in its exponent is never above 0.",
    ),
    cases=[
        case("one sentence, all right", sentences((5, 5, 5, 4, 3, 2))),
        case("the chapter's sentence", sentences((7, 9, 7, 4, 3, 2))),
        case("too short, all right", sentences((5, 10, 5, 4, 3, 2))),
        case("too long", sentences((10, 5, 5, 4, 3, 2))),
        case("no four words match", sentences((6, 6, 4, 2, 1, 0))),
        case("nothing matches", sentences((5, 6, 0, 0, 0, 0))),
        case("shorter than four words", sentences((3, 3, 3, 2, 1, 0))),
        case(
            "one too short, one too long",
            sentences((4, 8, 4, 3, 2, 1), (12, 8, 7, 5, 4, 3)),
        ),
        case(
            "no four words match in one of two",
            sentences((6, 6, 4, 2, 1, 0), (9, 9, 9, 8, 7, 6)),
        ),
        case(
            "a good short one and a poor long one",
            sentences((5, 5, 5, 4, 3, 2), (12, 12, 6, 3, 2, 1)),
        ),
        case(
            "a whole page, a little too short",
            sentences(*[(9, 10, 8, 6, 4, 3), (11, 11, 9, 6, 5, 3)] * 10),
        ),
    ],
    draw=draw_counts,
)
