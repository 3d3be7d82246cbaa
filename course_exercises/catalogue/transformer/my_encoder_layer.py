"""Encoder layer."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.catalogue.transformer import SIZES, real_keys
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    exercise_of,
    module_case,
    other,
)
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import AddNorm, FeedForward, LayerNorm


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

A sentence's result then depends on how much padding it has. The model still
learns, so nothing in training tells you.

# EncoderMaskInverted (06_masks#mask-conventions-of-other-libraries)
- mask=mask -> mask=~mask
You invert the mask: your self-attention looks only at padding.

In this course True means that a key *may* be attended to. That is also how
`MultiHeadAttention` takes it. (PyTorch's takes it the other way.)

# EncoderMaskAsMemory
- mask=mask -> mask
You pass the mask as the second argument of attention.

The second argument is the *memory*: what is looked at. Pass the mask by its
name, `mask`.

# EncoderQueryKeyValue (07_multi_head_attention#the-packages-layer)
- (x, mask=mask) -> (x, x, x, mask=mask)
or
- (x, mask=mask) -> (x, x, x, mask)
You pass the stream three times, as query, key and value.

PyTorch's `nn.MultiheadAttention` is called that way. This course's takes what
asks and what is looked at, and makes keys *and* values from the second.
Without a second one it looks at the first.

# EncoderAttentionUnpacked
- (x, mask=mask) -> (x, mask=mask)[0]
or
- answer = -> answer, _ =
You unpack what attention returns.

PyTorch's attention returns a pair. This one returns one tensor, and the first
item of it is the first *sentence*, not the answer.

# EncoderInPreNorm (08_add_and_norm#post-norm-and-pre-norm)
- attention(x -> attention(self.norm_1(x)
- self.norm_1 ->
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
- self.norm_2 ->
Your layer is pre-norm: you normalise what the parts *read*.

Many models are built that way. But the exercise asks for the paper's
post-norm, which normalises the sums. Weights of one do not fit the other.

# EncoderWithoutSums (08_add_and_norm#add-keep-the-word-itself)
- x + answer -> answer
- heard + made -> made
You leave out both residual connections: nothing is added to the stream.

Each part's answer replaces the stream, and the word itself is lost.

# EncoderFirstSumForgotten (#which-mistakes-the-laws-notice)
- x + answer -> answer
You do not add the stream to attention's answer.

The residual connection around attention is missing, and with it the word
itself.

# EncoderSecondSumForgotten (#which-mistakes-the-laws-notice)
- heard + made -> made
You do not add the stream to the feed-forward part's answer.

The residual connection around that part is missing, and with it all that
attention has found.

# EncoderAddsTheInput
- heard + made -> x + made
Your second sum adds what entered the *layer*.

What attention has found then reaches the next layer only through the
feed-forward part. The second sum has to add the output of the first norm.

# EncoderAddsBeforeTheNorm (08_add_and_norm#post-norm-and-pre-norm)
- heard + made -> x + answer + made
Your second sum adds the first one as it was *before* its norm.

In post-norm the norm's output is the stream: the second part reads it, and the
second sum adds it.

# EncoderPartsInParallel
- feed_forward(heard) -> feed_forward(x)
Your feed-forward part reads what entered the *layer*.

Then it works beside attention, not after it, and learns nothing of what
attention has found.

# EncoderFeedForwardReadsTheAnswer
- feed_forward(heard) -> feed_forward(answer)
Your feed-forward part reads attention's bare answer, without sum and norm.

It has to read the stream: the normalised sum of the word itself and that
answer.

# EncoderFeedForwardFirst
- self.self_attention(x, mask=mask) -> self.feed_forward(x)
- self.feed_forward(heard) -> self.self_attention(heard, mask=mask)
Your feed-forward part comes before attention.

A word first collects from the others. Then the feed-forward part works on what
it has collected.

# EncoderWithoutFeedForward
- self.norm_2(heard + made) -> heard
You leave the feed-forward part out, and the second norm.

Most of the layer's weights are never used.

# EncoderOfOneNorm
- norm_2 -> norm_1
You use the same norm twice.

Each sum has a norm of its own, which learns its own gain and bias.

# EncoderNormsSwapped
- norm_1 -> norm_2
- norm_2 -> norm_1
You swap the two norms.

The first one belongs to attention. A new layer does not show it, since both
start alike. With trained weights the results are wrong.

# EncoderWithoutNorms (08_add_and_norm#the-gradient-through-many-layers)
- self.norm_1 ->
- self.norm_2 ->
You leave out both norms.

Through many layers the stream would grow without limit.

# EncoderFirstNormForgotten
- self.norm_1 ->
You do not normalise the first sum.

Each of the two sums is followed by a norm.

# EncoderLastNormForgotten
- self.norm_2 ->
You do not normalise the second sum.

Each of the two sums is followed by a norm.

# EncoderAnswersNormed (08_add_and_norm#post-norm-and-pre-norm)
- self.norm_1(x + answer) -> x + self.norm_1(answer)
- self.norm_2(heard + made) -> heard + self.norm_2(made)
or
- self.norm_1(x + answer) -> x + self.norm_1(answer)
or
- self.norm_2(heard + made) -> heard + self.norm_2(made)
You normalise a part's answer, and add it afterwards.

Then the sum itself is not normalised, and the stream grows. Post-norm
normalises the sum.

# EncoderNormsWhatItReads (08_add_and_norm#post-norm-and-pre-norm)
- answer = self
+ x = self.norm_1(x)
+ answer = self
- norm_1(x + answer) -> norm_2(x + answer)
- self.norm_2 ->
You normalise before each part, and add to what was normalised.

In pre-norm you would add to the stream itself. The exercise asks for
post-norm, where each sum is normalised, the last one too.

# EncoderHalfInPreNorm (08_add_and_norm#post-norm-and-pre-norm)
- attention(x -> attention(self.norm_1(x)
- self.norm_1 ->
or
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
- self.norm_2 ->
One of your two parts is in pre-norm: there you normalise what it *reads*.

The paper is in post-norm: it normalises both sums.

# EncoderNormedTooOften (08_add_and_norm#post-norm-and-pre-norm)
- attention(x -> attention(self.norm_1(x)
or
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
or
- attention(x -> attention(self.norm_1(x)
- feed_forward(heard) -> feed_forward(self.norm_2(heard))
You normalise what a part reads, and the sum as well.

One norm for each part is enough: in post-norm that of the sum.

# EncoderAddsAgain (08_add_and_norm#add-keep-the-word-itself)
- heard = -> heard = x +
- return -> return heard +
or
- heard = -> heard = x +
or
- return -> return heard +
or
- return -> return x +
You add the stream once more, after a norm.

The sum contains it already. In post-norm nothing is added between a norm and
the next part.

# EncoderMaskForFeedForward
- feed_forward(heard) -> feed_forward(heard, mask=mask)
You give the mask to the feed-forward part as well.

That part reads each word alone, so there is nothing to hide.

# EncoderMaskOfAnotherName
- mask=mask -> attn_mask=mask
or
- mask=mask -> key_padding_mask=mask
or
- mask=mask -> key_padding_mask=~mask
You pass the mask under a name that attention does not know.

PyTorch's attention uses such names. This course's calls it `mask`.

# EncoderFeedForwardTwice
- made = self.feed_forward(heard)
+ made = self.feed_forward(self.feed_forward(heard))
or
- return self.norm_2(heard + made)
+ heard = self.norm_2(heard + made)
+ return self.norm_2(heard + self.feed_forward(heard))
You use the feed-forward part twice.

It follows attention once, with one sum and one norm.

# EncoderAttentionTwice
- made = self
+ heard = self.norm_1(heard + self.self_attention(heard, mask=mask))
+ made = self
or
- made = self
+ heard = self.norm_2(heard + self.self_attention(heard, mask=mask))
+ made = self
You use attention twice.

An encoder layer has two parts: attention, then feed-forward.

# EncoderPaddingTakenOut
- x + answer -> x + answer * mask[:, 0, 0, :, None]
or
- x, mask=mask -> x * mask[:, 0, 0, :, None], mask=mask
or
- return self.norm_2(heard + made)
+ return self.norm_2(heard + made) * mask[:, 0, 0, :, None]
You multiply by the mask, which sets something to 0 at padding.

That is not needed: attention's mask hides those places, so no word ever reads
them. Use the mask in attention only.

# EncoderWithAnotherKink
- heard = self.norm_1(x + answer) -> heard = self.norm_1(x + answer).relu()
or
- made = self.feed_forward(heard) -> made = self.feed_forward(heard).relu()
or
- answer = self.self_attention(x, mask=mask)
+ answer = self.self_attention(x, mask=mask).relu()
You apply a ReLU outside the feed-forward part.

The layer has only one, and that is inside the feed-forward part, between its
two maps.

# EncoderAverages (08_add_and_norm#add-keep-the-word-itself)
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
You combine a part's answer with the stream, but not by adding it.

A residual connection is a plain sum.
"""


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
)
