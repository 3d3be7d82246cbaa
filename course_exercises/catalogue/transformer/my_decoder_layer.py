"""Decoder layer."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_exercises.catalogue.transformer import SIZES, real_keys
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    exercise_of,
    mistake,
    module_case,
    other,
)
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.layers import FeedForward, LayerNorm
from transformer_course.models.masks import causal_mask


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
        own = self.self_attention(x, mask=mask)
        said = self.norm_1(x + own)
        across = self.cross_attention(said, memory, mask=src_mask)
        heard = self.norm_2(said + across)
        made = self.feed_forward(heard)
        return self.norm_3(heard + made)
        ### END SOLUTION


@other
class DecoderInSteps(MyDecoderLayer):
    def forward(self, x, memory, mask, src_mask):
        x = self.norm_1(x + self.self_attention(x, x, mask=mask))
        x = self.norm_2(x + self.cross_attention(x, memory, mask=src_mask))
        return self.norm_3(x + self.feed_forward(x))


@other
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


EDITS = """
# DecoderSeesFuture (#which-mistakes-the-laws-notice)
- , mask=mask ->
Your self-attention gets no mask: a word sees the words after it.

In training those words are there to be read, so the loss falls. But what the
model writes is worthless.

# DecoderMaskInverted (06_masks#mask-conventions-of-other-libraries)
- mask=mask -> mask=~mask
You invert the mask of self-attention: it sees only what should be hidden.

In this course True means that a key *may* be attended to. That is also how
`MultiHeadAttention` takes it.

# DecoderSourceMaskInverted (06_masks#mask-conventions-of-other-libraries)
- mask=src_mask -> mask=~src_mask
You invert the mask of cross-attention: it sees only the source's padding.

In this course True means that a key *may* be attended to. That is also how
`MultiHeadAttention` takes it.

# DecoderSeesSourcePadding (#which-mistakes-the-laws-notice)
- , mask=src_mask ->
Your cross-attention gets no mask: it looks at the source's padding.

A translation then depends on how much padding the source has.

# DecoderNeverReadsSource (#which-mistakes-the-laws-notice)
- said, memory, mask=src_mask -> said
Your cross-attention gets no memory: it looks at the target.

Called with one argument, attention is self-attention. Then nothing of the
source reaches the layer.

# DecoderTargetForSource (#which-mistakes-the-laws-notice)
- said, memory -> said
Your cross-attention looks at the target, with the source's mask.

That is an error, unless both are equally long. Keys and values have to come
from the memory.

# DecoderMemoryAsks (#which-mistakes-the-laws-notice)
- said, memory -> memory, said
You swap query and memory in cross-attention.

The source asks and the target is looked at, so the result has a row for each
*source* word. Where the lengths differ, that is an error; where they are
equal, nothing tells you.

# DecoderMasksSwapped (06_masks#two-masks-at-once)
- mask=mask -> mask=src_mask
- mask=src_mask -> mask=mask
You swap the two masks.

Self-attention gets the source's mask, and cross-attention the target's. Unless
both sides are equally long, that is an error. A mask belongs to the side that
is *looked at*.

# DecoderTargetMaskAcross (06_masks#two-masks-at-once)
- mask=src_mask -> mask=mask
You give cross-attention the target's mask.

Where target and source differ in length, that is an error. Where they do not,
the first target word sees only one source word, and the last one sees the
padding. Every target word may read the whole source.

# DecoderQueryKeyValue (07_multi_head_attention#the-packages-layer)
- said, memory -> said, memory, memory
or
- (x, mask=mask) -> (x, x, x, mask=mask)
You give attention three arguments: query, key and value.

PyTorch's `nn.MultiheadAttention` is called that way. This course's takes two:
what asks, and what is looked at. It makes keys *and* values from the second.

# DecoderAttentionUnpacked
- mask=mask) -> mask=mask)[0]
- mask=src_mask) -> mask=src_mask)[0]
or
- own = -> own, _ =
- across = -> across, _ =
You unpack what the two attentions return.

PyTorch's attention returns a pair. This one returns one tensor, and the first
item of it is the first *sentence*, not the answer.

# DecoderSelfAttentionOfSource
- x, mask=mask -> x, memory, mask=src_mask
Your *self*-attention looks at the memory as well.

