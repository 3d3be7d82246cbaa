"""Powers that stay in range."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def stable_softmax(
    scores: Float[Tensor, "..."], dim: int = -1
) -> Float[Tensor, "..."]:
    """Make shares of scores, along one axis, however large they are.

    Args:
        scores: any finite numbers, or minus infinity for what may get
            nothing; somewhere along the axis there is a finite one.
        dim: the axis along which the shares sum to one.

    Returns:
        The softmax, of the scores' shape and dtype. No power overflows on
        the way, in no dtype, float16 included.
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
You take the powers of the scores as they are.

e¹⁰⁰ is beyond 32 bits, e¹² beyond half precision: infinity over infinity is
not a number. And where all scores are far below zero every power is 0, and 0
is divided by 0.

# powers_in_double
- scores - largest -> scores.double()
- return powers / powers.sum(dim=dim, keepdim=True)
+ shares = powers / powers.sum(dim=dim, keepdim=True)
+ return shares.to(scores.dtype)
You compute in 64 bits, and go back afterwards.

It puts the limit off, from a score of 88 to one of 709, and costs double the
memory. No number of bits is enough; a softmax sees differences only.

# a_little_added
- - largest ->
- powers.sum(dim=dim, keepdim=True)
+ (powers.sum(dim=dim, keepdim=True) + 1e-9)
You add a little to the sum, so that it is not 0.

Scores far below zero then give shares of 0, which sum to 0 and not to one. And
large scores still overflow.

# not_a_number_replaced
- - largest ->
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)
You let the powers overflow, and put zeros in place of the NaN.

Then the *largest* score, which should have got most, gets nothing.

# maximum_of_everything
- amax(dim=dim, keepdim=True) -> max()
or
- amax(dim=dim, keepdim=True) -> max()
- powers.sum(dim=dim, keepdim=True)
+ (powers.sum(dim=dim, keepdim=True) + 1e-9)
You take away the largest score of the *whole* tensor.

Nothing overflows. But a row whose scores are all far below that one has
nothing but powers of 0, and no shares come of them: what stands in one
sentence would break another one.

# axis_ignored
- largest =
+ dim = -1
+ largest =
Your shares sum to one along the last axis, whatever `dim` says.

# maximum_along_another_axis
- amax(dim=dim -> amax(dim=-1
You take the maximum along the last axis, and the sum along `dim`.

What is taken away must be the same number for all that are summed together:
only then does it cancel.

# sum_along_another_axis
- sum(dim=dim -> sum(dim=-1
You take the maximum along `dim`, and the sum along the last axis.

The shares have to sum to one along the axis that is asked for.

# sum_of_everything
- sum(dim=dim, keepdim=True) -> sum()
You divide by the sum of *all* powers, over every axis.

Then the whole tensor sums to one. Each row, or whatever lies along `dim`, has
to do so by itself.

# maximum_only_above
- powers.sum -> scores.exp().sum
You take the maximum away above the fraction, but not below it.

It cancels only if it stands in both. And the powers below overflow as before.

# maximum_without_its_axis
- amax(dim=dim, keepdim=True) -> amax(dim=dim)
The maximum has lost the axis that it was taken along; the sum has kept it.

Broadcasting lines axes up from the right, so each number meets the maximum of
another row. With a single row nothing shows; and where the sizes do not fit,
it ends in an error.

# sum_without_its_axis
- sum(dim=dim, keepdim=True) -> sum(dim=dim)
The sum has lost the axis that it was taken along; the maximum has kept it.

Broadcasting lines axes up from the right, so each power is divided by the sum
of another row. With a single row nothing shows; and where the sizes do not
fit, it ends in an error.

# softmax_rows_exchanged
- amax(dim=dim, keepdim=True) -> amax(dim=dim)
- sum(dim=dim, keepdim=True) -> sum(dim=dim)
Maximum and sum have lost the axis that they were taken along.

Broadcasting lines axes up from the right, so each number meets the maximum and
the sum of another row. With a single row nothing shows; and where the sizes do
not fit, it ends in an error.

# mean_taken_away
- amax -> mean
You take away the mean, not the largest score.

Any number that all share cancels. But the largest score may be far above the
mean, and its power still overflows; and beside a score of minus infinity the
mean is minus infinity too.

# minimum_taken_away
- amax -> amin
You take away the *smallest* score.

All powers are then 1 or more, and the largest overflows as soon as two scores
are far apart.

# largest_size_taken_away
- scores.amax -> scores.abs().amax
You take away the largest *absolute* value.

Where that belongs to a score far below zero, it is far above all scores: every
power becomes 0, and 0 is divided by 0.

# divided_by_the_maximum (#a-temperature)
- - largest -> / largest
or
- (scores - largest).exp() -> (scores / largest).softmax(dim=dim)
You *divide* the scores by the largest one.

A softmax sees differences, so a number may be taken away from all of them. To
divide them is a temperature: other shares come out.

# no_powers
- .exp() ->
There are no powers: you divide the scores themselves by their sum.

A share has to be positive, and it is e to the score that makes it so. With the
largest one taken away, all of yours are 0 or below.

# powers_not_divided
- / powers.sum(dim=dim, keepdim=True) ->
Your largest share is always 1: you never divide by the sum.

# logarithms_of_shares
- powers / powers.sum(dim=dim, keepdim=True) -> scores.log_softmax(dim=dim)
or
- powers / powers.sum(dim=dim, keepdim=True)
+ (powers / powers.sum(dim=dim, keepdim=True)).log()
What you return are the *logarithms* of the shares.

# maximum_added
- - largest -> + largest
You *add* the largest score, and so make the powers still larger.

Any number that all share cancels. Taken away, it makes the largest power 1.

# scores_cut_off
- scores - largest -> scores.clamp(max=80)
or
- scores - largest -> scores.clamp(-80, 80)
You cut large scores off at some limit.

Nothing overflows, but scores beyond the limit become alike: 1000 and 999 get
equal shares. And where all are far below zero, 0 is divided by 0.

# difference_turned_round
- scores - largest -> largest - scores
You take the scores away from the largest one: the smallest gets most.

The difference has to be 0 for the largest score, and below 0 for all others.

# logarithm_of_the_sum_overflows
- powers = (scores - largest).exp()
+ total = scores.exp().sum(dim=dim, keepdim=True)
+ powers = (scores - total.log()).exp()
You take the logarithm of a sum of powers away, and the powers are those of the
scores as they are.

They overflow before the logarithm makes them small again: infinity is taken
away, and every share is 0. Take the largest score away first.
"""


def draw_scores(draw: Draw) -> Case:
    rows, columns = draw.size(2, 4), draw.size(2, 4)
    shape = draw.choice([(rows, columns), (draw.size(1, 3), rows, columns)])
    scale = draw.choice([1.0, 1.0, 1.0, 500.0])
    dim = draw.choice([-1, 0, 1, -2])
    return case("random scores", scale * draw.normal(*shape), dim)


EXERCISE = exercise_of(
    stable_softmax,
    place=2,
    section="05_score_functions#a-softmax-that-cannot-overflow",
    points=2,
    hints=(
        "Which number can be taken away from every score along the axis "
        "without changing a share? Which choice of it makes the largest "
        "power 1?",
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
    edits=EDITS,
)
