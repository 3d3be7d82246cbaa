"""Exercises of chapter 10: layers and stacks of the Transformer."""

import copy
import itertools
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.attention import MultiHeadAttention
from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    build_and_call,
    module_case,
    see,
)
from transformer_course.layers import AddNorm, FeedForward, LayerNorm
from transformer_course.masks import causal_mask

BUILD = "10_transformer#build-it"
BREAK = "10_transformer#break-it"
WEIGHTS = "10_transformer#must-each-layer-have-its-own-weights"
PLACES = "08_add_and_norm#two-places-for-the-norm"
WORD = "08_add_and_norm#the-word-itself"
CONVENTIONS = "06_masks#everybodys-conventions"

SIZES = (4, 2, 8)
"""d_model, heads and d_ff of the layers that are tried."""


def real_keys(lengths: list[int], longest: int) -> Tensor:
    """A padding mask for sentences of these lengths."""
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return real[:, None, None]


# --- MyEncoderLayer ----------------------------------------------------------


class MyEncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a sum and a norm.

    In post-norm, as in the paper: a norm is given the sum of what a part has
    read and what it answers. The first norm belongs to attention. There is
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
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)

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
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_2(x + self.feed_forward(x))
        ### END SOLUTION


class EncoderByAddNorm(MyEncoderLayer):
    def forward(self, x, mask):
        for norm, sublayer in (
            (self.norm_1, lambda y: self.self_attention(y, y, mask=mask)),
            (self.norm_2, self.feed_forward),
        ):
            around = AddNorm(x.size(-1))
            around.norm = norm
            x = around(x, sublayer)
        return x


class EncoderBySentence(MyEncoderLayer):
    def forward(self, x, mask):
        masks = mask.expand(len(x), *mask.shape[1:])
        rows = []
        for sentence, own in zip(x.split(1), masks.split(1), strict=True):
            answer = self.self_attention(sentence, mask=own)
            heard = self.norm_1(answer + sentence)
            words = [heard[:, i : i + 1] for i in range(x.size(1))]
            done = [self.norm_2(self.feed_forward(w) + w) for w in words]
            rows.append(torch.cat(done, dim=1))
        return torch.cat(rows)


@see("06_masks#the-padding-mask-by-hand")
class EncoderSeesPadding(MyEncoderLayer):
    """Your self-attention gets no mask: words look at padding.

    A sentence then comes out differently, depending on how far it was filled
    up. Such a model still learns, so that nothing in training tells you.
    """

    def forward(self, x, mask):
        return super().forward(x, torch.ones_like(mask))


@see(CONVENTIONS)
class EncoderMaskInverted(MyEncoderLayer):
    """Your self-attention looks at nothing but padding.

    In this course True says that a key *may be* attended to, and so says
    `MultiHeadAttention` of the package. (That of PyTorch wants the
    opposite.)
    """

    def forward(self, x, mask):
        return super().forward(x, ~mask)


class EncoderMaskAsMemory(MyEncoderLayer):
    """You hand the mask over as the second argument of attention.

    That is the *memory*: the positions to look at. The mask goes by its
    name, `mask`.
    """

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask))
        return self.norm_2(x + self.feed_forward(x))


@see(PLACES)
class EncoderInPreNorm(MyEncoderLayer):
    """Your layer is pre-norm: you normalise what the parts *read*.

    Many models are built so, and weights of one do not fit the other. Asked
    for is the paper's way, which normalises the sums.
    """

    def forward(self, x, mask):
        x = x + self.self_attention(self.norm_1(x), mask=mask)
        return x + self.feed_forward(self.norm_2(x))


@see(WORD)
class EncoderWithoutSums(MyEncoderLayer):
    """You never add what was there before: both residual connections are
    missing.

    Each part's answer replaces the stream, and the word itself is lost.
    """

    def forward(self, x, mask):
        x = self.norm_1(self.self_attention(x, mask=mask))
        return self.norm_2(self.feed_forward(x))


@see(BREAK)
class EncoderFirstSumForgotten(MyEncoderLayer):
    """You do not add the stream to what attention says.

    The residual connection around the feed-forward part is there, the first
    one is missing.
    """

    def forward(self, x, mask):
        x = self.norm_1(self.self_attention(x, mask=mask))
        return self.norm_2(x + self.feed_forward(x))


