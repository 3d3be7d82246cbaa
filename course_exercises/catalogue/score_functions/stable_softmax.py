"""Numerically stable softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def stable_softmax(
    scores: Float[Tensor, "..."], dim: int = -1
) -> Float[Tensor, "..."]:
    """Make shares of scores, along one axis, however large they are.

    Args:
        scores: any finite numbers, or minus infinity for what may get
            nothing; somewhere along the axis there is a finite one.
        dim: the axis along which the shares sum to one.

    Returns:
        The softmax, of the scores' shape and dtype. No exponential overflows
        on the way, in no dtype, float16 included.
    """
    ### BEGIN SOLUTION
    largest = scores.amax(dim=dim, keepdim=True)
    powers = (scores - largest).exp()
    return powers / powers.sum(dim=dim, keepdim=True)
    ### END SOLUTION


@other
def softmax_of_torch(scores, dim=-1):
    return torch.softmax(scores, dim)


@other
def softmax_on_the_last_axis(scores, dim=-1):
    rows = scores.transpose(dim, -1)
    largest = rows.detach().max(dim=-1).values.unsqueeze(-1)
    powers = torch.exp(rows - largest)
    return (powers / powers.sum(-1, keepdim=True)).transpose(dim, -1)


@other
def softmax_slice_by_slice(scores, dim=-1):
    parts = scores.unbind(dim)
    largest = parts[0]
    for part in parts[1:]:
        largest = torch.maximum(largest, part)
    powers = [(part - largest).exp() for part in parts]
    return torch.stack([power / sum(powers) for power in powers], dim)


EDITS = """
# powers_overflow
- - largest ->
You take the exponentials of the scores as they are.

e¹⁰⁰ overflows float32, and e¹² float16: infinity over infinity is NaN. And
where all scores are far below zero, all exponentials underflow to 0, and so
does their sum: 0/0 is NaN as well.

# powers_in_double
- scores - largest -> scores.double()
- return powers / powers.sum(dim=dim, keepdim=True)
+ shares = powers / powers.sum(dim=dim, keepdim=True)
+ return shares.to(scores.dtype)
or
- scores - largest -> scores.double()
or
- scores - largest -> scores.float()
or
- scores - largest -> scores.float()
- return powers / powers.sum(dim=dim, keepdim=True)
+ shares = powers / powers.sum(dim=dim, keepdim=True)
+ return shares.to(scores.dtype)
You compute in a wider dtype, and take the exponentials of the scores as they
are.

That only puts the limit off: float64 overflows from a score of 710 on. A
softmax depends on differences alone, so no dtype needs to overflow.

# dtype_not_restored
- powers =
+ scores, largest = scores.float(), largest.float()
+ powers =
or
- powers =
+ scores, largest = scores.double(), largest.double()
+ powers =
You compute in another dtype, and return the result in it.

Convert the shares back to the scores' dtype. With the largest score taken away
no dtype overflows, so you need not convert at all.

# a_little_added
- - largest ->
- powers.sum(dim=dim, keepdim=True)
+ (powers.sum(dim=dim, keepdim=True) + 1e-9)
You add a little to the sum, so that it is not 0.

Scores far below zero then give shares of 0, which do not sum to one. And large
scores still overflow.

# not_a_number_replaced
- - largest ->
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)
or
- - largest ->
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(1.0)
You let the exponentials overflow, and replace NaN by a number.

With 0 the *largest* score, which should have got most, gets nothing; with 1
each of two large scores gets all.

# maximum_of_everything
- amax(dim=dim, keepdim=True) -> max()
or
- amax(dim=dim, keepdim=True) -> max()
- powers.sum(dim=dim, keepdim=True)
+ (powers.sum(dim=dim, keepdim=True) + 1e-9)
You take away the largest score of the *whole* tensor.

Where all scores of a row are far below it, all its exponentials underflow to
0, and 0/0 is NaN: the scores of one sentence would break those of another.

# axis_ignored
- largest =
+ dim = -1
+ largest =
or
- largest =
+ dim = 0
+ largest =
or
- largest =
+ dim = min(1, scores.dim() - 1)
+ largest =
You always work along the same axis, whatever `dim` says.

Only the caller knows along which axis the scores belong together.

