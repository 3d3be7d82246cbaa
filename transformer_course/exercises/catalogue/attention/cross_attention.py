"""From the target to the source."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.exercises.catalogue.attention import (
    scaled_dot_product_attention as attention,
)
from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    build_and_call,
    exercise_of,
    module_case,
    other,
)

scaled_dot_product_attention = attention.scaled_dot_product_attention


class CrossAttention(nn.Module):
    """One head of source–target attention, with its three projections.

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


EDITS = """
# SourceAsksTarget
- query =
+ tgt, memory = memory, tgt
+ query =
In your layer the *source* asks, and the target is asked.

Your queries come from `memory`, keys and values from `tgt`. Who asks decides
the length of the output: it is to have one row for each word of the target, or
the decoder has nothing to go on with. Where both sentences are equally long
nothing but the numbers shows it.

# TargetLooksAtItself
- query =
+ memory = tgt
+ query =
Your layer never looks at `memory`: the target looks at itself.

That is self-attention. With it alone the decoder would never see the sentence
that it has to translate.

# SourceLooksAtItself
- tgt -> memory
Your layer never looks at `tgt`: the source looks at itself.

That is the encoder's self-attention. There are to be as many outputs as words
of the target.

# ValuesFromTarget
- value(memory) -> value(tgt)
Your values come from `tgt`, your keys from `memory`.

Key and value of an entry belong together. With yours the target asks the
source where to look, and then fetches from itself. (Where the two have
different lengths, it ends in an error.)

# KeysFromTarget
- key(memory) -> key(tgt)
Your keys come from `tgt`, your values from `memory`.

Key and value of an entry belong together. With yours the target compares
itself with itself, and then fetches from the source at those places. (Where
the two have different lengths, it ends in an error.)

# QueriesAndKeysExchanged
- tgt -> memory
- key(memory) -> key(tgt)
You take the source's rows for queries and the target's for keys, and the
values from the source.

Then the source asks the target. (Where the two have different lengths, it ends
in an error.)

# ProjectionsExchanged (#why-three-projections)
- to_query -> to_key
- to_key -> to_query
The right rows go through the wrong projections: `to_key` makes your queries,
and `to_query` your keys.

A layer trained like this would learn as well, with the two names exchanged.
But weights from elsewhere, loaded into it, would give other outputs.

# OneProjectionForAll (#why-three-projections)
- to_key -> to_query
- to_value -> to_query
You use one projection for queries, keys and values.

What a word looks for, what it is found by and what it hands over are three
things to learn, so there are three projections.

# KeysHandedOver (#why-three-projections)
- weights @ value -> weights @ key
You hand over the keys; `to_value` is never used.

What a word is found by and what it hands over are two things to learn.

# KeysAndValuesExchanged (#why-three-projections)
- to_key -> to_value
- to_value -> to_key
The source goes through the wrong projections: `to_value` makes your keys, and
`to_key` your values.

A layer trained like this would learn as well, with the two names exchanged.
But weights from elsewhere, loaded into it, would give other outputs.

# ValuesNotProjected (#why-three-projections)
- weights @ value -> weights @ memory
Your values are the rows of `memory` as they are; `to_value` is never used.

What a word hands over is to be learned too, and has the width of the head.

# NothingProjected (#why-three-projections)
- self.to_query(tgt) -> tgt
- self.to_key(memory) -> memory
- self.to_value(memory) -> memory
or
- self.to_query(tgt) -> tgt
- self.to_key(memory) -> memory
- self.to_value(memory) -> memory
- query.size(-1) -> self.to_key.out_features
You attend with the rows as they come in: no projection is used.

Then a word can find only what resembles it, and there is nothing that this
layer could learn.

# ProjectionsBent (#why-three-projections)
- scores =
+ query, key, value = query.relu(), key.relu(), value.relu()
+ scores =
or
- scores =
+ query, key = query.relu(), key.relu()
+ scores =
You put a ReLU behind the projections.

They are linear: no activation follows them, though some libraries offer one.
Without negative numbers no score could say "anything but this".

# ProjectionsTanh (#why-three-projections)
- scores =
+ query, key, value = query.tanh(), key.tanh(), value.tanh()
+ scores =
or
- scores =
+ query, key = query.tanh(), key.tanh()
+ scores =
or
- weights @ value -> weights @ value.relu()
or
- weights @ value -> (weights @ value).relu()
You bend what the projections give, or what was fetched.

The projections are linear, and nothing follows the head.

# ScaledByModelWidth (05_score_functions#divide-by-the-root)
- query.size(-1) -> tgt.size(-1)
You divide by the root of the width of the *rows*, d_model.

The sum in a score has as many terms as one head's keys have numbers. A wrong
root raises no error, and may train well. But weights from elsewhere give other
outputs with it.

# ScaledByLength (05_score_functions#divide-by-the-root)
- query.size(-1) -> query.size(1)
You divide by the root of the number of words in the target.

A word would look differently when others ask beside it. What makes a dot
product large is how many products are summed in it: the width of the head.

# CrossUnscaled (#the-same-in-the-package)
- / query.size(-1) ** 0.5 ->
Your scores are not divided by the root of the head's width.

The wider the head, the more of the weight goes to a single word.

# TargetAdded
- weights @ value -> tgt + weights @ value
You add the target's rows to what was fetched.

That sum belongs to the layer around this one (chapter 08). Asked for is what
the head has fetched, and nothing else. (Where the head is not as wide as the
model, yours ends in an error.)

# CrossSoftmaxOverTarget (#everybody-asks-at-once)
- dim=-1 -> dim=1
Your softmax runs over the words of the target.

Each word of the target shares out its own unit of attention over the *source*:
every row of the weights has to sum to one.

# ScaledTwice (05_score_functions#divide-by-the-root)
- ** 0.5 ->
Your scores are divided by d_head, not by its root.

Or by the root twice: once by you, and once more by the function from above,
which you call. Your attention is far more even than the paper's.

# WeightsFirst
- return
+ return (lambda output, weights: (weights, output))(
- , weights -> , weights)
You return the weights first, and what was fetched second.

# CrossScoresOverflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(scores,
Your layer is right until a score is large: then it gives NaN.

You divide powers by their sum, and e¹⁰⁰ is beyond 32 bits: infinity over
infinity. PyTorch's softmax takes the largest score of the row away first.

# CrossFutureHidden (06_masks#the-future)
- weights =
+ seen = torch.ones_like(scores).tril() > 0
+ scores = scores.masked_fill(~seen, -torch.inf)
+ weights =
Your first word of the target sees one word of the source, the second two.

That is a causal mask, and it belongs to the target's look at itself. The
source is known from the beginning: all of it may be seen.

# MemoryAndTarget
- query =
+ memory = torch.cat([memory, tgt], dim=1)
+ query =
or
- query =
+ memory = torch.cat([tgt, memory], dim=1)
+ query =
Your target looks at the source and at itself, in one row of keys.

Some models do so. The paper's has two layers for it, and this one is for the
source alone: there are as many weights as the source has words.

# CrossScoresReturned
- , weights -> , scores
or
- , weights -> , query @ key.mT
What was fetched is right, but beside it you return the scores, from before the
softmax.

Asked for are the weights: positive, and of each word the sum is one.

# ScaledBySourceLength (05_score_functions#divide-by-the-root)
- query.size(-1) -> key.size(1)
or
- query.size(-1) -> len(key)
You divide by the root of the number of words in the source, or of sentences.

What makes a dot product large is how many products are summed in it: the width
of the head.

# MultipliedByTheRoot (05_score_functions#divide-by-the-root)
- / query -> * query
You multiply by the root of the head's width in place of dividing.

Scores get larger instead of smaller, and one word takes nearly all.

# ScaledAfterwards (05_score_functions#divide-by-the-root)
- / query.size(-1) ** 0.5 ->
- scores.softmax(dim=-1) -> scores.softmax(dim=-1) / query.size(-1) ** 0.5
or
- / query.size(-1) ** 0.5 ->
- weights @ value -> weights @ value / query.size(-1) ** 0.5
or
- weights @ value -> weights @ value / query.size(-1) ** 0.5
You divide after the softmax: the weights, or the output.

The root belongs to the scores. Afterwards the weights come from scores as
large as before, and what is fetched is only made smaller.

# CrossSoftmaxOverSentences (#everybody-asks-at-once)
- dim=-1 -> dim=0
Your softmax runs along the first axis, that of the sentences.

So it does if it is told 0. Each sentence would share its attention with its
neighbours in the batch.

# CrossNoSoftmax
- scores.softmax(dim=-1) -> scores
There is no softmax: the values are mixed with the scores themselves.

Scores may be negative, and their sum may be anything.

# CrossSoftmaxTwice
- scores.softmax(dim=-1) -> scores.softmax(dim=-1).softmax(dim=-1)
Your weights have been through a softmax twice.

The second one takes weights for scores. These lie between 0 and 1, so that
hardly any difference between the words is left.

# CrossSigmoid
- softmax(dim=-1) -> sigmoid()
You squash each score by itself, with a sigmoid.

Every weight is between 0 and 1, but no row sums to one.

# CrossLogarithms
- softmax -> log_softmax
You mix the values with the *logarithms* of the weights.

They are all negative, and no mean can be taken with them.

# CrossMaximumOfEverything (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x / x.sum(dim, keepdim=True))((scores - scores.max()).exp(),
You take away the largest score of the *whole* tensor, not of each row.

A row whose scores are all far below it has nothing but powers of 0, and 0 is
divided by 0.

# CrossPowersNotDivided
- softmax(dim=-1) -> exp()
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
Your weights are powers of the scores, never divided by their sum.

They are positive, but no shares: a row does not sum to one.

# QueryAdded
- weights @ value -> query + weights @ value
You add the queries to what was fetched.

There is no residual inside the head: asked for is what was fetched, and
nothing else.

# FetchedNormalized
- weights @ value
+ nn.functional.layer_norm(weights @ value, value.shape[-1:])
or
- weights @ value
+ nn.functional.layer_norm(tgt + weights @ value, value.shape[-1:])
You normalize what was fetched.

That belongs to the layer around this one (chapter 08).

# QueryProjectionForKeys (#why-three-projections)
- to_key -> to_query
You use `to_query` for the keys too; `to_key` is never used.

What a word looks for and what it is found by are two things to learn.

# KeyProjectionForQueries (#why-three-projections)
- to_query -> to_key
You use `to_key` for the queries too; `to_query` is never used.

What a word looks for and what it is found by are two things to learn.

# ValueProjectionForKeys (#why-three-projections)
- to_key -> to_value
You use `to_value` for the keys too; `to_key` is never used.

What a word is found by and what it hands over are two things to learn.

# QueryProjectionForValues (#why-three-projections)
- to_value -> to_query
You use `to_query` for the values; `to_value` is never used.

What a word looks for and what it hands over are two things to learn.

# KeyProjectionForAll (#why-three-projections)
- to_query -> to_key
- to_value -> to_key
or
- to_query -> to_value
- to_key -> to_value
You use one projection for queries, keys and values.

What a word looks for, what it is found by and what it hands over are three
things to learn, so there are three projections.

# ProjectedTwice (#why-three-projections)
- self.to_value(memory) -> self.to_value(key)
or
- self.to_key(memory) -> self.to_key(query)
You send through one projection what has been through another.

Each of the three starts from the rows that came in. (Where the head is not as
wide as the model, yours ends in an error.)

# QueriesNotProjected (#why-three-projections)
- self.to_query(tgt) -> tgt
or
- query @ key.mT -> tgt @ key.mT
Your queries are the rows of `tgt` as they are; `to_query` is never used.

What a word looks for is to be learned. (Where the head is not as wide as the
model, yours ends in an error.)

# KeysNotProjected (#why-three-projections)
- self.to_key(memory) -> memory
Your keys are the rows of `memory` as they are; `to_key` is never used.

What a word is found by is to be learned. (Where the head is not as wide as the
model, yours ends in an error.)

# MatricesNotTransposed
- self.to_query(tgt) -> tgt @ self.to_query.weight
- self.to_key(memory) -> memory @ self.to_key.weight
- self.to_value(memory) -> memory @ self.to_value.weight
or
- self.to_query(tgt) -> tgt @ self.to_query.weight.reshape(tgt.size(-1), -1)
- self.to_key(memory)
+ memory @ self.to_key.weight.reshape(tgt.size(-1), -1)
- self.to_value(memory)
+ memory @ self.to_value.weight.reshape(tgt.size(-1), -1)
You multiply by the projections' matrices as they lie.

`nn.Linear` keeps its matrix transposed: a row for each number that comes out.
Call the layer, or transpose.

# CrossKeysReshaped (07_multi_head_attention#splitting-and-merging)
- key.mT -> key.reshape(key.mT.shape)
You give the keys the shape of their transpose without transposing.

A view or a reshape leaves the numbers in the order in which they lie in
memory: they are cut into other rows. The shape fits, so no error is raised.

# CrossWeightsTransposed (#everybody-asks-at-once)
- , weights -> , weights.mT
You return the weights transposed: a row for each word of the source.

A row belongs to who asks: a word of the target.

# KeysAsk (#everybody-asks-at-once)
- query @ key.mT -> key @ query.mT
or
- query @ key.mT -> key @ query.mT
- weights @ value -> weights @ query
or
- scores.softmax(dim=-1) -> scores.mT.softmax(dim=-1)
or
- scores.softmax(dim=-1) -> scores.mT.softmax(dim=-1)
- weights @ value -> weights @ query
In your table the keys ask and the queries are asked.

It has a row for each word of the source. (Where the two sentences have
different lengths, mixing ends in an error.)

# CrossNegated
- query @ -> -query @
The word that fits best gets the smallest weight: a sign is turned.

# CrossDirections (#close-or-only-long)
- scores =
+ query = nn.functional.normalize(query, dim=-1)
+ key = nn.functional.normalize(key, dim=-1)
+ scores =
or
- query @ key.mT / query.size(-1) ** 0.5
+ torch.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
You compare directions only: your score is the cosine of the angle.

A dot product has the lengths in it too: a longer query looks more sharply.

# ValuesOfTheQueries
- weights @ value -> weights @ query
Your output is a mixture of the *queries*; the values are never used.

Who asks does not hand over. (Where the two sentences have different lengths,
it ends in an error.)

# BestWordOnly (#a-lookup-that-can-learn)
- scores.softmax(dim=-1) -> torch.eye(key.size(1))[scores.argmax(dim=-1)]
Your best word takes all, and the others get nothing.

That is a dictionary: there is no slope, so nothing could learn how to ask.
"""


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
    place=3,
    section="04_attention#one-formula-different-sources",
    points=2,
    hints=(
        "Two streams come in, and three things are made of them. Who asks? "
        "Who is looked at? What is handed over belongs to what was looked "
        "at.",
        "There is one output for each query, so the queries are made of the "
        "stream whose length the output has to have; keys and values of the "
        "other. What then follows is the exercise above.",
    ),
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
    run=build_and_call,
    edits=EDITS,
)