@see(BREAK)
class EncoderSecondSumForgotten(MyEncoderLayer):
    """You do not add the stream to what the feed-forward part says.

    The residual connection around attention is there, the second one is
    missing.
    """

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_2(self.feed_forward(x))


class EncoderAddsTheInput(MyEncoderLayer):
    """Your second sum adds what entered the *layer*.

    What attention has brought then reaches the next layer only through the
    feed-forward part. The second sum keeps what the first norm has given.
    """

    def forward(self, x, mask):
        heard = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_2(x + self.feed_forward(heard))


class EncoderPartsInParallel(MyEncoderLayer):
    """Your feed-forward part reads what entered the *layer*.

    It works beside attention, then, and not after it: it never hears what
    attention has found.
    """

    def forward(self, x, mask):
        heard = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_2(heard + self.feed_forward(x))


class EncoderFeedForwardFirst(MyEncoderLayer):
    """Your feed-forward part comes before attention.

    First a word hears the others, then something is made of it.
    """

    def forward(self, x, mask):
        x = self.norm_1(x + self.feed_forward(x))
        return self.norm_2(x + self.self_attention(x, mask=mask))


class EncoderOfOneNorm(MyEncoderLayer):
    """You use the same norm twice.

    Each sum has a norm of its own, with a gain and a bias to be learned.
    """

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_1(x + self.feed_forward(x))


class EncoderNormsSwapped(MyEncoderLayer):
    """You use the two norms in the wrong order.

    A fresh layer does not notice, since both begin alike. Trained weights
    do.
    """

    def forward(self, x, mask):
        x = self.norm_2(x + self.self_attention(x, mask=mask))
        return self.norm_1(x + self.feed_forward(x))


@see("08_add_and_norm#through-many-layers")
class EncoderWithoutNorms(MyEncoderLayer):
    """You add, but you never normalise.

    Through many layers the stream would grow without end.
    """

    def forward(self, x, mask):
        x = x + self.self_attention(x, mask=mask)
        return x + self.feed_forward(x)


class EncoderFirstNormForgotten(MyEncoderLayer):
    """You normalise once, at the end of the layer.

    Each of the two sums has a norm behind it.
    """

    def forward(self, x, mask):
        x = x + self.self_attention(x, mask=mask)
        return self.norm_2(x + self.feed_forward(x))


class EncoderLastNormForgotten(MyEncoderLayer):
    """You do not normalise your second sum.

    Each of the two sums has a norm behind it.
    """

    def forward(self, x, mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return x + self.feed_forward(x)


@see(PLACES)
class EncoderAnswersNormed(MyEncoderLayer):
    """You normalise what each part answers, and add it then.

    The sums themselves are never normalised, so that the stream grows.
    Post-norm normalises the sum.
    """

    def forward(self, x, mask):
        x = x + self.norm_1(self.self_attention(x, mask=mask))
        return x + self.norm_2(self.feed_forward(x))


@see(PLACES)
class EncoderNormsWhatItReads(MyEncoderLayer):
    """You normalise before each part, and keep what was normalised.

    That is neither pre-norm, where the stream itself goes straight on, nor
    post-norm, where the sum is normalised: the last sum has no norm.
    """

    def forward(self, x, mask):
        x = self.norm_1(x)
        x = self.norm_2(x + self.self_attention(x, mask=mask))
        return x + self.feed_forward(x)


def encoder_case(note: str, seed: int, lengths: list[int]) -> Case:
    """Sentences of these lengths, filled up."""
    longest = max(lengths)
    x = Draw(seed).normal(len(lengths), longest, SIZES[0])
    return module_case(note, SIZES, x, real_keys(lengths, longest))


def draw_encoder(draw: Draw) -> Case:
    lengths = [draw.size(1, 4) for _ in range(draw.size(2, 3))]
    x = draw.normal(len(lengths), 5, SIZES[0])
    mask = real_keys(lengths, 5)
    return module_case("random numbers and padding", SIZES, x, mask)


ENCODER_LAYER = Exercise(
    solution=MyEncoderLayer,
    section=BUILD,
    points=2,
    hints=(
        "Two steps that look alike: a part reads the stream, its answer is "
        "added to what it has read, the sum is normalised. Which part needs "
        "the mask?",
        "Give the stream one name, and replace it by each step's result: "
        "what the second part reads is what the first norm gave, and that is "
        "also what is added to its answer.",
    ),
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
    others=[EncoderByAddNorm, EncoderBySentence],
    mistakes=[
        EncoderSeesPadding,
        EncoderMaskInverted,
        EncoderMaskAsMemory,
        EncoderInPreNorm,
        EncoderWithoutSums,
        EncoderFirstSumForgotten,
        EncoderSecondSumForgotten,
        EncoderAddsTheInput,
        EncoderPartsInParallel,
        EncoderFeedForwardFirst,
        EncoderOfOneNorm,
        EncoderNormsSwapped,
        EncoderWithoutNorms,
        EncoderFirstNormForgotten,
        EncoderLastNormForgotten,
        EncoderAnswersNormed,
        EncoderNormsWhatItReads,
    ],
    run=build_and_call,
)

# --- MyDecoderLayer ----------------------------------------------------------


class MyDecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward, in post-norm.

    Each has a sum and a norm; the norms are numbered in this order. A norm is
    given the sum of the stream and what a part answers. There is no dropout.

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
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1 = LayerNorm(d_model)
        self.norm_2 = LayerNorm(d_model)
        self.norm_3 = LayerNorm(d_model)

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
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_2(x + answer)
        return self.norm_3(x + self.feed_forward(x))
        ### END SOLUTION


class DecoderInSteps(MyDecoderLayer):
    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.look_back(x, memory, mask, src_mask))
        x = self.norm_2(x + self.look_across(x, memory, mask, src_mask))
        return self.norm_3(x + self.feed_forward(x))

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x, x, mask=mask)

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory, mask=src_mask)


