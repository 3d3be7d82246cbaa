"""Grouped-query attention (GQA)."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.attention.scaled_dot_product_attention import (
    scaled_dot_product_attention,
)
from course_exercises.engine.exercise import case, exercise_of, other
from transformer_course.models.masks import causal_mask


def grouped_attention(
    query: Float[Tensor, "batch heads length d_head"],
    key: Float[Tensor, "batch groups length d_head"],
    value: Float[Tensor, "batch groups length d_head"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "batch heads length d_head"]:
    """Attend with fewer heads of keys and values than of queries.

    Ainslie et al. 2023. Neighbouring heads of queries form a group: with 4
    heads and 2 groups, heads 0 and 1 ask group 0, heads 2 and 3 ask group 1.
    Else it is scaled dot-product attention as in chapter 04.

    Args:
        query: of every head; ``groups`` divides the number of heads.
        key: one head for each group.
        value: one head for each group.
        mask: True = may be looked at, by every head; broadcast to the shape
            of the weights. None means that all may be looked at.

    Returns:
        The output of every head of queries.
    """
    ### BEGIN SOLUTION
    each = query.size(1) // key.size(1)
    key = key.repeat_interleave(each, dim=1)
    value = value.repeat_interleave(each, dim=1)
    return scaled_dot_product_attention(query, key, value, mask)[0]
    ### END SOLUTION


@other
def grouped_by_torch(query, key, value, mask=None):
    return F.scaled_dot_product_attention(
        query, key, value, mask, enable_gqa=True
    )


@other
def grouped_by_one_more_axis(query, key, value, mask=None):
    asked = query.unflatten(1, (key.size(1), -1))
    scores = asked @ key[:, :, None].mT / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask[:, :, None], -torch.inf)
    return (scores.softmax(dim=-1) @ value[:, :, None]).flatten(1, 2)


@other
def grouped_head_by_head(query, key, value, mask=None):
    each = query.size(1) // key.size(1)
    outputs = []
    for head in range(query.size(1)):
        own = None if mask is None else mask[:, 0]
        k, v = key[:, head // each], value[:, head // each]
        output, _ = scaled_dot_product_attention(query[:, head], k, v, own)
        outputs.append(output)
    return torch.stack(outputs, dim=1)


def draw_heads(draw: Draw) -> Case:
    groups, each = draw.size(2, 3), draw.size(2, 3)
    batch, length, d_head = draw.size(1, 3), draw.size(2, 4), draw.size(2, 4)
    return case(
        "random heads",
        draw.normal(batch, groups * each, length, d_head),
        draw.normal(batch, groups, length, d_head),
        draw.normal(batch, groups, length, d_head),
        draw.choice([None, causal_mask(length)]),
    )


MANY = Draw(23)

EXERCISE = exercise_of(
    grouped_attention,
    section="22_since_2017#what-the-cache-costs",
    points=2,
    cases=[
        case(
            "two heads, one group, one number each",
            torch.tensor([[[[1.0], [0.0]], [[0.0], [2.0]]]]),
            torch.tensor([[[[1.0], [0.0]]]]),
            torch.tensor([[[[1.0], [3.0]]]]),
        ),
        case(
            "four heads, two groups",
            torch.tensor([[[[1.0], [2.0]]] * 4]).view(1, 4, 2, 1),
            torch.tensor([[[[1.0], [0.0]], [[0.0], [2.0]]]]),
            torch.tensor([[[[1.0], [3.0]], [[5.0], [9.0]]]]),
        ),
        case(
            "as many groups as heads",
            *(MANY.normal(1, 2, 3, 4) for _ in range(3)),
        ),
        case(
            "six heads, three groups, a batch of two",
            MANY.normal(2, 6, 3, 4),
            MANY.normal(2, 3, 3, 4),
            MANY.normal(2, 3, 3, 4),
        ),
        case(
            "the future is hidden",
            MANY.normal(1, 4, 3, 2),
            MANY.normal(1, 2, 3, 2),
            MANY.normal(1, 2, 3, 2),
            causal_mask(3),
        ),
    ],
    draw=draw_heads,
)
