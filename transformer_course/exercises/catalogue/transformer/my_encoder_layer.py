"""Attention and feed-forward, with sums and norms around them."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.attention import MultiHeadAttention
from transformer_course.exercises.catalogue.transformer import SIZES, real_keys
from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    build_and_call,
    exercise_of,
    module_case,
    other,
)
from transformer_course.layers import AddNorm, FeedForward, LayerNorm


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
        answer = self.self_attention(x, mask=mask)
        heard = self.norm_1(x + answer)
        made = self.feed_forward(heard)
        return self.norm_2(heard + made)
        ### END SOLUTION


@other
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


@other
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


EDITS = """
# EncoderSeesPadding (06_masks#the-padding-mask-by-hand)
- , mask=mask ->
Your self-attention gets no mask: words look at padding.

A sentence then comes out differently, depending on how far it was filled up.
Such a model still learns, so that nothing in training tells you.

# EncoderMaskInverted (06_masks#everybodys-conventions)
- mask=mask -> mask=~mask
Your self-attention looks at nothing but padding.

In this course True says that a key *may be* attended to, and so says
`MultiHeadAttention` of the package. (That of PyTorch wants the opposite.)

# EncoderMaskAsMemory
- mask=mask -> mask
You hand the mask over as the second argument of attention.

That is the *memory*: the positions to look at. The mask goes by its name,
`mask`.

# EncoderQueryKeyValue (07_multi_head_attention#the-packages-layer)
- (x, mask=mask) -> (x, x, x, mask=mask)
or
- (x, mask=mask) -> (x, x, x, mask)
You hand the stream over three times, as query, key and value.

That is how PyTorch's `nn.MultiheadAttention` is called. That of the package is
given what asks and what is looked at, and makes keys *and* values of the
second; without a second, it looks at the first.

# EncoderAttentionUnpacked
- (x, mask=mask) -> (x, mask=mask)[0]
or
- answer = -> answer, _ =
You take the first item of what attention returns.

PyTorch's own returns a pair. Here it is one tensor, and its first item is the
first *sentence*: all sentences are given that one's answer.