class DecoderByLoop(MyDecoderLayer):
    def forward(self, x, memory, mask, src_mask):
        steps = [
            lambda y: self.self_attention(y, mask=mask),
            lambda y: self.cross_attention(y, memory, mask=src_mask),
            self.feed_forward,
        ]
        norms = [self.norm_1, self.norm_2, self.norm_3]
        for step, norm in zip(steps, norms, strict=True):
            x = norm(torch.stack([step(x), x]).sum(dim=0))
        return x


@see(BREAK)
class DecoderSeesFuture(DecoderInSteps):
    """Your self-attention gets no mask: a word sees the words after it.

    In training they are there to be read, so that the loss falls; and what
    the model writes is worthless.
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x)


@see(BREAK)
class DecoderWithoutMasks(DecoderInSteps):
    """You use neither mask: words see the future, and the source's padding.

    Self-attention needs the target's mask, cross-attention the source's.
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x)

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory)


@see(CONVENTIONS)
class DecoderSourceMaskInverted(DecoderInSteps):
    """Your cross-attention looks at nothing but the source's padding.

    In this course True says that a key *may be* attended to.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory, mask=~src_mask)


@see(CONVENTIONS)
class DecoderMasksInverted(DecoderInSteps):
    """Both your attentions look at what the masks hide, and only at that.

    In this course True says that a key *may be* attended to, and so says
    `MultiHeadAttention` of the package. (That of PyTorch wants the
    opposite.)
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x, mask=~mask)

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory, mask=~src_mask)


@see(CONVENTIONS)
class DecoderMaskInverted(DecoderInSteps):
    """Your self-attention looks at what the mask hides, and only at that.

    In this course True says that a key *may be* attended to, and so says
    `MultiHeadAttention` of the package.
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x, mask=~mask)


@see(BREAK)
class DecoderSeesSourcePadding(DecoderInSteps):
    """Your cross-attention gets no mask: it looks at the source's padding.

    A translation then depends on how far the source was filled up.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory)


@see(BREAK)
class DecoderNeverReadsSource(DecoderInSteps):
    """Your cross-attention looks at the target, and never at the memory.

    Left alone with its first argument it is self-attention. Nothing of the
    source reaches the layer, and without a mask the future does.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x)


@see(BREAK)
class DecoderTargetForSource(DecoderInSteps):
    """Your cross-attention looks at the target, under the source's mask.

    That ends in an error, unless both are equally long. Keys and values are
    to come from the memory.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, mask=src_mask)


@see(BREAK)
class DecoderMemoryAsks(DecoderInSteps):
    """Your cross-attention has query and memory swapped.

    The source asks, and the target is looked at: its result has a row for
    each *source* word. Where lengths differ, that ends in an error; where
    they are equal, nothing tells you.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(memory, x, mask=src_mask)


@see("06_masks#two-masks-at-once")
class DecoderMasksSwapped(DecoderInSteps):
    """Your two masks are in each other's place.

    Self-attention gets the source's, cross-attention the target's. Unless
    both sides are equally long, that is an error. A mask belongs to the side
    that is *looked at*.
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x, mask=src_mask)

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory, mask=mask)


