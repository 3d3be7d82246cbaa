"""Row-wise int8 quantisation."""

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    call_without_grad,
    case,
    exercise_of,
    other,
)


def quantise_rows(
    weight: Float[Tensor, "rows columns"],
) -> tuple[Int8[Tensor, "rows columns"], Float[Tensor, "rows 1"]]:
    """Store a matrix as whole numbers of eight bits, and a scale for each row.

    Args:
        weight: any finite numbers.

    Returns:
        Whole numbers from -127 to 127, as ``torch.int8``, and the scales, of
        ``weight``'s dtype: numbers times scale is the matrix again, but for
        rounding. A row's scale is as small as it can be, so that its largest
        number in absolute value becomes 127 or -127. Others become the
        *nearest* whole number (of two that are as near, the even one). A row
        of zeros has the scale 1.
    """
    ### BEGIN SOLUTION
    largest = weight.abs().amax(dim=1, keepdim=True)
    scale = largest / 127
    scale = torch.where(largest == 0, 1.0, scale)
    numbers = (weight / scale).round()
    return numbers.to(torch.int8), scale.to(weight.dtype)
    ### END SOLUTION


@other
def quantise_by_loop(weight):
    numbers, scales = [], []
    for row in weight:
        largest = max(row.max(), -row.min())
        scale = largest / 127 if largest > 0 else torch.ones_like(largest)
        scales.append(scale)
        numbers.append(torch.round(row / scale).clamp(-127, 127))
    whole = torch.stack(numbers).to(dtype=torch.int8)
    return whole, torch.stack(scales)[:, None]


@other
def quantise_by_norm(weight):
    scale = torch.linalg.vector_norm(weight, torch.inf, dim=1, keepdim=True)
    scale = scale.div(127).masked_fill(scale == 0, 1)
    return torch.round(weight.div(scale)).char(), scale


EDITS = """
# one_scale_for_all
- amax(dim=1, keepdim=True) -> amax().expand(len(weight), 1)
You take one scale for the whole matrix.

Then its largest row decides how finely all the others are rounded. A row of
small numbers is left with few steps, or with none.

# scale_for_each_column
- amax(dim=1, keepdim=True) -> amax(dim=0, keepdim=True)
You take a scale for each column.

A row of a linear layer's weights makes one of its outputs. With a scale for
each row, the sum can be taken in whole numbers, and scaled once at its end.

# signs_not_taken_away
- weight.abs().amax -> weight.amax
You take the largest number of a row for the largest in absolute value.

In a row such as -3, 1 the largest in absolute value is -3. Your numbers leave
the range of eight bits, or change their signs.

# scale_of_128
- / 127 -> / 128
You divide by 128.

Eight bits hold -128 to 127. The largest number of a row becomes 128, and that
wraps round to -128.

# scale_of_255
- / 127 -> / 255
You divide by 255, as if there were no negative numbers.

Eight bits with a sign hold -128 to 127.

# range_shared_out
- largest / 127 -> largest * 2 / 255
You share out the range from -largest to largest among 255 steps.

The largest number of a row is then 127.5: it becomes 128, which eight bits
with a sign do not hold. Divide the largest by 127.

# cut_off
- .round() -> .trunc()
or
- .round() ->
You cut off the digits after the decimal point.

That draws all numbers towards zero, and the error is up to a whole step. The
*nearest* whole number is at most half a step away.

# rounded_down
- .round() -> .floor()
You round down.

That moves all numbers one way, by half a step on average. The *nearest* whole
number is at most half a step away, on either side.

# scale_upside_down
- scale.to(weight.dtype) -> (1 / scale).to(weight.dtype)
You return 127 over the largest number.

Numbers *times* scale should be the matrix again.

# zeros_divided
- torch.where(largest == 0, 1.0, scale) -> scale
You divide a row of zeros by zero.

0/0 is no number. Any scale is right for such a row; this exercise asks for 1.

# scales_as_a_vector
- scale.to(weight.dtype) -> scale.to(weight.dtype).squeeze(1)
Your scales have no second axis.

Times a matrix, a vector is broadcast along its *columns*: with as many columns
as rows, each would silently get another's scale.

# scale_for_zeros_too_small
- largest == 0, 1.0 -> largest == 0, 1 / 127
You give a row of zeros the scale 1/127.

Any scale is right for it; this exercise asks for 1.

# not_in_eight_bits
- numbers.to(torch.int8) -> numbers
You return whole numbers, but in the matrix's own dtype.

They take as many bytes as before: nothing is saved.

# bits_without_sign
- numbers.to(torch.int8) -> (numbers + 128).to(torch.uint8)
You store the numbers without a sign, moved by 128.

Some formats do that, and have to take 128 away again. This exercise asks for
`torch.int8`, where zero stays zero.

# not_divided
- weight / scale -> weight
You round the numbers themselves.

Weights are mostly smaller than one half, and become 0. Divide them by their
row's scale first.

# multiplied
- weight / scale -> weight * scale
You multiply by the scale on the way into whole numbers.

There you divide. On the way back you multiply.

# scale_of_the_mean
- weight.abs().amax -> weight.abs().mean
You take a row's mean absolute value for its largest one.

What is larger than the mean then leaves the range of eight bits, and wraps
round.
"""


def draw_matrix(draw: Draw) -> Case:
    rows, columns = draw.size(2, 5), draw.size(2, 6)
    sizes = torch.tensor([10.0 ** draw.size(-3, 1) for _ in range(rows)])
    return case("a random matrix", draw.normal(rows, columns) * sizes[:, None])


EXERCISE = exercise_of(
    quantise_rows,
    section="21_speed#eight-bits-for-a-weight",
    points=2,
    hints=(
        "Take the row 2, -4, 1. Which number becomes 127, or -127? By what "
        "did you divide it?",
        "Largest size of each row, kept as a column; over 127; divide, round, "
        "and only then change the dtype. What happens in a row of zeros?",
    ),
    cases=[
        case(
            "two rows, the second a hundred times smaller",
            torch.tensor([[1.0, 0.3], [0.01, 0.002]]),
        ),
        case("the largest by size is negative", torch.tensor([[-4.0, 1.0]])),
        case("a row of zeros", torch.tensor([[0.0, 0.0], [2.0, -0.5]])),
        case(
            "three numbers that are not whole",
            torch.tensor([[127.0, 10.6, -10.6], [12.7, 0.26, -0.96]]),
        ),
        case(
            "more columns than rows",
            torch.tensor([[0.5, -0.25, 0.1, 0.0], [3.0, 2.0, -1.0, 0.7]]),
        ),
        case(
            "float64",
            torch.tensor([[0.1, -0.7], [5.0, 4.0]], dtype=torch.float64),
        ),
    ],
    draw=draw_matrix,
    run=call_without_grad,
)
