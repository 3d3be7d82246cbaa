"""Causal self-attention with rotary positions and grouped heads."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.masks.causal_mask import causal_mask
from course_exercises.catalogue.multi_head_attention.merge_heads import (
    merge_heads,
)
from course_exercises.catalogue.multi_head_attention.split_heads import (
    split_heads,
)
from course_exercises.engine.exercise import exercise_of, module_case, other

from .grouped_attention import grouped_attention
from .rotary import rotary


class GroupedHeads(nn.Module):
    """Causal self-attention of a decoder of today.

    As ``MultiHead`` of chapter 07, with three changes: there are fewer heads
    of keys and values than of queries; queries and keys are turned by their
    positions, head by head; and each position looks at itself and at what
    came before, so there is nothing to hand over but the stream. The matrices
    are there. There is no dropout, and no sum with the input.

    Args:
        d_model: width of input and output.
        n_heads: heads of queries; each is ``d_model / n_heads`` wide.
        n_kv_heads: heads of keys, and of values; each is as wide, and shared
            by a group of neighbouring query heads.
        base: of the rotary positions.
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, base: float
    ):
        super().__init__()
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.base = base
        shared = d_model // n_heads * n_kv_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, shared, bias=False)
        self.to_value = nn.Linear(d_model, shared, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Let each position take from itself and from those before it.

        Args:
            x: texts, from position 0 on.

        Returns:
            What the heads say, laid side by side and mixed by the output
            matrix; on the device of x.
        """
        ### BEGIN SOLUTION
        query = split_heads(self.to_query(x), self.n_heads)
        key = split_heads(self.to_key(x), self.n_kv_heads)
        value = split_heads(self.to_value(x), self.n_kv_heads)
        positions = torch.arange(x.size(1), device=x.device)
        query = rotary(query, positions, self.base)
        key = rotary(key, positions, self.base)
        mask = causal_mask(x.size(1)).to(x.device)
        answers = grouped_attention(query, key, value, mask)
        return self.to_output(merge_heads(answers))
        ### END SOLUTION


@other
class Fused(GroupedHeads):
    def forward(self, x):
        width = x.size(-1) // self.n_heads
        q, k, v = (
            project(x).unflatten(-1, (-1, width)).transpose(1, 2)
            for project in (self.to_query, self.to_key, self.to_value)
        )
        places = torch.arange(x.size(1))
        q, k = (rotary(heads, places, self.base) for heads in (q, k))
        answers = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=True
        )
        return self.to_output(answers.transpose(1, 2).flatten(2))


@other
class SumOfHeads(GroupedHeads):
    def forward(self, x):
        width, output = x.size(-1) // self.n_heads, 0
        past = torch.ones(x.size(1), x.size(1)).tril() == 1
        places = torch.arange(x.size(1))
        for head in range(self.n_heads):
            group = head * self.n_kv_heads // self.n_heads
            rows = slice(head * width, (head + 1) * width)
            own = slice(group * width, (group + 1) * width)
            q = (x @ self.to_query.weight[rows].T)[:, None]
            k = (x @ self.to_key.weight[own].T)[:, None]
            v = x @ self.to_value.weight[own].T
            q, k = (rotary(one, places, self.base)[:, 0] for one in (q, k))
            scores = (q @ k.mT / width**0.5).masked_fill(~past, -torch.inf)
            answer = scores.softmax(dim=-1) @ v
            output = output + answer @ self.to_output.weight[:, rows].T
        return output


@other
class WordByWord(GroupedHeads):
    def forward(self, x):
        keys, values, words = [], [], []
        for place, word in enumerate(x.split(1, dim=1)):
            at = torch.tensor([place])
            query = split_heads(self.to_query(word), self.n_heads)
            key = split_heads(self.to_key(word), self.n_kv_heads)
            keys.append(rotary(key, at, self.base))
            values.append(split_heads(self.to_value(word), self.n_kv_heads))
            query = rotary(query, at, self.base)
            seen = torch.cat(keys, dim=2), torch.cat(values, dim=2)
            words.append(merge_heads(grouped_attention(query, *seen)))
        return self.to_output(torch.cat(words, dim=1))


def text_case(note: str, build: tuple, *shape: int, seed: int) -> Case:
    """A drawn stream for heads of these sizes."""
    return module_case(note, build, Draw(seed).normal(*shape, build[0]))


def draw_text(draw: Draw) -> Case:
    groups, each, d_head = draw.size(1, 2), draw.size(2, 3), 4
    d_model = groups * each * d_head
    build = d_model, groups * each, groups, draw.choice([500.0, 10_000.0])
    x = draw.normal(draw.size(1, 2), draw.size(3, 5), d_model)
    return module_case("a random text", build, x)


EXERCISE = exercise_of(
    GroupedHeads,
    section="22_since_2017#what-the-cache-costs",
    points=3,
    cases=[
        text_case("one word", (4, 2, 1, 100.0), 1, 1, seed=1),
        text_case("two words", (4, 2, 1, 100.0), 1, 2, seed=2),
        text_case("a head for each group", (4, 2, 2, 100.0), 1, 3, seed=3),
        text_case("four heads, two groups", (8, 4, 2, 100.0), 1, 3, seed=4),
        text_case("wider heads", (8, 2, 1, 100.0), 1, 4, seed=5),
        text_case("another base", (8, 2, 1, 5000.0), 1, 4, seed=5),
        text_case("two texts", (12, 6, 3, 500.0), 2, 5, seed=6),
    ],
    draw=draw_text,
    tolerance=1e-4,
)