@see("06_masks#two-masks-at-once")
class DecoderTargetMaskAcross(DecoderInSteps):
    """Your cross-attention has the target's mask.

    Where target and source differ in length, that is an error. Where they
    do not, the first target word sees one source word only, and the source's
    padding is open. The whole source may be read, from the beginning.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.cross_attention(x, memory, mask=mask)


@see(BUILD)
class DecoderSelfAttentionOfSource(DecoderInSteps):
    """Your *self*-attention looks at the memory as well.

    The target's words then never see each other. Self-attention has one
    sequence: in the decoder, the target.
    """

    def look_back(self, x, memory, mask, src_mask):
        return self.self_attention(x, memory, mask=src_mask)


class DecoderWithoutCrossAttention(MyDecoderLayer):
    """You leave cross-attention out, and its norm: nothing of the source is
    read.

    What is left is the layer of a model that only continues a text.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        return self.norm_3(x + self.feed_forward(x))


class DecoderCrossFirst(MyDecoderLayer):
    """Your cross-attention comes before self-attention.

    A word first looks back at what has been said, and asks the source then.
    """

    def forward(self, x, memory, mask, src_mask):
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_1(x + answer)
        x = self.norm_2(x + self.self_attention(x, mask=mask))
        return self.norm_3(x + self.feed_forward(x))


class DecoderOfOneAttention(DecoderInSteps):
    """You look at the source with the weights of self-attention.

    `cross_attention` is never used. They are two parts, and learn different
    things.
    """

    def look_across(self, x, memory, mask, src_mask):
        return self.self_attention(x, memory, mask=src_mask)


@see(PLACES)
class DecoderInPreNorm(MyDecoderLayer):
    """Your layer is pre-norm: you normalise what the parts *read*.

    Many models are built so. Asked for is the paper's way, which normalises
    the sums.
    """

    def forward(self, x, memory, mask, src_mask):
        x = x + self.self_attention(self.norm_1(x), mask=mask)
        asking = self.norm_2(x)
        x = x + self.cross_attention(asking, memory, mask=src_mask)
        return x + self.feed_forward(self.norm_3(x))


@see(WORD)
class DecoderWithoutSums(MyDecoderLayer):
    """You never add what was there before: all three residual connections
    are missing.

    Each part's answer replaces the stream, and the word itself is lost.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(self.self_attention(x, mask=mask))
        x = self.norm_2(self.cross_attention(x, memory, mask=src_mask))
        return self.norm_3(self.feed_forward(x))


@see(WORD)
class DecoderCrossReplaces(MyDecoderLayer):
    """What cross-attention says *replaces* the stream.

    Its residual connection is missing, and with it all that the target's
    words have said so far. The other two are there.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = self.norm_2(self.cross_attention(x, memory, mask=src_mask))
        return self.norm_3(x + self.feed_forward(x))


class DecoderWithoutFeedForward(MyDecoderLayer):
    """You leave the feed-forward part out, and the third norm.

    Half of the layer's weights are never used.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        return self.norm_2(x + answer)


class DecoderAsksTheInput(MyDecoderLayer):
    """Your cross-attention asks with what entered the *layer*.

    Then it knows nothing of what the target's words have told each other.
    It is to ask with what the first norm has given.
    """

    def forward(self, x, memory, mask, src_mask):
        heard = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_2(heard + answer)
        return self.norm_3(x + self.feed_forward(x))


class DecoderPartsInParallel(MyDecoderLayer):
    """Your two attentions read the same stream, and are added together.

    Cross-attention comes *after* self-attention and its norm: it asks with
    what the target's words have told each other. Each of the two has a sum
    and a norm of its own.
    """

    def forward(self, x, memory, mask, src_mask):
        own = self.self_attention(x, mask=mask)
        across = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_1(x + own + across)
        return self.norm_3(x + self.feed_forward(x))


class DecoderLastNormOnly(MyDecoderLayer):
    """You normalise once, at the end of the layer.

    Each of the three sums has a norm behind it.
    """

    def forward(self, x, memory, mask, src_mask):
        x = x + self.self_attention(x, mask=mask)
        x = x + self.cross_attention(x, memory, mask=src_mask)
        return self.norm_3(x + self.feed_forward(x))


class DecoderSecondNormForgotten(MyDecoderLayer):
    """You do not normalise the sum around cross-attention.

    Each of the three sums has a norm behind it.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        x = x + self.cross_attention(x, memory, mask=src_mask)
        return self.norm_3(x + self.feed_forward(x))