# EncoderInPreNorm (08_add_and_norm#two-places-for-the-norm)
- attention(x, -> attention(self.norm_1(x),
- self.norm_1 ->
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
- self.norm_2 ->
Your layer is pre-norm: you normalise what the parts *read*.

Many models are built so, and weights of one do not fit the other. Asked for is
the paper's way, which normalises the sums.

# EncoderWithoutSums (08_add_and_norm#the-word-itself)
- x + answer -> answer
- heard + made -> made
You never add what was there before: both residual connections are missing.

Each part's answer replaces the stream, and the word itself is lost.

# EncoderFirstSumForgotten (#break-it)
- x + answer -> answer
You do not add the stream to what attention says.

The residual connection around the feed-forward part is there, the first one is
missing.

# EncoderSecondSumForgotten (#break-it)
- heard + made -> made
You do not add the stream to what the feed-forward part says.

The residual connection around attention is there, the second one is missing.

# EncoderAddsTheInput
- heard + made -> x + made
Your second sum adds what entered the *layer*.

What attention has brought then reaches the next layer only through the
feed-forward part. The second sum keeps what the first norm has given.

# EncoderAddsBeforeTheNorm (08_add_and_norm#two-places-for-the-norm)
- heard + made -> x + answer + made
Your second sum adds the first one as it was *before* its norm.

In post-norm the stream itself is what the norm has given: that is read, and
that is added.

# EncoderPartsInParallel
- feed_forward(heard) -> feed_forward(x)
Your feed-forward part reads what entered the *layer*.

It works beside attention, then, and not after it: it never hears what
attention has found.

# EncoderFeedForwardReadsTheAnswer
- feed_forward(heard) -> feed_forward(answer)
Your feed-forward part reads attention's bare answer, without sum and norm.

It is to read the stream: the word itself, with what it has heard, normalised.

# EncoderFeedForwardFirst
- self.self_attention(x, mask=mask) -> self.feed_forward(x)
- self.feed_forward(heard) -> self.self_attention(heard, mask=mask)
Your feed-forward part comes before attention.

First a word hears the others, then something is made of it.

# EncoderWithoutFeedForward
- self.norm_2(heard + made) -> heard
You leave the feed-forward part out, and the second norm.

Most of the layer's weights are never used.

# EncoderOfOneNorm
- norm_2 -> norm_1
You use the same norm twice.

Each sum has a norm of its own, with a gain and a bias to be learned.

# EncoderNormsSwapped
- norm_1 -> norm_2
- norm_2 -> norm_1
You use the two norms in the wrong order.

A fresh layer does not notice, since both begin alike. Trained weights do.

# EncoderWithoutNorms (08_add_and_norm#through-many-layers)
- self.norm_1 ->
- self.norm_2 ->
You add, but you never normalise.

Through many layers the stream would grow without end.

# EncoderFirstNormForgotten
- self.norm_1 ->
You normalise once, at the end of the layer.

Each of the two sums has a norm behind it.

# EncoderLastNormForgotten
- self.norm_2 ->
You do not normalise your second sum.

Each of the two sums has a norm behind it.

# EncoderAnswersNormed (08_add_and_norm#two-places-for-the-norm)
- self.norm_1(x + answer) -> x + self.norm_1(answer)
- self.norm_2(heard + made) -> heard + self.norm_2(made)
or
- self.norm_1(x + answer) -> x + self.norm_1(answer)
or
- self.norm_2(heard + made) -> heard + self.norm_2(made)
You normalise what a part answers, and add it then.

The sums themselves are never normalised, so that the stream grows. Post-norm
normalises the sum.

# EncoderNormsWhatItReads (08_add_and_norm#two-places-for-the-norm)
- answer = self
+ x = self.norm_1(x)
+ answer = self
- norm_1(x + answer) -> norm_2(x + answer)
- self.norm_2 ->
You normalise before each part, and keep what was normalised.

That is neither pre-norm, where the stream itself goes straight on, nor
post-norm, where the sum is normalised: the last sum has no norm.

# EncoderHalfInPreNorm (08_add_and_norm#two-places-for-the-norm)
- attention(x, -> attention(self.norm_1(x),
- self.norm_1 ->
or
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
- self.norm_2 ->
One of your two parts is in pre-norm: there you normalise what it *reads*.

The other is right. The paper normalises both sums.

# EncoderNormedTooOften (08_add_and_norm#two-places-for-the-norm)
- attention(x, -> attention(self.norm_1(x),
or
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
or
- attention(x, -> attention(self.norm_1(x),
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
You normalise what a part reads, and the sum as well.

One norm for each part is enough: in post-norm that of the sum.

# EncoderAddsAgain (08_add_and_norm#the-word-itself)
- heard = -> heard = x +
- return -> return heard +
or
- heard = -> heard = x +
or
- return -> return heard +
or
- return -> return x +
You add the stream once more, behind a norm.

It is in the sum already, and what leaves a layer in post-norm has been
normalised.

# EncoderMaskForFeedForward
- feed_forward(heard) -> feed_forward(heard, mask=mask)
You give the mask to the feed-forward part as well.

It reads each word alone, and looks at no other: there is nothing to hide.

# EncoderMaskOfAnotherName
- mask=mask -> attn_mask=mask
or
- mask=mask -> key_padding_mask=mask
or
- mask=mask -> key_padding_mask=~mask
You hand the mask over under a name that attention does not know.

PyTorch's own has such names. That of the package calls it `mask`.

# EncoderFeedForwardTwice
- made = self.feed_forward(heard)
+ made = self.feed_forward(self.feed_forward(heard))
or
- return self.norm_2(heard + made)
+ heard = self.norm_2(heard + made)
+ return self.norm_2(heard + self.feed_forward(heard))
Your feed-forward part is there twice.

It follows attention once, with one sum and one norm.

# EncoderAttentionTwice
- made = self
+ heard = self.norm_1(heard + self.self_attention(heard, mask=mask))
+ made = self
or
- made = self
+ heard = self.norm_2(heard + self.self_attention(heard, mask=mask))
+ made = self
Your attention is there twice.

An encoder layer has two parts: attention, then feed-forward.

# EncoderPaddingTakenOut
- x + answer -> x + answer * mask[:, 0, 0, :, None]
or
- x, mask=mask -> x * mask[:, 0, 0, :, None], mask=mask
or
- return self.norm_2(heard + made)
+ return self.norm_2(heard + made) * mask[:, 0, 0, :, None]
You multiply by the mask: at padding there is a 0.

What stands there matters to nobody, since nobody looks at it. The mask is for
attention alone.

# EncoderWithAnotherKink
- heard = self.norm_1(x + answer) -> heard = self.norm_1(x + answer).relu()
or
- made = self.feed_forward(heard) -> made = self.feed_forward(heard).relu()
or
- answer = self.self_attention(x, mask=mask)
+ answer = self.self_attention(x, mask=mask).relu()
You put a ReLU behind a part.

There is one inside the feed-forward part, between its two maps, and no other.

# EncoderAverages (08_add_and_norm#the-word-itself)
- x + answer -> (x + answer) / 2
- heard + made -> (heard + made) / 2
or
- x + answer -> x * answer
- heard + made -> heard * made
or
- x + answer -> x - answer
- heard + made -> heard - made
or
- x + answer -> x * answer
or
- heard + made -> heard * made
You do not add what a part answers, but join it otherwise to the stream.

What a residual connection means is a plain sum.
"""


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


EXERCISE = exercise_of(
    MyEncoderLayer,
    place=1,
    section="10_transformer#build-it",
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
    edits=EDITS,
    run=build_and_call,
)
