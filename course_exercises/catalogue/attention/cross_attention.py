"""Cross-attention with one head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_exercises.catalogue.attention import (
    scaled_dot_product_attention as attention,
)
from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    exercise_of,
    module_case,
    other,
)

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


EDITS = """
# SourceAsksTarget
- query =
+ tgt, memory = memory, tgt
+ query =
Your queries come from the source, keys and values from the target.

There is one row of output for each query, and the decoder needs one for each
word of the *target*. Where both sentences are equally long only the numbers
show the mistake.

# TargetLooksAtItself
- query =
+ memory = tgt
+ query =
You never look at `memory`: the target looks at itself.

That is self-attention. With it alone the decoder would never see the sentence
that it has to translate.

# SourceLooksAtItself
- tgt -> memory
You never look at `tgt`: the source looks at itself.

That is the encoder's self-attention. Here each word of the target needs a row
of output.

# ValuesFromTarget
- value(memory) -> value(tgt)
Your values come from `tgt`.

They have to come from where the keys come from: the target asks the source
where to look, and fetches what stands there. Where the two have different
lengths, your code raises an error.

# KeysFromTarget
- key(memory) -> key(tgt)
Your keys come from `tgt`.

They have to come from where the values come from: what the target finds by a
key of the source is the source's value. Where the two have different lengths,
your code raises an error.

# QueriesAndKeysExchanged
- tgt -> memory
- key(memory) -> key(tgt)
Your queries come from the source, and your keys from the target.

Then the source asks the target. Where the two have different lengths, your
code raises an error.

# ProjectionsExchanged (#why-three-projections)
- to_query -> to_key
- to_key -> to_query
`to_key` makes your queries, and `to_query` your keys.

A layer trained like this would learn as well, with the two names exchanged.
But weights from elsewhere, loaded into it, would give other outputs.

# OneProjectionForAll (#why-three-projections)
- to_key -> to_query
- to_value -> to_query
or
- to_query -> to_key
- to_value -> to_key
You use one projection for queries, keys and values.

What a word looks for, what it is found by and what it hands over are three
things to learn, so there are three projections.

# KeysHandedOver (#why-three-projections)
- weights @ value -> weights @ key
Your output is a weighted sum of the keys: `to_value` is never used.

Keys decide where to look, values what is passed on. Each has a matrix of its
own.

# KeysAndValuesExchanged (#why-three-projections)
- to_key -> to_value
- to_value -> to_key
`to_value` makes your keys, and `to_key` your values.

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

Then a word can find only what resembles it, and the layer has nothing to
learn.

# ProjectionsBent (#why-three-projections)
- scores =
+ query, key, value = query.relu(), key.relu(), value.relu()
+ scores =
or
- scores =
+ query, key = query.relu(), key.relu()
+ scores =
You apply a ReLU to what the projections give.

They are linear: no activation follows them. Without negative numbers no score
could say "anything but this".

# ScaledByModelWidth (05_score_functions#divide-by-the-square-root)
- query.size(-1) -> tgt.size(-1)
You divide by √d_model, the root of the width of the rows that come in.

A score is a sum of d_head products, so divide by √d_head. With a wrong root a
layer may train well, but weights from elsewhere give other outputs.

# ScaledByLength (05_score_functions#divide-by-the-square-root)
- query.size(-1) -> query.size(1)
You divide by the root of the number of words in the target.

A score is a sum of d_head products, so divide by √d_head. Other words of the
target must not change where one of them looks.

# ScaledBySourceLength (05_score_functions#divide-by-the-square-root)
- query.size(-1) -> key.size(1)
You divide by the root of the number of words in the source.

A score is a sum of d_head products, so divide by √d_head, however long the
source is.

# CrossUnscaled (#all-queries-at-once)
- / query.size(-1) ** 0.5 ->
You do not divide the scores by √d_head.

The wider the head, the more of the weight then goes to a single word.

# ScaledTwice (05_score_functions#divide-by-the-square-root)
- ** 0.5 ->
You divide the scores by d_head, not by its root.

Perhaps by the root twice: once by you, and once by the function from above
that you call. Your weights come out far more even than the paper's.

# MultipliedByTheRoot (05_score_functions#divide-by-the-square-root)
- / query -> * query
You multiply by the root of the head's width instead of dividing.

Scores get larger instead of smaller, and one word takes nearly all.

# ScaledAfterwards (05_score_functions#divide-by-the-square-root)
- / query.size(-1) ** 0.5 ->
- scores.softmax(dim=-1) -> scores.softmax(dim=-1) / query.size(-1) ** 0.5
or
- / query.size(-1) ** 0.5 ->
- weights @ value -> weights @ value / query.size(-1) ** 0.5
You divide after the softmax: the weights, or the output.

The root belongs to the scores. After the softmax it only makes smaller what is
fetched.

# TargetAdded
- weights @ value -> tgt + weights @ value
You add the target's rows to what was fetched.

That sum belongs to the layer around this one (chapter 08). Where the head is
not as wide as the model, your code raises an error.

# CrossSoftmaxOverTarget (#all-queries-at-once)
- dim=-1 -> dim=1
Your softmax runs over the words of the target.

Each word of the target shares out its own unit of attention over the *source*:
every row of the weights has to sum to one.

