"""Multi-head attention."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case, call
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.attention.scaled_dot_product_attention import (
    scaled_dot_product_attention,
)
from course_exercises.catalogue.multi_head_attention.merge_heads import (
    merge_heads,
)
from course_exercises.catalogue.multi_head_attention.split_heads import (
    split_heads,
)
from course_exercises.engine.exercise import exercise_of, module_case, other
from transformer_course.models.masks import causal_mask, padding_mask


class MultiHead(nn.Module):
    """Several attentions side by side, each on its own projections.

    The four matrices are there, each for all heads at once. Each head is a
    scaled dot-product attention as in chapter 04, for scores of any size, on
    its own section of what they give: ``d_model / n_heads`` numbers of each
    token, as ``split_heads`` cuts them. There is no dropout, and no sum with
    the input.

    Args:
        d_model: width of input and output.
        n_heads: how many heads share it.
    """

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from ``query`` to ``memory``, with every head.

        Args:
            query: the positions that ask.
            memory: the positions to look at, which give keys and values;
                None means the query's own.
            mask: True = may attend; four axes, each as long as in (batch,
                heads, query, key) or 1. None means that all may be looked
                at. Each query may look at one key at least.

        Returns:
            What the heads say, laid side by side and mixed by the output
            matrix.
        """
        ### BEGIN SOLUTION
        seen = query if memory is None else memory
        q, k, v = self.to_query(query), self.to_key(seen), self.to_value(seen)
        q, k, v = (split_heads(x, self.n_heads) for x in [q, k, v])
        answers, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(merge_heads(answers))
        ### END SOLUTION


@other
class InSteps(MultiHead):
    def forward(self, query, memory=None, mask=None):
        source = query if memory is None else memory
        q, k, v = (
            torch.stack(project(x).chunk(self.n_heads, dim=-1), dim=1)
            for project, x in (
                (self.to_query, query),
                (self.to_key, source),
                (self.to_value, source),
            )
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        answers = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), v)
        return self.to_output(torch.cat(answers.unbind(1), dim=-1))


@other
class SumOfHeads(MultiHead):
    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        width = query.size(-1) // self.n_heads
        output = 0
        for i in range(self.n_heads):
            rows = slice(i * width, (i + 1) * width)
            q = query @ self.to_query.weight[rows].T
            k = memory @ self.to_key.weight[rows].T
            v = memory @ self.to_value.weight[rows].T
            own = mask if mask is None else mask[:, i % mask.size(1)]
            answer, _ = scaled_dot_product_attention(q, k, v, own)
            output = output + answer @ self.to_output.weight[:, rows].T
        return output


@other
class Fused(MultiHead):
    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        batch, length, d_model = query.shape

        def split(x):
            x = x.view(batch, -1, self.n_heads, d_model // self.n_heads)
            return x.transpose(1, 2)

        answers = F.scaled_dot_product_attention(
            split(self.to_query(query)),
            split(self.to_key(memory)),
            split(self.to_value(memory)),
            mask,
        )
        merged = answers.transpose(1, 2).contiguous()
        return self.to_output(merged.view(batch, length, d_model))


def attend(query, key, value, mask=None, hidden=-torch.inf, axis=-1):
    """Attention with the options that mistakes choose from."""
    scores = query @ key.mT / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, hidden)
    weights = scores.softmax(axis)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value), weights


BY_HAND = "W_Q = I, W_K = 2I, W_V = 10I, W_O = -I"
FACTORS = {"to_query": 1.0, "to_key": 2.0, "to_value": 10.0, "to_output": -1.0}
TWO_TOKENS = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])


def small_by_hand(candidate, given: Case) -> Tensor:
    """Call the module; its matrices of width 2 are multiples of I."""
    if given.build[0] > 2:
        return call(candidate, given)
    module = candidate(*given.build)
    for name, factor in FACTORS.items():
        with torch.no_grad():
            module.get_parameter(f"{name}.weight").copy_(factor * torch.eye(2))
    return module(*given.args, **given.kwargs)


def draw_attention(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 3), draw.size(2, 4)
    batch, query, key = draw.size(1, 3), draw.size(2, 4), draw.size(2, 5)
    width = n_heads * d_head
    x, memory = (
        draw.normal(batch, query, width),
        draw.normal(batch, key, width),
    )
    mask = draw.mask(batch, 1, 1, key)
    mask[..., 0] = True
    note = "random numbers, a memory and padding"
    return module_case(note, (width, n_heads), x, memory, mask)


EXERCISE = exercise_of(
    MultiHead,
    section="07_multi_head_attention#the-formula-and-its-sizes",
    points=3,
    cases=[
        module_case(f"two heads, {BY_HAND}", (2, 2), TWO_TOKENS),
        module_case(f"one head, {BY_HAND}", (2, 1), TWO_TOKENS),
        module_case(
            f"a memory, {BY_HAND}",
            (2, 2),
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[[3.0, 0.0], [0.0, 1.0]]]),
        ),
        module_case(
            f"padding, {BY_HAND}",
            (2, 2),
            TWO_TOKENS,
            None,
            padding_mask(torch.tensor([[5, 0]])),
        ),
        module_case(f"large scores, {BY_HAND}", (2, 2), 10 * TWO_TOKENS),
        module_case(
            f"a large score hidden, {BY_HAND}",
            (2, 2),
            torch.tensor([[[100.0, 1.0], [-100.0, 0.0]]]),
            None,
            torch.tensor([False, True])[None, None, None],
        ),
        module_case(
            "drawn matrices, one head", (3, 1), Draw(1).normal(1, 2, 3)
        ),
        module_case(
            "drawn matrices, two heads", (4, 2), Draw(2).normal(1, 3, 4)
        ),
        module_case(
            "a memory as long as the query",
            (4, 2),
            Draw(3).normal(1, 3, 4),
            Draw(4).normal(1, 3, 4),
        ),
        module_case(
            "the future hidden",
            (4, 2),
            Draw(5).normal(2, 3, 4),
            None,
            causal_mask(3),
        ),
        module_case(
            "three heads, one sentence padded",
            (6, 3),
            Draw(6).normal(2, 3, 6),
            None,
            padding_mask(torch.tensor([[5, 6, 7], [8, 0, 0]])),
        ),
        module_case(
            "a mask of its own for each head",
            (4, 2),
            Draw(7).normal(1, 2, 4),
            None,
            torch.stack([causal_mask(2)[0, 0], causal_mask(2)[0, 0].T])[None],
        ),
    ],
    draw=draw_attention,
    run=small_by_hand,
)