class DecoderThirdNormForgotten(MyDecoderLayer):
    """You do not normalise your last sum.

    Each of the three sums has a norm behind it.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_2(x + answer)
        return x + self.feed_forward(x)


class DecoderNormsSwapped(MyDecoderLayer):
    """You use the second and the third norm in each other's place.

    A fresh layer does not notice, since all norms begin alike. Trained
    weights do.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_3(x + answer)
        return self.norm_2(x + self.feed_forward(x))


class DecoderOfOneNorm(MyDecoderLayer):
    """You use the same norm three times.

    Each sum has a norm of its own, with a gain and a bias to be learned.
    """

    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, mask=mask))
        answer = self.cross_attention(x, memory, mask=src_mask)
        x = self.norm_1(x + answer)
        return self.norm_1(x + self.feed_forward(x))


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


DECODER_LAYER = Exercise(
    solution=MyDecoderLayer,
    section=BUILD,
    points=3,
    hints=(
        "Draw a decoder layer as in chapter 10, with its three parts. At each "
        "arrow write whether it carries target or source, and beside each "
        "attention which side it looks *at*: the mask belongs to that side.",
        "Three steps of the same shape: a part's answer is added to the "
        "stream, and the sum is normalised. In the second one the stream "
        "asks, and the memory is looked at. Masks go by the name `mask`.",
    ),
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
    others=[DecoderInSteps, DecoderByLoop],
    mistakes=[
        DecoderSeesFuture,
        DecoderWithoutMasks,
        DecoderMaskInverted,
        DecoderSourceMaskInverted,
        DecoderMasksInverted,
        DecoderSeesSourcePadding,
        DecoderNeverReadsSource,
        DecoderTargetForSource,
        DecoderMemoryAsks,
        DecoderMasksSwapped,
        DecoderTargetMaskAcross,
        DecoderSelfAttentionOfSource,
        DecoderWithoutCrossAttention,
        DecoderCrossFirst,
        DecoderOfOneAttention,
        DecoderInPreNorm,
        DecoderWithoutSums,
        DecoderCrossReplaces,
        DecoderWithoutFeedForward,
        DecoderAsksTheInput,
        DecoderPartsInParallel,
        DecoderLastNormOnly,
        DecoderSecondNormForgotten,
        DecoderThirdNormForgotten,
        DecoderNormsSwapped,
        DecoderOfOneNorm,
    ],
    run=build_and_call,
)

# --- MyStack -----------------------------------------------------------------


class MyStack(nn.Module):
    """Layers on top of each other, each with weights of its own.

    All layers are made when the stack is, by so many calls of ``make_layer``.
    They are parts of the stack: ``parameters()`` gives the weights of all.

    Args:
        make_layer: makes a new layer, with new weights, at each call. A layer
            is called as ``layer(x, *others)``.
        n_layers: how many layers the stack has; at least 1.
    """

    def __init__(self, make_layer: Callable[[], nn.Module], n_layers: int):
        super().__init__()
        ### BEGIN SOLUTION
        layers = [make_layer() for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)
        ### END SOLUTION

    def forward(
        self, x: Float[Tensor, "batch length d_model"], *others: Tensor
    ) -> Float[Tensor, "batch length d_model"]:
        """Lead a stream through all layers, the one made first being lowest.

        Args:
            x: what the lowest layer reads.
            others: masks, a memory, or nothing: each layer is given them as
                they are.

        Returns:
            What the highest layer gives.
        """
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x, *others)
        return x
        ### END SOLUTION


