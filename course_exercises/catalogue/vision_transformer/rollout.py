"""Attention rollout."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case, call_without_grad
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
    section="19_vision_transformer#attention-rollout-where-did-it-look",
    points=3,
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
