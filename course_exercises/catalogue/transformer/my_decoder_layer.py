"""Decoder layer."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.catalogue.add_and_norm.add_norm import AddNorm
from course_exercises.catalogue.feed_forward.feed_forward import FeedForward
from course_exercises.catalogue.transformer import SIZES, real_keys
from course_exercises.engine.exercise import exercise_of, module_case, other

from ..masks.causal_mask import causal_mask
from ..multi_head_attention.multi_head import MultiHead


class MyDecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward, in post-norm.

    Each is followed by an ``AddNorm``, called as ``add_norm(x, answer)``: it
    normalises the sum of what a part has read and what it answers. They are
    numbered in this order. There is no dropout.

    Attention is called as ``attention(query, memory, mask=mask)``, without a
    memory if it looks at the query itself. It returns one tensor, of the
    shape of the query; so does the feed-forward part, called with ``x``.
    None of them adds what it has read.

    Args:
        d_model: width of the stream.
        n_heads: number of heads.
        d_ff: width inside the feed-forward part.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int):
        super().__init__()
        self.self_attention = MultiHead(d_model, n_heads)
        self.cross_attention = MultiHead(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.add_norm_1 = AddNorm(d_model)
        self.add_norm_2 = AddNorm(d_model)
        self.add_norm_3 = AddNorm(d_model)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        mask: Bool[Tensor, "..."],
        src_mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "batch target d_model"]:
        """One step of the decoder's stream.

        Args:
            x: the stream, a vector for each word of the target.
            memory: what the encoder has made of the source.
            mask: which target words each target word may look at; True =
                may attend. It hides the future already.
            src_mask: which words of the source may be looked at, likewise: it
                hides the padding.

        Returns:
            The stream after all three parts.
        """
        ### BEGIN SOLUTION
        said = self.add_norm_1(x, self.self_attention(x, mask=mask))
        across = self.cross_attention(said, memory, mask=src_mask)
        heard = self.add_norm_2(said, across)
        return self.add_norm_3(heard, self.feed_forward(heard))
        ### END SOLUTION


@other
class DecoderInSteps(MyDecoderLayer):
    def forward(self, x, memory, mask, src_mask):
        x = self.add_norm_1(x, self.self_attention(x, x, mask=mask))
        x = self.add_norm_2(x, self.cross_attention(x, memory, src_mask))
        return self.add_norm_3.norm(x + self.feed_forward(x))


@other
class DecoderByLoop(MyDecoderLayer):
    def forward(self, x, memory, mask, src_mask):
        steps = [
            lambda y: self.self_attention(y, mask=mask),
            lambda y: self.cross_attention(y, memory, mask=src_mask),
            self.feed_forward,
        ]
        sums = [self.add_norm_1, self.add_norm_2, self.add_norm_3]
        for step, add_norm in zip(steps, sums, strict=True):
            x = add_norm(step(x), x)
        return x


def decoder_case(
    note: str, seed: int, target: int, lengths: list[int], longest: int
) -> Case:
    """Targets of one length, under a causal mask, and padded sources."""
    draw = Draw(seed)
    return module_case(
        note,
        SIZES,
        draw.normal(len(lengths), target, SIZES[0]),
        draw.normal(len(lengths), longest, SIZES[0]),
        causal_mask(target),
        real_keys(lengths, longest),
    )


def draw_decoder(draw: Draw) -> Case:
    lengths = [draw.size(1, 3) for _ in range(draw.size(1, 3))]
    target, seed = draw.size(2, 4), draw.size(0, 1000)
    return decoder_case("random numbers", seed, target, lengths, 4)


EXERCISE = exercise_of(
    MyDecoderLayer,
    section="10_transformer#build-it",
    points=3,
    cases=[
        decoder_case("one word on each side", 1, 1, [1], 1),
        decoder_case("two target words, one source word", 2, 2, [1], 1),
        decoder_case("one target word, two source words", 3, 1, [2], 2),
        decoder_case("both sides equally long", 4, 2, [2], 2),
        decoder_case("the source is padded", 5, 2, [1], 2),
        decoder_case("a padded source of the target's length", 6, 3, [2], 3),
        decoder_case("two sentences", 7, 3, [2, 4], 4),
    ],
    draw=draw_decoder,
)
