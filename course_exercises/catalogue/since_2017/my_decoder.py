"""A decoder of today, whole."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import exercise_of, module_case, other

from .my_modern_layer import MyModernLayer
from .rms_norm import RMSNorm


class MyDecoder(nn.Module):
    """A language model as SmolLM2 is built, whose weights fit into it.

    An embedding, which is not scaled, and to which no positions are added;
    layers; a last norm; and the logits, for which the matrix of the
    embedding serves once more. The names of the parts are those under which
    the course keeps such weights.

    Args:
        vocab_size: number of pieces in the vocabulary.
        d_model: width of the stream.
        n_heads: heads of queries.
        n_kv_heads: heads of keys and values.
        d_ff: width inside the feed-forward parts.
        n_layers: number of layers.
        base: of the rotary positions.
        epsilon: of the norms.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_ff: int,
        n_layers: int,
        base: float = 10_000.0,
        epsilon: float = 1e-5,
    ):
        super().__init__()
        sizes = d_model, n_heads, n_kv_heads, d_ff, base, epsilon
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            MyModernLayer(*sizes) for _ in range(n_layers)
        )
        self.norm = RMSNorm(d_model, epsilon)
        self.to_logits = nn.Linear(d_model, vocab_size, bias=False)
        self.to_logits.weight = self.embedding.weight

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Say at each position which piece comes next.

        Args:
            ids: texts, from their first piece on.

        Returns:
            A logit for each piece of the vocabulary, at each position.
        """
        ### BEGIN SOLUTION
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        return self.to_logits(self.norm(x))
        ### END SOLUTION


@other
class DecoderByReduce(MyDecoder):
    def forward(self, ids):
        whole = nn.Sequential(self.embedding, *self.layers, self.norm)
        return whole(ids) @ self.embedding.weight.T


@other
class DecoderByText(MyDecoder):
    def forward(self, ids):
        rows = []
        for text in ids:
            x = F.embedding(text, self.embedding.weight)[None]
            for i in range(len(self.layers)):
                x = self.layers[i](x)
            rows.append(F.linear(self.norm(x), self.to_logits.weight))
        return torch.cat(rows)


def text_case(note: str, ids: list, n_layers: int = 1) -> Case:
    """Ids for a model of width 4, with two heads and one group."""
    build = 7, 4, 2, 1, 6, n_layers, 100.0
    return module_case(note, build, torch.tensor(ids))


def draw_texts(draw: Draw) -> Case:
    build = draw.size(7, 9), 8, 4, 2, 12, draw.size(1, 3), 500.0
    ids = draw.ids(draw.size(2, 3), draw.size(2, 5), vocab_size=build[0])
    return module_case("random texts", build, ids)


EXERCISE = exercise_of(
    MyDecoder,
    section="22_since_2017#a-model-of-today",
    points=2,
    cases=[
        text_case("one piece", [[3]]),
        text_case("three pieces", [[3, 5, 1]]),
        text_case("the same piece three times", [[4, 4, 4]]),
        text_case("two layers", [[3, 5, 1]], 2),
        text_case("two texts, three layers", [[3, 5, 1, 6], [2, 2, 4, 0]], 3),
    ],
    draw=draw_texts,
    tolerance=1e-4,
)
