"""Attention rollout."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    call_without_grad,
    case,
    exercise_of,
    mistake,
    other,
)

from . import ROLLOUT


def rollout(
    attention: Float[Tensor, "batch layer head query key"],
) -> Float[Tensor, "batch query key"]:
    """Follow attention through all layers of an encoder.

    Args:
        attention: the weights of every head, the lowest layer first; rows
            sum to one.

    Returns:
        How much of each input there is in each output of the last layer:
        the entry [q, k] is the share of input k in output q. A layer passes
        on half of what its heads read, in the mean over heads, and half of
        what was there already, by its residual connection. Rows sum to one;
        dtype and device are those of the attention.
    """
    ### BEGIN SOLUTION
    identity = torch.eye(attention.size(-1)).to(attention)
    flow = identity.expand(attention.size(0), -1, -1)
    for layer in attention.mean(dim=2).unbind(dim=1):
        mixed = (layer + identity) / 2
        flow = mixed @ flow
    return flow
    ### END SOLUTION


@other
def rollout_from_above(attention):
    mixed = 0.5 * attention.mean(dim=2) + 0.5 * torch.eye(attention.size(-1))
    flow = mixed[:, -1]
    for i in range(attention.size(1) - 2, -1, -1):
        flow = flow @ mixed[:, i]
    return flow


@other
def rollout_renormalised(attention):
    found = None
    for i in range(attention.size(1)):
        heads = attention[:, i].sum(dim=1) / attention.size(2)
        mixed = heads + torch.eye(attention.size(-1))
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        found = mixed if found is None else torch.bmm(mixed, found)
    return found


EDITS = """
# rollout_without_residual
- (layer + identity) / 2 -> layer
You leave out the residual connection.

Attention alone evens out from layer to layer: after a few, all tokens seem to
be made of the same. But each layer also passes on what a token was before.

# rollout_residual_not_halved
- (layer + identity) / 2 -> layer + identity
You add the identity without bringing the rows back to one.

Then each layer doubles the sum of a row. Half is attention, half is the
residual connection.

# rollout_upside_down
- mixed @ flow -> flow @ mixed
You multiply in the wrong order.

The last layer reads what the layers below have made: its matrix stands on the
left. In your product the lowest layer reads last.

# rollout_of_the_last_layer
- flow = mixed @ flow -> flow = mixed
Yours is the map of the last layer alone.

Its tokens are mixtures already. To say what *inputs* they were made of, follow
them down through all layers.

# rollout_of_the_strongest_head
- mean(dim=2) -> amax(dim=2)
You take the largest weight of all heads, not their mean.

Some do so, but then rows no longer sum to one. Here it is the mean.

# rollout_of_summed_heads
- mean(dim=2) -> sum(dim=2)
You add the heads up in place of taking their mean.

Then a row of attention sums to the number of heads, and the residual
connection counts for too little.

# rollout_through_the_heads
- mean(dim=2) -> mean(dim=1)
You take the mean over layers, and go through the heads one after another.

Heads work side by side, layers one after the other: axis 1 is the layer,
axis 2 the head.

# rollout_of_columns
- (layer + identity) -> (layer.mT + identity)
You confuse who looks with who is looked at.

A row belongs to the token that looks, the query. Yours takes columns for rows.
"""


@mistake
def rollout_as_a_mean(attention):
    """You take the mean over layers in place of the product.

    Then no layer reads what the one below has made. A token of the second
    layer is a mixture of tokens of the first.
    """
    identity = torch.eye(attention.size(-1))
    return (attention.mean(dim=(1, 2)) + identity) / 2


def weights(*rows: list) -> Tensor:
    """Attention of one input, by layer, head and row."""
    return torch.tensor([rows])


def draw_attention(draw: Draw) -> Case:
    """Random weights whose rows sum to one."""
    length = draw.size(2, 5)
    shape = [draw.size(1, 2), draw.size(2, 3), draw.size(2, 4)]
    scores = 2 * draw.normal(*shape, length, length)
    return case("random weights", scores.softmax(dim=-1))


ONE = [[0.0, 1.0], [0.5, 0.5]]
EVEN = [[0.5, 0.5], [0.5, 0.5]]
BACK = [[1.0, 0.0], [1.0, 0.0]]
SWAP = [[0.0, 1.0], [1.0, 0.0]]

EXERCISE = exercise_of(
    rollout,
    section=ROLLOUT,
    points=3,
    hints=(
        "Two layers, two tokens. The second layer's token reads half of "
        "token 0 and half of token 1 *of the first layer*. What are these "
        "made of?",
        "For each layer: the mean over heads, the mean of that and the "
        "identity. Multiply it with what you have so far; on which side?",
    ),
    cases=[
        case("one layer, one head", weights([ONE])),
        case("one layer, two heads", weights([BACK, SWAP])),
        case("two layers, one head", weights([ONE], [BACK])),
        case("a swap, below a mixture", weights([SWAP], [ONE])),
        case("two layers, two heads", weights([ONE, EVEN], [BACK, SWAP])),
        case(
            "three layers, two heads",
            weights([ONE, SWAP], [BACK, ONE], [EVEN, BACK]),
        ),
    ],
    draw=draw_attention,
    run=call_without_grad,
)
