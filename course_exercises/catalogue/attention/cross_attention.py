"""Cross-attention with one head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.attention import (
    scaled_dot_product_attention as attention,
)
from course_exercises.engine.exercise import exercise_of, module_case, other

scaled_dot_product_attention = attention.scaled_dot_product_attention


class CrossAttention(nn.Module):
    """One head of cross-attention, with its three projections.

    Section 3.2.3 of the paper, "encoder-decoder attention", with a single
    head, whose scores are divided by √d_head, and may be large. No mask, and
    nothing after the head: no residual, no projection, no dropout.

    Args:
        d_model: width of the rows that come in, of both sentences.
        d_head: width of queries, keys and values.
    """

    def __init__(self, d_model: int, d_head: int):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(
        self,
        tgt: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
    ) -> tuple[
        Float[Tensor, "batch target d_head"],
        Float[Tensor, "batch target source"],
    ]:
        """Let each word of the target look at the words of the source.

        Args:
            tgt: the decoder's rows, one for each word of the target.
            memory: the encoder's output, one row for each word of the
                source.

        Returns:
            Two tensors: what each word of the target has fetched; then the
            weights, of which each row sums to one.
        """
        ### BEGIN SOLUTION
        query = self.to_query(tgt)
        key = self.to_key(memory)
        value = self.to_value(memory)
        scores = query @ key.mT / query.size(-1) ** 0.5
        weights = scores.softmax(dim=-1)
        return weights @ value, weights
        ### END SOLUTION


@other
class CrossByHand(CrossAttention):
    def forward(self, tgt, memory):
        query = tgt @ self.to_query.weight.T
        key = memory @ self.to_key.weight.T
        scores = torch.einsum("btd,bsd->bts", query, key)
        weights = (scores * key.size(-1) ** -0.5).softmax(dim=2)
        return torch.bmm(weights, memory) @ self.to_value.weight.T, weights


@other
class CrossByOneMatrix(CrossAttention):
    def forward(self, tgt, memory):
        between = self.to_query.weight.T @ self.to_key.weight
        scores = tgt @ between @ memory.mT
        weights = (scores / self.to_key.out_features**0.5).softmax(dim=-1)
        return weights @ self.to_value(memory), weights


@other
class CrossSentenceBySentence(CrossAttention):
    def forward(self, tgt, memory):
        projected = zip(
            self.to_query(tgt),
            self.to_key(memory),
            self.to_value(memory),
            strict=True,
        )
        results = [scaled_dot_product_attention(*parts) for parts in projected]
        outputs, weights = zip(*results, strict=True)
        return torch.stack(outputs), torch.stack(weights)


def draw_sentences(draw: Draw) -> Case:
    d_model, d_head = draw.size(2, 6), draw.size(2, 5)
    batch, target, source = draw.size(1, 3), draw.size(2, 5), draw.size(2, 5)
    return module_case(
        "random sentences",
        (d_model, d_head),
        2 * draw.normal(batch, target, d_model),
        2 * draw.normal(batch, source, d_model),
    )


EXERCISE = exercise_of(
    CrossAttention,
    section="04_attention#one-formula-different-sources",
    points=2,
    cases=[
        module_case(
            "one word asks two",
            (2, 2),
            torch.tensor([[[2.0, -3.0]]]),
            torch.tensor([[[2.0, 1.0], [-1.0, 3.0]]]),
        ),
        module_case(
            "two words ask two: no length tells them apart",
            (2, 2),
            torch.tensor([[[2.0, -3.0], [0.0, 2.0]]]),
            torch.tensor([[[2.0, 1.0], [-1.0, 3.0]]]),
        ),
        module_case(
            "a narrow head",
            (4, 2),
            2 * Draw(55).normal(1, 2, 4),
            2 * Draw(56).normal(1, 3, 4),
        ),
        module_case(
            "a head wider than the model",
            (2, 3),
            2 * Draw(57).normal(1, 3, 2),
            2 * Draw(58).normal(1, 2, 2),
        ),
        module_case(
            "a batch of two, three words of target and four of source",
            (4, 4),
            2 * Draw(59).normal(2, 3, 4),
            2 * Draw(60).normal(2, 4, 4),
        ),
        module_case(
            "large scores",
            (2, 2),
            torch.tensor([[[2000.0, -3000.0], [0.0, 2.0]]]),
            torch.tensor([[[200.0, 100.0], [-100.0, 300.0]]]),
        ),
    ],
    draw=draw_sentences,
)
