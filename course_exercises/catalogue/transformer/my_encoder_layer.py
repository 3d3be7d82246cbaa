"""Encoder layer."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.add_and_norm.add_norm import AddNorm
from course_exercises.catalogue.feed_forward.feed_forward import FeedForward
from course_exercises.catalogue.transformer import SIZES, real_keys
from course_exercises.engine.exercise import exercise_of, module_case, other

from ..multi_head_attention.multi_head import MultiHead


class MyEncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a sum and a norm.

    In post-norm, as in the paper: what is normalised is the sum of what a
    part has read and what it answers. Both are done by an ``AddNorm``, called
    as ``add_norm(x, answer)``; the first one belongs to attention. There is
    no dropout.

    Attention is called as ``attention(query, memory, mask=mask)``, without a
    memory if it looks at the query itself. It returns one tensor, of the
    shape of the query; so does the feed-forward part, called with ``x``.
    Neither adds what it has read.

    Args:
        d_model: width of the stream.
        n_heads: number of heads.
        d_ff: width inside the feed-forward part.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int):
        super().__init__()
        self.self_attention = MultiHead(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_1 = AddNorm(d_model)
        self.add_norm_2 = AddNorm(d_model)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "batch length d_model"]:
        """One step of the encoder's stream.

        Args:
            x: the stream.
            mask: True = may attend; hides the padding. It can be handed on
                as it is.

        Returns:
            The stream after both parts.
        """
        ### BEGIN SOLUTION
        heard = self.add_norm_1(x, self.self_attention(x, mask=mask))
        return self.add_norm_2(heard, self.feed_forward(heard))
        ### END SOLUTION


@other
class EncoderByLoop(MyEncoderLayer):
    def forward(self, x, mask):
        for add_norm, part in (
            (self.add_norm_1, lambda y: self.self_attention(y, y, mask)),
            (self.add_norm_2, self.feed_forward),
        ):
            x = add_norm(part(x), x)
        return x


@other
class EncoderBySentence(MyEncoderLayer):
    def forward(self, x, mask):
        masks = mask.expand(len(x), *mask.shape[1:])
        rows = []
        for sentence, own in zip(x.split(1), masks.split(1), strict=True):
            answer = self.self_attention(sentence, mask=own)
            heard = self.add_norm_1.norm(answer + sentence)
            words = [heard[:, i : i + 1] for i in range(x.size(1))]
            done = [self.add_norm_2(w, self.feed_forward(w)) for w in words]
            rows.append(torch.cat(done, dim=1))
        return torch.cat(rows)


def encoder_case(note: str, seed: int, lengths: list[int]) -> Case:
    """Sentences of these lengths, padded."""
    longest = max(lengths)
    x = Draw(seed).normal(len(lengths), longest, SIZES[0])
    return module_case(note, SIZES, x, real_keys(lengths, longest))


def draw_encoder(draw: Draw) -> Case:
    lengths = [draw.size(1, 4) for _ in range(draw.size(2, 3))]
    x = draw.normal(len(lengths), 5, SIZES[0])
    mask = real_keys(lengths, 5)
    return module_case("random numbers and padding", SIZES, x, mask)


EXERCISE = exercise_of(
    MyEncoderLayer,
    section="10_transformer#build-it",
    points=2,
    cases=[
        encoder_case("a single word", 1, [1]),
        encoder_case("two words", 2, [2]),
        encoder_case("three words, no padding", 3, [3]),
        encoder_case("two sentences, one padded", 4, [3, 1]),
        module_case(
            "padding on the left",
            SIZES,
            Draw(5).normal(1, 3, 4),
            torch.tensor([[[[False, False, True]]]]),
        ),
        encoder_case("three sentences", 6, [2, 5, 4]),
    ],
    draw=draw_encoder,
)