class StackOfAddedModules(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        for number in range(n_layers):
            self.add_module(f"layer_{number}", make_layer())

    def forward(self, x, *others):
        for layer in self.children():
            x = layer(x, *others)
        return x


class StackByRecursion(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.lowest = make_layer()
        self.rest = None
        if n_layers > 1:
            self.rest = StackByRecursion(make_layer, n_layers - 1)

    def forward(self, x, *others):
        x = self.lowest(x, *others)
        return x if self.rest is None else self.rest(x, *others)


class StackBySequential(MyStack):
    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        made = (make_layer() for _ in range(n_layers))
        self.all = nn.Sequential(*made)

    def forward(self, x, *others):
        for i in range(len(self.all)):
            x = self.all[i](x, *others)
        return x


@see(WEIGHTS)
class OneLayerNTimes(MyStack):
    """Your stack is one layer, used again and again.

    `make_layer` is called once, and a list that repeats its result, or a
    loop over it, holds the same object each time. All steps share one set of
    weights. (Universal Transformers do that on purpose.)
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList([make_layer()] * n_layers)


@see(BREAK)
class LayersInAPlainList(MyStack):
    """Your layers are in a plain Python list: the module does not know them.

    What comes out is right. But `parameters()` is empty, so the optimiser
    trains nothing, `to(device)` moves nothing, and a saved file holds
    nothing.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.layers = [make_layer() for _ in range(n_layers)]


@see(BREAK)
class OneLayerInAPlainList(MyStack):
    """Your stack is one layer, used again and again, in a plain Python list.

    Two things are wrong. `make_layer` is called once, so that all steps share
    one set of weights. And the module does not know what is in a plain list:
    `parameters()` is empty, and nothing is trained.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.layers = [make_layer()] * n_layers


class LayersNeverMade(MyStack):
    """Your list holds `make_layer` itself, and no layer.

    It is a function: only a *call* of it makes a layer.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.layers = nn.ModuleList([make_layer] * n_layers)


class SequentialWithOthers(MyStack):
    """Your layers are in an `nn.Sequential`, and are right as long as there
    is nothing but `x`.

    It hands on one thing only, from layer to layer. With a mask or a memory
    it raises an error.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.layers = nn.Sequential(*[make_layer() for _ in range(n_layers)])

    def forward(self, x, *others):
        return self.layers(x, *others)


@see(WEIGHTS)
class CopiesOfOneLayer(MyStack):
    """Your layers are copies of one: they begin with the same weights.

    `make_layer` is called once only. It is no disaster: they are separate
    objects, training draws them apart, and PyTorch's own stacks are made so.
    Asked for are layers that each begin with weights of their own.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        one = make_layer()
        copies = [one] + [copy.deepcopy(one) for _ in range(n_layers - 1)]
        self.layers = nn.ModuleList(copies)


class LayersMadeAnew(MyStack):
    """Your layers are made in `forward`, new ones at each call.

    Each call then has other weights, and nothing that was learned is kept.
    They are made once, when the stack is.
    """

    def __init__(self, make_layer, n_layers):
        nn.Module.__init__(self)
        self.make_layer, self.n_layers = make_layer, n_layers

    def forward(self, x, *others):
        for _ in range(self.n_layers):
            x = self.make_layer()(x, *others)
        return x


class StopsAfterOneLayer(MyStack):
    """You return what the first layer gives: the others are never asked.

    Does the `return` stand inside the loop?
    """

    def forward(self, x, *others):
        return self.layers[0](x, *others)


@see(BREAK)
class EachReadsTheFirstX(MyStack):
    """Each of your layers reads what entered the stack, and the last one's
    answer is returned.

    What the others have made is thrown away. A layer is to read what the one
    below it has given.
    """

    def forward(self, x, *others):
        return self.layers[-1](x, *others)


class SumOfLayers(MyStack):
    """Your layers stand side by side, and their results are added up.

    Each reads what entered the stack. On top of each other, a layer reads
    what the one below it has given.
    """

    def forward(self, x, *others):
        return sum(layer(x, *others) for layer in self.layers)


class AllOutputsReturned(MyStack):
    """You return a list, with what each layer gives.

    Asked for is what leaves the stack: the last of them.
    """

    def forward(self, x, *others):
        outputs = []
        for layer in self.layers:
            x = layer(x, *others)
            outputs.append(x)
        return outputs


class OthersInOneTuple(MyStack):
    """Your layers get `others` as one tuple.

    Inside `forward` it is a tuple, which has to be unpacked again: a layer
    expects a mask and a memory one after the other.
    """

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, others)
        return x


class OthersNotHandedOn(MyStack):
    """Your layers do not get `others`: they have neither mask nor memory."""

    def forward(self, x, *others):
        return super().forward(x)


class OthersForTheFirstLayer(MyStack):
    """Only your first layer gets `others`.

    Masks and memory are the same for all layers, and each of them needs
    them.
    """

    def forward(self, x, *others):
        for layer in self.layers:
            x = layer(x, *others)
            others = ()
        return x


class StackUpsideDown(MyStack):
    """Your stream goes through the last layer first.

    The layer that was made first is the lowest, and reads `x`.
    """

    def forward(self, x, *others):
        for layer in reversed(self.layers):
            x = layer(x, *others)
        return x


class StackAddsOnceMore(MyStack):
    """You add the stream to what each layer gives.

    The layers have residual connections of their own, inside. A stack only
    hands the stream on.
    """

    def forward(self, x, *others):
        for layer in self.layers:
            x = x + layer(x, *others)
        return x


class OneLayerTooFew(MyStack):
    """Your stack has one layer too few.

    A `range` that begins with 1 ends before its last number too.
    """

    def __init__(self, make_layer, n_layers):
        super().__init__(make_layer, n_layers - 1)


class OneLayerOnly(MyStack):
    """Your stack has a single layer: `n_layers` does not matter to it.

    A stack of six has six layers, each made by a call of its own.
    """

    def __init__(self, make_layer, n_layers):
        super().__init__(make_layer, 1)


class NumberedLayer(nn.Module):
    """The layer number i gives 2x + i, and adds what else it is given."""

    def __init__(self, number: int):
        super().__init__()
        self.number = nn.Parameter(torch.tensor(float(number)))

    def forward(self, x, *others):
        """A layer that can be followed by hand."""
        return sum(others, 2 * x + self.number)


def numbered_layer() -> nn.Module:
    """Stands for the maker of numbered layers that ``run_stack`` builds."""
    return NumberedLayer(1)


def run_stack(candidate, given: Case) -> dict:
    """What comes out of a stack, and what it is made of."""
    numbers = itertools.count(1)

    def make_layer():
        return NumberedLayer(next(numbers))

    stack = candidate(make_layer, given.build[1])
    output = stack(*given.args)
    stack(*given.args)
    return {
        "output": output,
        "layers made": next(numbers) - 1,
        "layers registered": sum(1 for _ in stack.parameters()),
    }


def stack_case(note: str, n_layers: int, *args: Tensor) -> Case:
    """A stack of numbered layers."""
    return module_case(note, (numbered_layer, n_layers), *args)


def draw_stack(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 2), draw.size(2, 3), 3)
    others = [draw.normal(*x.shape) for _ in range(draw.size(0, 2))]
    return stack_case("random numbers", draw.size(2, 6), x, *others)


