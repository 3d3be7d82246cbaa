"""Mean ablation of a head."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def replace_by_mean(
    merged: Float[Tensor, "batch length d_model"],
    head: int,
    n_heads: int,
    real: Bool[Tensor, "batch length"],
) -> Float[Tensor, "batch length d_model"]:
    """Let one head output its mean, at every position.

    Args:
        merged: the outputs of all heads of a layer, side by side: the first
            numbers of a vector are those of head 0, and so on. It stays as
            it is.
        head: which head, from 0.
        n_heads: heads of the layer; all have the same width.
        real: False where there is padding; True somewhere.

    Returns:
        The same, with the head's numbers replaced by their mean over all real
        positions of all sentences: a vector as wide as the head. Padded
        positions get it, too.
    """
    ### BEGIN SOLUTION
    width = merged.size(-1) // n_heads
    own = slice(head * width, (head + 1) * width)
    mean = merged[real].mean(dim=0)
    changed = merged.clone()
    changed[..., own] = mean[own]
    return changed
    ### END SOLUTION


@other
def mean_of_split_heads(merged, head, n_heads, real):
    heads = list(merged.split(merged.size(-1) // n_heads, dim=-1))
    weights = real.float()[..., None]
    mean = (heads[head] * weights).sum(dim=(0, 1)) / weights.sum()
    heads[head] = mean.expand_as(heads[head])
    return torch.cat(heads, dim=-1)


@other
def mean_by_where(merged, head, n_heads, real):
    width = merged.size(-1) // n_heads
    belongs = torch.arange(merged.size(-1)) // width == head
    rows = [
        merged[i, j]
        for i in range(merged.size(0))
        for j in range(merged.size(1))
        if real[i, j]
    ]
    return torch.where(belongs, torch.stack(rows).mean(dim=0), merged)


def rows(*sentences: list) -> Tensor:
    """Vectors of each position, sentence by sentence."""
    return torch.tensor(sentences, dtype=torch.float)


def draw_merged(draw: Draw) -> Case:
    """Random vectors, some of them of padding."""
    n_heads, width = draw.size(2, 3), draw.size(2, 3)
    shape = [draw.size(2, 3), draw.size(2, 4)]
    merged = draw.normal(*shape, n_heads * width)
    real = draw.normal(*shape) > -0.5
    real[:, 0] = True
    return case("random numbers", merged, draw.size(1, 2) - 1, n_heads, real)


def all_real(batch: int, length: int) -> Tensor:
    """A mask without padding."""
    return torch.ones(batch, length).bool()


SHORT = torch.tensor([[True, True], [True, False]])
TWO = rows([[1, 2, 3, 4], [3, 6, 5, 8]])
EXERCISE = exercise_of(
    replace_by_mean,
    section="20_reading_attention#take-heads-away",
    points=3,
    cases=[
        case(
            "two heads of one number",
            rows([[1, 2], [3, 6]]),
            0,
            2,
            all_real(1, 2),
        ),
        case("the first of two heads", TWO, 0, 2, all_real(1, 2)),
        case("the second of two heads", TWO, 1, 2, all_real(1, 2)),
        case(
            "padding",
            rows([[1, 2, 3, 4], [3, 6, 5, 8]], [[5, 1, 1, 0], [9, 9, 9, 9]]),
            0,
            2,
            SHORT,
        ),
        case(
            "two sentences, three heads",
            rows(
                [[1, 2, 3, 4, 5, 6], [7, 1, 0, 2, 8, 2]],
                [[0, 4, 1, 5, 2, 6], [3, 3, 5, 1, 1, 0]],
            ),
            1,
            3,
            all_real(2, 2),
        ),
        case("one head has it all", TWO, 0, 1, all_real(1, 2)),
    ],
    draw=draw_merged,
)
