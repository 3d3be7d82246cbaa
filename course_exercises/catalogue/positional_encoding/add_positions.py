"""Adding positional encodings to embeddings."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def add_positions(
    x: Float[Tensor, "batch length d_model"],
    table: Float[Tensor, "max_length d_model"],
    offset: int = 0,
) -> Float[Tensor, "batch length d_model"]:
    """Add to each word vector the encoding of its position.

    Args:
        x: a batch of sentences, with a vector for each word, already
            multiplied by the root of d_model.
        table: a row for each position, from position 0; sinusoidal or learned.
            It has as many rows as are needed, or more.
        offset: the position of the first word of every sentence. In generation
            the words before it have been seen already.

    Returns:
        The vectors with their positions added, in the shape of x.
    """
    ### BEGIN SOLUTION
    rows = table[offset : offset + x.size(1)]
    return x + rows
    ### END SOLUTION


@other
def positions_by_loop(x, table, offset=0):
    words = [x[:, p] + table[offset + p] for p in range(x.size(1))]
    return torch.stack(words, dim=1)


@other
def positions_looked_up(x, table, offset=0):
    places = torch.arange(x.size(1)).add(offset).expand(x.shape[:2])
    return F.embedding(places, table) + x


@other
def positions_narrowed(x, table, offset=0):
    rows = table.narrow(0, offset, x.size(1))
    return torch.add(x, rows.unsqueeze(0).expand_as(x))


def draw_vectors(draw: Draw) -> Case:
    batch, length, d_model = draw.size(1, 3), draw.size(2, 5), draw.size(2, 6)
    offset = draw.choice([0, 0, 1, 7])
    rows = offset + batch * length + draw.size(1, 4)
    x = draw.normal(batch, length, d_model)
    return case("random vectors", x, draw.normal(rows, d_model), offset)


TWO_WORDS = torch.tensor([[[1.0, 2], [3, 4]]])
TENS = torch.tensor([[10.0, 1], [20, 2], [30, 3], [40, 4], [50, 5]])

EXERCISE = exercise_of(
    add_positions,
    section="03_positional_encoding#positions-are-added-not-concatenated",
    points=1,
    cases=[
        case("two words", TWO_WORDS, TENS[:3]),
        case("the first word is at position 2", TWO_WORDS, TENS, 2),
        case(
            "two sentences of two words",
            torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]),
            TENS,
        ),
        case(
            "one word, as in generation",
            torch.tensor([[[1.0, 2]]]),
            torch.tensor([[10.0, 0], [20, 0], [30, 5]]),
            1,
        ),
        case(
            "a table that ends with the sentence",
            torch.tensor([[[1.0, 0], [2, 0]]]),
            torch.tensor([[10.0, 1], [20, 1]]),
        ),
        case(
            "as many sentences as words",
            Draw(10).normal(3, 3, 4),
            Draw(11).normal(12, 4),
        ),
        case(
            "float64",
            Draw(12).normal(2, 3, 2).double(),
            Draw(13).normal(9, 2).double(),
            1,
        ),
    ],
    draw=draw_vectors,
)