The target's words then never see each other. Self-attention looks at the
sequence that asks: in the decoder, the target.

# DecoderWithoutCrossAttention
- self.norm_2(said + across) -> said
You leave cross-attention out, and its norm: nothing of the source is read.

What is left is a layer of a model that only continues a text.

# DecoderCrossFirst
- self.self_attention(x, mask=mask)
+ self.cross_attention(x, memory, mask=src_mask)
- self.cross_attention(said, memory, mask=src_mask)
+ self.self_attention(said, mask=mask)
Your cross-attention comes before self-attention.

A word first looks back at what has been said. Then it asks the source.

# DecoderOfOneAttention
- cross_attention -> self_attention
You look at the source with the weights of self-attention.

You never use `cross_attention`. The two attentions learn different things.

# DecoderInPreNorm (08_add_and_norm#post-norm-and-pre-norm)
- attention(x -> attention(self.norm_1(x)
- self.norm_1 ->
- attention(said -> attention(self.norm_2(said)
- self.norm_2 ->
- feed_forward(heard) -> feed_forward(self.norm_3(heard))
- self.norm_3 ->
Your layer is pre-norm: you normalise what the parts *read*.

Many models are built that way. But the exercise asks for the paper's
post-norm, which normalises the sums.

# DecoderMemoryNormed (08_add_and_norm#post-norm-and-pre-norm)
- memory, mask -> self.norm_2(memory), mask
You normalise the memory before cross-attention reads it.

The encoder has already normalised it, and the norms of this layer belong to
the target's stream. Hand the memory on as it is.

# DecoderWithoutSums (08_add_and_norm#add-keep-the-word-itself)
- x + own -> own
- said + across -> across
- heard + made -> made
You leave out all three residual connections: nothing is added to the stream.

Each part's answer replaces the stream, and the word itself is lost.

# DecoderFirstSumForgotten (08_add_and_norm#add-keep-the-word-itself)
- x + own -> own
Self-attention's answer *replaces* the stream.

Its residual connection is missing, and with it the word itself.

# DecoderCrossReplaces (08_add_and_norm#add-keep-the-word-itself)
- said + across -> across
Cross-attention's answer *replaces* the stream.

Its residual connection is missing, and with it all that self-attention has
found in the target.

# DecoderLastSumForgotten (08_add_and_norm#add-keep-the-word-itself)
- heard + made -> made
The feed-forward part's answer *replaces* the stream.

Its residual connection is missing, and with it all that the two attentions
have found.

# DecoderWithoutFeedForward
- self.norm_3(heard + made) -> heard
You leave the feed-forward part out, and the third norm.

Half of the layer's weights are never used.

# DecoderAsksTheInput
- said, memory -> x, memory
Your cross-attention asks with what entered the *layer*.

Then it knows nothing of what self-attention has found. It should ask with the
output of the first norm.

# DecoderPartsInParallel
- said, memory -> x, memory
- self.norm_2(said + across) -> self.norm_1(x + own + across)
Your two attentions read the same stream, and you add both answers at once.

Cross-attention comes *after* self-attention and its norm. Each of the two has
a sum and a norm of its own.

# DecoderWithoutNorms (08_add_and_norm#the-gradient-through-many-layers)
- self.norm_1 ->
- self.norm_2 ->
- self.norm_3 ->
You leave out all three norms.

Through many layers the stream would grow without limit.

# DecoderFirstNormForgotten
- self.norm_1 ->
You do not normalise the sum after self-attention.

Each of the three sums is followed by a norm.

# DecoderSecondNormForgotten
- self.norm_2 ->
You do not normalise the sum after cross-attention.

Each of the three sums is followed by a norm.

# DecoderThirdNormForgotten
- self.norm_3 ->
You do not normalise the last sum.

Each of the three sums is followed by a norm.

# DecoderNormsSwapped
- norm_2 -> norm_3
- norm_3 -> norm_2
or
- norm_1 -> norm_2
- norm_2 -> norm_1
You swap two of the norms.

They are numbered in the order of the parts. A new layer does not show it,
since all norms start alike. With trained weights the results are wrong.

# DecoderOfOneNorm
- norm_2 -> norm_1
- norm_3 -> norm_1
You use the same norm three times.

Each sum has a norm of its own, which learns its own gain and bias.

# DecoderNormUsedTwice
- norm_2 -> norm_1
or
- norm_3 -> norm_2
You use one norm twice, and another one never.

Each sum has a norm of its own, which learns its own gain and bias.

# DecoderAttentionsSwapped
- self.self_attention -> self.cross_attention
- self.cross_attention(said -> self.self_attention(said
You swap the two attentions.

`self_attention` looks at the target, `cross_attention` at the source. Before
training nothing shows it. With trained weights the results are wrong.

# DecoderAddsTheInput (08_add_and_norm#add-keep-the-word-itself)
- said + across -> x + across
- heard + made -> x + made
or
- said + across -> x + across
or
- heard + made -> x + made
Your second or third sum adds what entered the *layer*.

Each sum adds what its own part has read: the output of the norm before it.

# DecoderMemoryAdded (08_add_and_norm#add-keep-the-word-itself)
- said + across -> memory + across
Your second sum adds the memory.

Unless both sides are equally long, that is an error. The sum has to add the
target's stream, to which cross-attention brings something of the source.

# DecoderFeedForwardReadsLess
- feed_forward(heard) -> feed_forward(said)
or
- feed_forward(heard) -> feed_forward(x)
Your feed-forward part does not read the output of the second norm.

It comes after both attentions, and reads the stream as they have left it.

# DecoderFeedForwardInTheMiddle
- self.cross_attention(said, memory, mask=src_mask)
+ self.feed_forward(said)
- self.feed_forward(heard)
+ self.cross_attention(heard, memory, mask=src_mask)
or
- across = self.cross_attention(said, memory, mask=src_mask)
+ said = self.norm_3(said + self.feed_forward(said))
+ across = self.cross_attention(said, memory, mask=src_mask)
- made = self.feed_forward(heard)
- return self.norm_3(heard + made)
+ return heard
Your feed-forward part comes between the two attentions.

It is the last of the three parts: it works on what both attentions have found.

# DecoderAnswersNormed (08_add_and_norm#post-norm-and-pre-norm)
- self.norm_1(x + own) -> x + self.norm_1(own)
- self.norm_2(said + across) -> said + self.norm_2(across)
- self.norm_3(heard + made) -> heard + self.norm_3(made)
You normalise the parts' answers, and add them afterwards.

Then the sums are not normalised, and the stream grows. Post-norm normalises
the sum.

# DecoderMasksPositional
- x, mask=mask -> x, mask
You pass a mask without its name, as the second argument of attention.

The second argument is the *memory*. Pass the mask by its name, `mask`.

# DecoderMasksJoined (06_masks#two-masks-at-once)
- mask=src_mask -> mask=mask & src_mask
You combine both masks for cross-attention.

One mask is about target words, the other about source words. Unless both sides
are equally long, combining them is an error. A mask belongs to the side that
is *looked at*.

# DecoderMaskOfAnotherName
- mask=mask -> attn_mask=mask
- mask=src_mask -> attn_mask=src_mask
You pass a mask under a name that attention does not know.

Both attentions call it `mask`.

# DecoderAddsAgain (08_add_and_norm#add-keep-the-word-itself)
- return -> return heard +
You add the stream once more, after a norm.

The sum contains it already, and a post-norm layer returns what its last norm
returns.
"""


@mistake(see="10_transformer#which-mistakes-the-laws-notice")
class DecoderWithoutMasks(MyDecoderLayer):
    """You use neither mask: words see the future, and the source's padding.

    Self-attention needs the target's mask, cross-attention the source's.
    """

    def forward(self, x, memory, mask, src_mask):
        return super().forward(x, memory, None, None)


@mistake(see="06_masks#mask-conventions-of-other-libraries")
class DecoderMasksInverted(MyDecoderLayer):
    """You invert both masks: the attentions see only what should be hidden.

    In this course True means that a key *may* be attended to. That is also
    how `MultiHeadAttention` takes it. (PyTorch's takes it the other way.)
    """

    def forward(self, x, memory, mask, src_mask):
        return super().forward(x, memory, ~mask, ~src_mask)


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
)
