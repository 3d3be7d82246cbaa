"""Mean pooling under a padding mask."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def masked_mean(
    x: Float[Tensor, "batch length d_model"],
    ids: Int[Tensor, "batch length"],
    pad_id: int = 0,
) -> Float[Tensor, "batch d_model"]:
    """The mean of each text's vectors, without padding.

    Args:
        x: what an encoder made of each token. At padding it may hold anything,
            even infinity or NaN.
        ids: of the tokens. All that are not ``pad_id`` count, wherever they
            stand; [CLS] and [SEP] count, too.
        pad_id: what fills up a batch.

    Returns:
        One vector for each text; zeros for a row of nothing but padding.
    """
    ### BEGIN SOLUTION
    real = (ids != pad_id)[:, :, None]
    total = x.masked_fill(~real, 0.0).sum(dim=1)
    count = real.sum(dim=1).clamp(min=1)
    return total / count
    ### END SOLUTION


@other
def mean_by_loop(x, ids, pad_id=0):
    rows = []
    for vectors, tokens in zip(x, ids, strict=True):
        kept = vectors[tokens != pad_id]
        rows.append(kept.mean(dim=0) if len(kept) else vectors.new_zeros(1))
    return torch.stack([row.expand(x.size(-1)) for row in rows])


@other
def mean_by_weights(x, ids, pad_id=0):
    real = ids != pad_id
    weights = real / real.sum(dim=1, keepdim=True).clamp(min=1)
    clean = torch.where(real[:, :, None], x, torch.zeros_like(x))
    return torch.einsum("bl,bld->bd", weights.to(x.dtype), clean)


def text_case(note: str, *rows: list[int], pad_id: int = 0) -> Case:
    ids = torch.tensor(rows)
    x = torch.arange(ids.numel() * 2.0).view(*ids.shape, 2).sin() * 4
    return case(note, x, ids, pad_id)


def infinite() -> Case:
    given = text_case("infinity and NaN at padding", [5, 6, 0], [7, 8, 9])
    given.args[0][0, 2] = torch.tensor([torch.inf, torch.nan])
    return given


def draw_texts(draw: Draw) -> Case:
    rows, length = draw.size(1, 4), draw.size(2, 6)
    ids = draw.ids(rows, length)
    return case("random texts", draw.normal(rows, length, 3), ids, 0)


EXERCISE = exercise_of(
    masked_mean,
    section="17_classification#the-class-token-stands-for-no-word",
    points=2,
    cases=[
        text_case("one text, no padding", [5, 6, 7]),
        text_case("one text with padding", [5, 6, 0, 0]),
        text_case("two texts of unlike length", [5, 6, 7, 8], [9, 0, 0, 0]),
        text_case("a row of padding", [5, 6], [0, 0]),
        text_case("another id of padding", [5, 0, 9], [7, 9, 9], pad_id=9),
        text_case("a single token", [5]),
        text_case("padding in front", [0, 5, 6], [7, 8, 9]),
        infinite(),
    ],
    draw=draw_texts,
)