# maximum_along_another_axis
- amax(dim=dim -> amax(dim=-1
You take the maximum along the last axis, whatever `dim` says.

What you take away must be the same number for all scores that are summed
together: only then does it cancel.

# sum_along_another_axis
- sum(dim=dim -> sum(dim=-1
You sum along the last axis, whatever `dim` says.

The shares have to sum to one along `dim`.

# sum_of_everything
- sum(dim=dim, keepdim=True) -> sum()
or
- largest =
+ scores, shape, dim = scores.flatten(), scores.shape, 0
+ largest =
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).view(shape)
You divide by the sum of *all* exponentials, over every axis.

Then the whole tensor sums to one. Each row, or whatever lies along `dim`, has
to do so by itself.

# maximum_only_above
- powers.sum -> scores.exp().sum
You take the maximum away above the fraction line, but not below it.

It cancels only if it stands in both, and the exponentials below overflow as
before.

# maximum_only_below
- return powers -> return scores.exp()
You take the maximum away below the fraction line, but not above it.

It cancels only if it stands in both, and the exponentials above overflow as
before.

# maximum_without_its_axis
- amax(dim=dim, keepdim=True) -> amax(dim=dim)
The maximum has lost the axis that it was taken along.

Broadcasting lines axes up from the right, so each number meets the maximum of
another row. With a single row nothing shows; where the sizes do not fit, your
code raises an error.

# sum_without_its_axis
- sum(dim=dim, keepdim=True) -> sum(dim=dim)
The sum has lost the axis that it was taken along.

Broadcasting lines axes up from the right, so each exponential is divided by
the sum of another row. With a single row nothing shows; where the sizes do not
fit, your code raises an error.

# softmax_rows_exchanged
- amax(dim=dim, keepdim=True) -> amax(dim=dim)
- sum(dim=dim, keepdim=True) -> sum(dim=dim)
Maximum and sum have lost the axis that they were taken along.

Broadcasting lines axes up from the right, so each number meets the maximum and
the sum of another row. With a single row nothing shows; where the sizes do not
fit, your code raises an error.

# mean_taken_away
- amax -> mean
or
- scores.amax(dim=dim, keepdim=True)
+ scores.where(scores.isfinite(), torch.nan).nanmean(dim=dim, keepdim=True)
or
- scores.amax(dim=dim, keepdim=True) -> scores.mean()
You take away the mean, not the largest score.

Any number that is the same for all scores cancels. But the largest score may
be far above the mean, and its power still overflows. And where a score is
minus infinity, so is a mean that takes it in.

# minimum_taken_away
- amax -> amin
or
- scores.amax(dim=dim, keepdim=True) -> scores.min()
You take away the *smallest* score.

All exponentials are then 1 or more, and the largest overflows as soon as two
scores are far apart.

# largest_size_taken_away
- scores.amax -> scores.abs().amax
You take away the largest *absolute* value.

Where that belongs to a score far below zero, it is far above all scores: all
exponentials underflow to 0, and 0/0 is NaN.

# another_number_taken_away
- scores.amax(dim=dim, keepdim=True) -> scores.sum(dim=dim, keepdim=True)
or
- scores.amax(dim=dim, keepdim=True) -> scores.select(dim, 0).unsqueeze(dim)
or
- scores.amax(dim=dim, keepdim=True) -> 100
or
- scores.amax(dim=dim, keepdim=True)
+ scores.amax(dim=dim, keepdim=True).clamp(min=0)
You take away another number than the largest score of the row.

Any number that is the same for all scores cancels. But only the largest one
makes every exponential at most 1, and one of them 1: nothing overflows, and
the sum is not 0.

# maximum_added
- - largest -> + largest
You *add* the largest score, which makes the exponentials still larger.

Take it away: then the largest exponential is 1.

# divided_by_the_maximum (#the-divisor-is-a-temperature)
- - largest -> / largest
or
- (scores - largest).exp() -> (scores / largest).softmax(dim=dim)
You *divide* the scores by the largest one.

A softmax depends on differences, so you may take a number away from all
scores. To divide them is a temperature, and changes the shares.

# scores_stretched (#the-divisor-is-a-temperature)
- - largest) -> / scores.norm(dim=dim, keepdim=True))
or
- scores - largest -> scores / scores.max()
or
- scores - largest -> scores / scores.sum(dim=dim, keepdim=True)
or
- scores - largest -> scores / scores.size(dim) ** 0.5
or
- scores - largest -> scores / 100
You divide the scores: by a length, a maximum, a sum or a constant.

A softmax depends on differences, so you may take a number away from all
scores. To divide them is a temperature, and changes the shares.

# scores_cut_off
- scores - largest -> scores.clamp(max=80)
or
- scores - largest -> scores.clamp(max=88)
or
- scores - largest -> scores.clamp(max=100)
or
- scores - largest -> scores.clamp(max=50)
or
- scores - largest -> scores.clamp(max=20)
or
- scores - largest -> scores.clamp(max=10)
or
- scores - largest -> scores.double().clamp(max=10)
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).to(scores.dtype)
or
- (scores - largest).exp() -> scores.exp().nan_to_num()
You cut large scores or their exponentials off at some limit.

Scores beyond the limit become alike: 1000 and 999 get equal shares. And where
all scores are far below zero, 0/0 is NaN.

# difference_turned_round
- scores - largest -> largest - scores
You take the scores away from the largest one: the smallest gets most.