ONE = torch.tensor([[[1.0]]])
STACK = Exercise(
    solution=MyStack,
    section=BUILD,
    points=2,
    hints=(
        "Two questions: how many times is `make_layer` called, and when? And "
        "how does a module learn that the things in a list are its own?",
        "PyTorch has a list for modules, which registers what is in it. In "
        "`forward`, walk over it with one name for the stream, and give every "
        "layer all that stands behind `x`.",
    ),
    cases=[
        stack_case("one layer, number i gives 2x + i", 1, ONE),
        stack_case("two layers, number i gives 2x + i", 2, ONE),
        stack_case("three layers, number i gives 2x + i", 3, ONE),
        stack_case("two layers and a mask: 2x + i + mask", 2, ONE, 100 * ONE),
        stack_case(
            "two layers, memory and mask: 2x + i + both",
            2,
            ONE,
            100 * ONE,
            1000 * ONE,
        ),
        stack_case("six layers, two sentences", 6, Draw(1).normal(2, 3, 4)),
    ],
    draw=draw_stack,
    others=[StackOfAddedModules, StackByRecursion, StackBySequential],
    mistakes=[
        OneLayerNTimes,
        LayersInAPlainList,
        OneLayerInAPlainList,
        LayersNeverMade,
        SequentialWithOthers,
        CopiesOfOneLayer,
        LayersMadeAnew,
        StopsAfterOneLayer,
        EachReadsTheFirstX,
        SumOfLayers,
        AllOutputsReturned,
        OthersInOneTuple,
        OthersNotHandedOn,
        OthersForTheFirstLayer,
        StackUpsideDown,
        StackAddsOnceMore,
        OneLayerTooFew,
        OneLayerOnly,
    ],
    run=run_stack,
)

EXERCISES = [ENCODER_LAYER, DECODER_LAYER, STACK]
"""In the order of the notebook."""
