"""Attention with an online softmax, tile by tile."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def look_up_in_tiles(
    scores: Float[Tensor, " keys"],
    values: Float[Tensor, "keys d_v"],
    tile: int,
) -> Float[Tensor, " d_v"]:
    """Mix values by the softmax of their scores, a tile of keys at a time.

    Scores may be large, so that no power of a score itself can be taken:
    keep the largest one so far, and correct the sums when it grows.

    Args:
        scores: of one query with each key; finite, at least one of them.
        values: one row for each key.
        tile: how many keys are read at a time; the last tile may be
            shorter.

    Returns:
        The mean of all values, weighted by the softmax of all scores.
    """
    ### BEGIN SOLUTION
    highest = scores.new_tensor(-torch.inf)
    total = scores.new_zeros(())
    mixed = values.new_zeros(values.size(1))
    for start in range(0, len(scores), tile):
        part = slice(start, start + tile)
        new = torch.maximum(highest, scores[part].max())
        weights = (scores[part] - new).exp()
        shrink = (highest - new).exp()
        total = shrink * total + weights.sum()
        mixed = shrink * mixed + weights @ values[part]
        highest = new
    return mixed / total
    ### END SOLUTION


@other
def look_up_at_once(scores, values, tile):
    return scores.softmax(dim=0) @ values


@other
def look_up_by_logarithms(scores, values, tile):
    total, mean = None, None
    for s, v in zip(scores.split(tile), values.split(tile), strict=True):
        own, here = s.logsumexp(0), s.softmax(0) @ v
        if mean is None:
            total, mean = own, here
            continue
        both = torch.logaddexp(total, own)
        mean = mean * (total - both).exp() + here * (own - both).exp()
        total = both
    return mean


EDITS = """
# old_sums_not_corrected
- shrink * total -> total
- shrink * mixed -> mixed
You never correct the old sums when a larger score comes.

They were exponentials of `score - old maximum`. Measured from the new maximum,
each is smaller by the factor exp(old - new).

# total_not_corrected
- shrink * total -> total
You correct the mixture, but not the sum of the weights.

Both were measured from the old maximum, and both have to shrink, or the
weights no longer sum to one.

# mixture_not_corrected
- shrink * mixed -> mixed
You correct the sum of the weights, but not the mixture.

Both were measured from the old maximum, and both have to shrink.

# corrected_the_wrong_way
- (highest - new).exp() -> (new - highest).exp()
or
- (highest - new).exp() -> (new - highest).exp().nan_to_num(posinf=0.0)
You multiply the old sums by exp(new - old): they grow, where they should
shrink.

At the first tile, that factor is infinite besides.

# maximum_of_the_tile
- torch.maximum(highest, scores[part].max()) -> scores[part].max()
You take the largest score of the tile, even where an earlier one was larger.

The factor is then above 1, and overflows where the earlier score was far
larger. The running maximum never falls.

# each_tile_by_itself
- return mixed / total
+ means = [
+     scores[i : i + tile].softmax(0) @ values[i : i + tile]
+     for i in range(0, len(scores), tile)
+ ]
+ return torch.stack(means).mean(0)
You take a softmax of each tile, and the mean of the results.

Then every tile counts alike, whatever its scores. A tile counts by the sum of
its exponentials.

# last_tile_dropped
- range(0, len(scores), tile) -> range(0, len(scores) - tile + 1, tile)
You leave out the last tile where it is shorter than the others.

Slices may reach over the end: `scores[start : start + tile]` is then shorter.

# never_divided
- return mixed / total -> return mixed
You do not divide by the sum of the weights.

The exponentials have to become shares; it is enough to divide once, at the
end.

# divided_in_each_tile
- highest = new -> highest, mixed = new, mixed / total
- mixed / total
+ mixed
You divide by the sum in each tile, and go on with the quotient.

The mixture then is a mean already, and the next tile adds sums to it. Divide
once, at the end, or multiply by the old sum again.

# powers_of_plain_scores
- (scores[part] - new).exp() -> scores[part].exp()
- shrink * total -> total
- shrink * mixed -> mixed
You take exponentials of the scores as they are.

That is right while scores are small, and infinite from 89 on. Take the largest
score so far away first.
"""


def draw_scores(draw: Draw) -> Case:
    keys = draw.size(3, 9)
    return case(
        "random scores",
        3 * draw.normal(keys),
        draw.normal(keys, 3),
        draw.size(1, 4),
    )


FAR = Draw(24)

EXERCISE = exercise_of(
    look_up_in_tiles,
    section="22_since_2017#attention-in-tiles",
    points=3,
    hints=(
        "Three running quantities: the largest score so far, the sum of the "
        "exponentials, and the values mixed by them. What happens to the "
        "last two when the first one grows?",
        "An exponential exp(s - old) becomes exp(s - new) if it is "
        "multiplied by exp(old - new). That factor is the same for all "
        "earlier keys, so it can be applied to their sums.",
    ),
    cases=[
        case(
            "two keys, one at a time, rising",
            torch.tensor([0.0, 1.0]),
            torch.tensor([[1.0], [2.0]]),
            1,
        ),
        case(
            "two keys, one at a time, falling",
            torch.tensor([1.0, 0.0]),
            torch.tensor([[1.0], [2.0]]),
            1,
        ),
        case(
            "three keys, a last tile of one",
            torch.tensor([0.0, 1.0, 2.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            2,
        ),
        case(
            "all in one tile",
            torch.tensor([0.0, 1.0, 2.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            5,
        ),
        case(
            "large scores",
            torch.tensor([100.0, 99.0, 101.0, 98.0]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 0.0]]),
            2,
        ),
        case(
            "the first score far above the others",
            torch.tensor([200.0, 0.0, 1.0]),
            torch.tensor([[1.0], [2.0], [4.0]]),
            1,
        ),
        case("many keys", 4 * FAR.normal(40), FAR.normal(40, 2), 7),
    ],
    draw=draw_scores,
)
