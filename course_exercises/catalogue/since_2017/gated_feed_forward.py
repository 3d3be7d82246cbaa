"""SwiGLU feed-forward network."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def gated_feed_forward(
    x: Float[Tensor, "batch length d_model"],
    W: Float[Tensor, "d_model d_ff"],
    U: Float[Tensor, "d_model d_ff"],
    V: Float[Tensor, "d_ff d_model"],
) -> Float[Tensor, "batch length d_model"]:
    """Send each word through a feed-forward part with a gate, SwiGLU.

    SiLU(z) is z times its sigmoid. There are no biases.

    Args:
        x: the stream.
        W: makes the gate, which the SiLU is applied to; one column for each
            unit.
        U: makes what the gate is multiplied with, unit by unit.
        V: makes the product as narrow as the stream; one row for each unit.

    Returns:
        What the part answers; the stream is not yet added to it.
    """
    ### BEGIN SOLUTION
    sums = x @ W
    gate = sums * sums.sigmoid()
    units = gate * (x @ U)
    return units @ V
    ### END SOLUTION


@other
def gated_by_linear(x, W, U, V):
    return F.linear(F.silu(F.linear(x, W.T)) * F.linear(x, U.T), V.T)


@other
def gated_unit_by_unit(x, W, U, V):
    answer = torch.zeros_like(x)
    for w, u, v in zip(W.T, U.T, V, strict=True):
        unit = F.silu((x * w).sum(-1)) * (x * u).sum(-1)
        answer = answer + unit[..., None] * v
    return answer


EDITS = """
# gate_forgotten
- gate * (x @ U) -> gate
You never use `U`: nothing is gated.

What is left is a feed-forward part with a SiLU. The gate is a product: each
unit of one map is multiplied with the same unit of the other.

# gate_without_activation
- sums * sums.sigmoid() -> sums
There is no SiLU on the gate: you multiply two linear maps.

That is Shazeer's *bilinear* variant. It learns too; but weights that were
trained with a SiLU do not fit it.

# gate_of_sigmoid
- sums * sums.sigmoid() -> sums.sigmoid()
Your gate is a sigmoid: it lies between 0 and 1.

That is the GLU of Dauphin et al. In SwiGLU the gate is z times its sigmoid, so
it can be larger than 1, and a little below 0.

# gate_of_relu
- sums * sums.sigmoid() -> F.relu(sums)
Your gate is a ReLU; that variant is called ReGLU.

The exercise asks for the SiLU, z times its sigmoid, which is smooth, and a
little below zero on the left.

# gate_of_gelu
- sums * sums.sigmoid() -> F.gelu(sums)
or
- sums * sums.sigmoid() -> F.gelu(sums, approximate="tanh")
Your gate is a GELU; that variant is called GeGLU.

It is as common. But the exercise asks for the SiLU, z times its sigmoid:
weights that were trained with one do not fit the other.

# gate_on_the_other_map
- sums = x @ W -> sums = x @ U
- (x @ U) -> (x @ W)
Your SiLU is applied to x U, and not to x W.

Both orders learn equally well, and code differs in the names. But weights that
were stored under these names then give something else.

# gate_on_both
- (x @ U) -> F.silu(x @ U)
You apply the SiLU to both maps.

One map says how far to open, the other what passes. What passes should be
linear, and able to take any sign.

# gate_added
- gate * (x @ U) -> gate + x @ U
You add the two maps, where one should gate the other.

Then no unit of one can close a unit of the other: use a product.

# gate_after_narrowing
- units = gate * (x @ U) -> units = gate
- units @ V -> (units @ V) * ((x @ U) @ V)
You gate after the last map, in the width of the stream.

The product belongs inside, unit by unit, before `V` makes it narrow again.

# stream_added (08_add_and_norm#post-norm-and-pre-norm)
- return -> return x +
You add the stream to your answer.

That has to be done, but by the layer around this part. Done twice, it would
add every word twice.
"""


def draw_part(draw: Draw) -> Case:
    width, inside = draw.size(2, 4), draw.size(5, 8)
    return case(
        "random weights",
        draw.normal(draw.size(1, 3), draw.size(2, 4), width),
        draw.normal(width, inside),
        draw.normal(width, inside),
        draw.normal(inside, width),
    )


SHARP = Draw(22)

EXERCISE = exercise_of(
    gated_feed_forward,
    section="22_since_2017#a-model-of-today",
    points=2,
    hints=(
        "Three products of matrices, one product of numbers. Which two of "
        "the matrices read the stream?",
        "Compute x W and x U; both are (batch, length, d_ff). The first goes "
        "through the SiLU. Multiply the two number by number, then by V.",
    ),
    cases=[
        case(
            "one word, two units",
            torch.tensor([[[1.0]]]),
            torch.tensor([[2.0, -3.0]]),
            torch.tensor([[0.5, 1.0]]),
            torch.tensor([[10.0], [100.0]]),
        ),
        case(
            "a gate of zero",
            torch.tensor([[[1.0, -1.0]]]),
            torch.tensor([[1.0, 2.0], [1.0, 3.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        ),
        case(
            "two words",
            torch.tensor([[[1.0, 0.5], [-2.0, 1.0]]]),
            torch.tensor([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0]]),
            torch.tensor([[0.5, 1.0, -1.0], [1.0, 1.0, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        ),
        case(
            "large numbers",
            10 * SHARP.normal(2, 3, 4),
            SHARP.normal(4, 6),
            SHARP.normal(4, 6),
            SHARP.normal(6, 4),
        ),
    ],
    draw=draw_part,
    tolerance=1e-4,
)
