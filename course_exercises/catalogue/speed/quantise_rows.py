"""Row-wise int8 quantisation."""

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from course_exercises.candidate.cases import Case, call_without_grad
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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


def draw_matrix(draw: Draw) -> Case:
    rows, columns = draw.size(2, 5), draw.size(2, 6)
    sizes = torch.tensor([10.0 ** draw.size(-3, 1) for _ in range(rows)])
    return case("a random matrix", draw.normal(rows, columns) * sizes[:, None])


EXERCISE = exercise_of(
    quantise_rows,
    section="21_speed#eight-bits-for-a-weight",
    points=2,
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