# CrossSoftmaxOverSentences (#all-queries-at-once)
- dim=-1 -> dim=0
Your softmax runs along the first axis, over the sentences.

Each sentence then shares its attention with its neighbours in the batch.

# WeightsFirst
- return
+ return (lambda output, weights: (weights, output))(
- , weights -> , weights)
You return the weights first, and what was fetched second.

# CrossScoresOverflow (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))(scores,
Where a score is large, your layer gives NaN.

You divide exponentials by their sum, and e¹⁰⁰ overflows float32: infinity over
infinity. PyTorch's softmax takes the largest score of the row away first.

# CrossMaximumOfEverything (05_score_functions#a-softmax-that-cannot-overflow)
- scores.softmax(
+ (lambda x, dim: x / x.sum(dim, keepdim=True))((scores - scores.max()).exp(),
You take away the largest score of the *whole* tensor, not of each row.

Where all scores of a row are far below it, all exponentials of the row
underflow to 0, and 0/0 is NaN.

# CrossFutureHidden (06_masks#the-causal-mask)
- weights =
+ seen = torch.ones_like(scores).tril() > 0
+ scores = scores.masked_fill(~seen, -torch.inf)
+ weights =
The first target word sees only one source word, the second only two.

That is a causal mask. It belongs to the target's look at itself: the source is
known from the beginning, and all of it may be seen.

# MemoryAndTarget
- query =
+ memory = torch.cat([memory, tgt], dim=1)
+ query =
or
- query =
+ memory = torch.cat([tgt, memory], dim=1)
+ query =
Your target looks at the source and at itself, joined to one sequence.

The paper has two layers for that, and this one is for the source alone.

# CrossScoresReturned
- , weights -> , scores
or
- , weights -> , query @ key.mT
You return the scores, from before the softmax, in the place of the weights.

Weights are positive, and each row of them sums to one.

# CrossWeightsTransposed (#all-queries-at-once)
- , weights -> , weights.mT
You return the weights transposed.

A row belongs to a query: a word of the target.

# CrossNoSoftmax
- scores.softmax(dim=-1) -> scores
There is no softmax: you mix the values with the scores themselves.

Scores may be negative, and their sum may be anything.

# CrossSoftmaxTwice
- scores.softmax(dim=-1) -> scores.softmax(dim=-1).softmax(dim=-1)
You apply a softmax twice.

The second one takes weights for scores. Weights lie between 0 and 1, so hardly
any difference between the words is left.

# CrossSigmoid
- softmax(dim=-1) -> sigmoid()
You squash each score by itself, with a sigmoid.

A softmax compares a score with the others of its row, and makes the row sum to
one.

# CrossPowersNotDivided
- softmax(dim=-1) -> exp()
or
- scores.softmax(dim=-1)
+ (scores - scores.amax(dim=-1, keepdim=True)).exp()
Your weights are exponentials of the scores, never divided by their sum.

They are positive, but a row does not sum to one.

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

# QueriesNotProjected (#why-three-projections)
- self.to_query(tgt) -> tgt
or
- query @ key.mT -> tgt @ key.mT
Your queries are the rows of `tgt` as they are; `to_query` is never used.

What a word looks for is to be learned. Where the head is not as wide as the
model, your code raises an error.

# KeysNotProjected (#why-three-projections)
- self.to_key(memory) -> memory
Your keys are the rows of `memory` as they are; `to_key` is never used.

What a word is found by is to be learned. Where the head is not as wide as the
model, your code raises an error.

# MatricesNotTransposed
- self.to_query(tgt) -> tgt @ self.to_query.weight
- self.to_key(memory) -> memory @ self.to_key.weight
- self.to_value(memory) -> memory @ self.to_value.weight
You multiply by the projections' matrices without transposing them.

`nn.Linear` keeps its matrix transposed: a row for each number that comes out.
Call the layer, or transpose.

# CrossKeysReshaped (07_multi_head_attention#splitting-and-merging)
- key.mT -> key.reshape(key.mT.shape)
You give the keys the shape of their transpose, but do not transpose them.

A view or a reshape leaves the numbers in the order in which they lie in
memory, so each column mixes several keys. The shape fits, so no error is
raised.

# KeysAsk (#all-queries-at-once)
- query @ key.mT -> key @ query.mT
or
- query @ key.mT -> key @ query.mT
- weights @ value -> weights @ query
or
- scores.softmax(dim=-1) -> scores.mT.softmax(dim=-1)
Your table has a row for each key: a word of the source.

A row belongs to a query, a word of the target. Where the two sentences have
different lengths, your code may raise an error when it mixes the values.

# ValuesOfTheQueries
- weights @ value -> weights @ query
You mix the *queries*; the values are never used.

The values are what the source hands over. Where the two sentences have
different lengths, your code raises an error.
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
    section="04_attention#one-formula-different-sources",
    points=2,
    hints=(
        "Two sentences come in, and queries, keys and values are made of "
        "them. Which of the two asks, and which is looked at? What is handed "
        "over belongs to what was looked at.",
        "There is one output for each query, so the queries are made of the "
        "sentence whose length the output has to have; keys and values of "
        "the other. What then follows is the exercise above.",
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
)