The difference has to be 0 for the largest score, and below 0 for all others.

# no_powers
- .exp() ->
There are no exponentials: you divide the scores by their sum.

Only e to the score makes every share positive. With the largest score taken
away, what you divide is 0 or below.

# powers_not_divided
- / powers.sum(dim=dim, keepdim=True) ->
You never divide by the sum.

With the largest score taken away the largest exponential is 1, and the shares
sum to more than one.

# logarithms_of_shares
- powers / powers.sum(dim=dim, keepdim=True) -> scores.log_softmax(dim=dim)
or
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).log()
You return the *logarithms* of the shares.

Shares are positive, and sum to one.

# logarithm_of_the_sum_overflows
- powers = (scores - largest).exp()
+ total = scores.exp().sum(dim=dim, keepdim=True)
+ powers = (scores - total.log()).exp()
You take the logarithm of a sum of exponentials away, and the exponentials are
those of the scores as they are.

They overflow before the logarithm makes them small again: infinity is taken
away, and every share is 0. Take the largest score away first.

# positive_in_another_way
- (scores - largest).exp() -> (scores - largest).square()
or
- (scores - largest).exp() -> scores.square()
or
- (scores - largest).exp() -> scores.abs()
or
- (scores - largest).exp() -> scores.relu()
or
- (scores - largest).exp() -> scores.sigmoid()
or
- (scores - largest).exp() -> scores
You divide something else than powers of e by its sum.

Squares, absolute values and a ReLU lose the order of the scores, and scores as
they are may be negative. A softmax takes e to the power of each.

# one_by_one
- powers / powers.sum(dim=dim, keepdim=True) -> scores.sigmoid()
You squash each score by itself, with a sigmoid.

Every share is between 0 and 1, but they do not sum to one.

# infinity_forgotten
- - largest) -> .masked_fill(scores == -torch.inf, 0.0) - largest)
You replace minus infinity by 0.

Then it is a score like any other, and gets a share. Its exponential is 0
anyway.

# powers_shifted
- (scores - largest).exp() -> (scores.exp() - largest.exp())
You take the exponentials first, and the largest one away afterwards.

They have overflowed by then. And only a number taken away from the *scores*
cancels.

# divided_before_the_powers
- (scores - largest).exp() -> scores - largest
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).exp()
or
- powers.sum(dim=dim, keepdim=True)
+ (scores - largest).sum(dim=dim, keepdim=True).exp()
or
- powers.sum(dim=dim, keepdim=True) -> scores.sum(dim=dim, keepdim=True)
You sum before you take the exponentials.

A sum of exponentials is not the exponential of a sum: take the exponential of
each score, then sum these.

# softmax_twice
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).softmax(dim=dim)
You apply a softmax twice.

The second one takes shares for scores. Shares lie between 0 and 1, so hardly
any difference is left.
"""


def draw_scores(draw: Draw) -> Case:
    rows, columns = draw.size(2, 4), draw.size(2, 4)
    shape = draw.choice([(rows, columns), (draw.size(1, 3), rows, columns)])
    scale = draw.choice([1.0, 1.0, 1.0, 500.0])
    dim = draw.choice([-1, 0, 1, -2])
    return case("random scores", scale * draw.normal(*shape), dim)


EXERCISE = exercise_of(
    stable_softmax,
    section="05_score_functions#a-softmax-that-cannot-overflow",
    points=2,
    hints=(
        "Which number can be taken away from every score along the axis "
        "without changing a share? Which choice of it makes the largest "
        "exponential 1?",
        "Both the largest score and the sum belong to one row each, along "
        "dim. Keep the axis that they are taken along, with size 1, so that "
        "broadcasting gives each row its own.",
    ),
    cases=[
        case("two scores", torch.tensor([0.0, 1.0])),
        case("a large score", torch.tensor([1000.0, 0.0])),
        case("scores far below zero", torch.tensor([-1000.0, -1001.0])),
        case("zero and far below", torch.tensor([0.0, -200.0])),
        case("100, 99 and 0, as in the chapter", torch.tensor([100.0, 99, 0])),
        case("minus infinity", torch.tensor([0.0, -torch.inf, 1.0])),
        case(
            "two rows far apart", torch.tensor([[1000.0, 999.0], [0.0, 1.0]])
        ),
        case(
            "along the first axis",
            torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]),
            0,
        ),
        case(
            "along the first axis, columns far apart",
            torch.tensor([[1000.0, 0.0], [999.0, 2.0]]),
            0,
        ),
        case("half precision", torch.tensor([12.0, 11.0, 0.0]).half()),
        case("float64", torch.tensor([1.0, 800.0, 801.0]).double()),
        case("the middle one of three axes", Draw(35).normal(2, 3, 2), 1),
    ],
    draw=draw_scores,
    tolerance=5e-4,  # logsumexp is right too, to so many digits
)
