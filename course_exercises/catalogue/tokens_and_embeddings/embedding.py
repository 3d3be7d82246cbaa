"""Embedding table."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other


class Embedding(nn.Module):
    """A vector for each word, multiplied by the root of its width.

    Section 3.4 of the paper. The table's entries have variance 1/d_model, as
    the output needs them; the factor makes a vector as large as a position's.

    Args:
        vocab_size: how many words there are.
        d_model: width of a vector.
    """

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        table = torch.randn(vocab_size, d_model) / math.sqrt(d_model)
        self.weight = nn.Parameter(table)

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Look up the vector of each word.

        Args:
            ids: a batch of sentences; a word's id is the number of its row.
                All ids are alike, that of padding (0) too.

        Returns:
            The row of each id, multiplied by √d_model.
        """
        ### BEGIN SOLUTION
        return self.weight[ids] * math.sqrt(self.weight.size(-1))
        ### END SOLUTION


@other
class EmbeddingByTorch(Embedding):
    def forward(self, ids):
        return F.embedding(ids, self.weight) * self.weight.shape[1] ** 0.5


@other
class EmbeddingByOneHot(Embedding):
    def forward(self, ids):
        vocab_size, d_model = self.weight.shape
        one_hot = F.one_hot(ids, vocab_size).to(self.weight.dtype)
        return one_hot @ (math.sqrt(d_model) * self.weight)


@other
class EmbeddingWordByWord(Embedding):
    def forward(self, ids):
        rows = [self.weight.select(0, i) for i in ids.flatten().tolist()]
        vectors = torch.stack(rows) * len(rows[0]) ** 0.5
        return vectors.view(*ids.shape, -1)


def table_case(note: str, table: Tensor, ids: list[list[int]]) -> Case:
    """Sentences, and a table whose numbers are given."""
    weights = {"weight": table}
    return module_case(
        note, tuple(table.shape), torch.tensor(ids), weights=weights
    )


def draw_ids(draw: Draw) -> Case:
    vocab_size, d_model = draw.size(7, 12), draw.size(2, 6)
    length = draw.size(2, 5)
    ids = [
        [draw.size(0, vocab_size - 1) for _ in range(length)]
        for _ in range(draw.size(1, 3))
    ]
    table = draw.normal(vocab_size, d_model)
    return table_case("random ids", table, ids)


ROWS = torch.tensor(
    [
        [1.0, 2.0, 3.0, 4.0],
        [5.0, 5.0, 5.0, 5.0],
        [0.0, 1.0, 0.0, -1.0],
    ]
)
EXERCISE = exercise_of(
    Embedding,
    section="02_tokens_and_embeddings#why-times-sqrt-d-text-model",
    points=1,
    cases=[
        table_case("a single word, of width 4", ROWS, [[1]]),
        table_case("a word that comes twice", ROWS, [[2, 1, 2]]),
        table_case("padding", ROWS, [[1, 0]]),
        table_case("two sentences", ROWS, [[0, 1, 2], [2, 2, 1]]),
        table_case("width 3", Draw(1).normal(5, 3), [[4, 3], [2, 0]]),
        table_case("width 9", Draw(2).normal(4, 9), [[3, 1, 2]]),
    ],
    draw=draw_ids,
)
