"""Exercises of chapter 07: multi-head attention."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from transformer_course.attention import (
    masked_softmax,
    scaled_dot_product_attention,
)
from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    build_and_call,
    case,
    module_case,
    see,
    variant_of,
)
from transformer_course.masks import causal_mask, padding_mask

SPLITTING = "07_multi_head_attention#splitting-and-merging"
FOLDING = "07_multi_head_attention#folding-the-heads-into-the-batch"
FORMULA = "07_multi_head_attention#the-formula-and-its-sizes"
OUTPUT = "07_multi_head_attention#what-w-o-does"

# --- split_heads -------------------------------------------------------------


def split_heads(
    x: Float[Tensor, "batch length d_model"], n_heads: int
) -> Float[Tensor, "batch heads length d_head"]:
    """Give each head its own section of every token's numbers.

    No number is changed, each only gets another place.

    Args:
        x: what a projection has made of a batch of sentences.
        n_heads: how many heads share the width; it divides ``d_model``.

    Returns:
        An axis for the heads, ahead of the length. The first head has the
        first ``d_model / n_heads`` numbers of each token, the second one the
        next, and so on.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    pieces = x.view(batch, length, n_heads, d_model // n_heads)
    return pieces.transpose(1, 2)
    ### END SOLUTION


def split_by_chunks(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def split_by_slices(x, n_heads):
    width = x.size(-1) // n_heads
    heads = [x[:, :, i * width : (i + 1) * width] for i in range(n_heads)]
    return torch.cat([head[:, None] for head in heads], dim=1)


def split_of_transposed(x, n_heads):
    columns = x.mT.unflatten(1, (n_heads, -1))  # (batch, heads, d_head, ...)
    return columns.mT


def split_by_view_alone(x, n_heads):
    """Your shape is right, but your "heads" are sections of the *sentence*.

    `view` and `reshape` read the numbers in the order in which they lie in
    memory, token after token. So your first head holds all the numbers of the
    first tokens, one piece in each row, and never meets the last token.
    """
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


def split_not_transposed(x, n_heads):
    """Your heads stand behind the length: (batch, length, heads, d_head).

    Each token's numbers are cut into the right pieces. But a matrix product
    works on the last two axes: with yours, a token's heads would attend to
    each other, and tokens would not meet.
    """
    batch, length, d_model = x.shape
    return x.view(batch, length, n_heads, d_model // n_heads)


def split_by_turns(x, n_heads):
    """Your heads take a token's numbers in turns.

    With two heads, one has the numbers 0, 2, 4 and so on, the other 1, 3, 5.
    Asked for are sections that lie side by side. (A layer could be trained
    like this, since its columns have no order. But its weights would fit no
    other program.)
    """
    batch, length, d_model = x.shape
    pieces = x.view(batch, length, d_model // n_heads, n_heads)
    return pieces.permute(0, 3, 1, 2)


def split_sizes_swapped(x, n_heads):
    """You take the number of heads for the width of a head.

    With 8 numbers and 2 heads, yours are 4 heads of 2 numbers, in place of 2
    heads of 4.
    """
    batch, length, d_model = x.shape
    pieces = x.view(batch, length, d_model // n_heads, n_heads)
    return pieces.transpose(1, 2)


@see(FOLDING)
def split_heads_before_batch(x, n_heads):
    """Your heads stand ahead of the batch: (heads, batch, length, d_head).

    The pieces are right. But masks and other programs expect the batch
    first: (batch, heads, length, d_head).
    """
    return torch.stack(x.chunk(n_heads, dim=-1))


@see(FOLDING)
def split_into_the_batch(x, n_heads):
    """You have made one axis of the batch and the heads.

    To attention that makes no difference, and many programs do so. Asked for
    here are two axes, so that masks of (batch, 1, 1, key) still fit.
    """
    heads = torch.stack(x.chunk(n_heads, dim=-1), dim=1)
    return heads.flatten(0, 1)


def split_over_the_batch(x, n_heads):
    """Your heads mix the sentences of the batch.

    The shape is right, and so are batches of one with a single head. But a
    `view` or `reshape` that begins with the heads reads the batch in their
    place: one sentence's numbers stand in another one's row.
    """
    batch, length, d_model = x.shape
    mixed = x.reshape(n_heads, batch, length, d_model // n_heads)
    return mixed.transpose(0, 1)


def split_transposed_too_early(x, n_heads):
    """You transpose first, and cut afterwards.

    The shape is right. But the axis that you cut is then no longer that of a
    token's numbers: each row of yours mixes the numbers of several tokens.
    """
    batch, length, d_model = x.shape
    turned = x.transpose(1, 2)
    return turned.reshape(batch, n_heads, length, d_model // n_heads)


def split_all_alike(x, n_heads):
    """All your heads hold the same numbers, the first of each token.

    What they would compute is the same too. Each head is to have a section
    of its own.
    """
    first = x[:, None, :, : x.size(-1) // n_heads]
    return first.repeat(1, n_heads, 1, 1)


def numbered(*shape: int) -> Tensor:
    """Numbers from 0 on, to be followed through reshaping."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


def draw_stream(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 4), draw.size(1, 4)
    shape = draw.size(1, 3), draw.size(3, 6), n_heads * d_head
    return case("random numbers", draw.normal(*shape), n_heads)


SPLIT_HEADS = Exercise(
    solution=split_heads,
    section=SPLITTING,
    points=1,
    hints=(
        "Write down the numbers of two tokens, four each, and draw a line "
        "where two heads part. Which axis has to be cut in two? And where is "
        "the new axis to stand?",
        "Cut the last axis into heads and numbers of a head, and leave the "
        "other two as they are. Then swap the length with the heads: these "
        "are two steps, and `view` alone cannot do the second.",
    ),
    cases=[
        case("two tokens, two heads of one number", numbered(1, 2, 2), 2),
        case("a single token", numbered(1, 1, 4), 2),
        case("two tokens, two heads of two", numbered(1, 2, 4), 2),
        case("one head", numbered(1, 2, 3), 1),
        case("two heads of three numbers", numbered(1, 2, 6), 2),
        case("two sentences", numbered(2, 3, 4), 2),
        case("three heads, five tokens", numbered(2, 5, 6), 3),
        case("float64", numbered(2, 2, 4).double(), 2),
    ],
    draw=draw_stream,
    others=[split_by_chunks, split_by_slices, split_of_transposed],
    mistakes=[
        split_by_view_alone,
        split_not_transposed,
        split_by_turns,
        split_sizes_swapped,
        split_heads_before_batch,
        split_into_the_batch,
        split_over_the_batch,
        split_transposed_too_early,
        split_all_alike,
    ],
)

# --- merge_heads -------------------------------------------------------------


def merge_heads(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch length d_model"]:
    """Lay the heads' answers side by side: the way back from a split.

    Args:
        x: what each head says at each token.

    Returns:
        For each token the numbers of the first head, then those of the
        second, and so on; ``d_model`` is heads · d_head.
    """
    ### BEGIN SOLUTION
    batch, _, length, _ = x.shape
    return x.transpose(1, 2).reshape(batch, length, -1)
    ### END SOLUTION


def merge_by_cat(x):
    return torch.cat([x[:, i] for i in range(x.size(1))], dim=-1)


def merge_by_flatten(x):
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)


def merge_by_filling(x):
    batch, heads, length, width = x.shape
    merged = x.new_empty(batch, length, heads * width)
    for head in range(heads):
        merged[..., head * width : (head + 1) * width] = x[:, head]
    return merged


def merged_without_transpose(x):
    """Your shape is right, but you have not swapped heads and length.

    The numbers lie in memory head after head. Read like that, the first row
    of your result is what *one* head says at the first tokens, in place of
    what all heads say at the first one. No error is raised.
    """
    batch, _, length, _ = x.shape
    return x.reshape(batch, length, -1)


def merged_by_view(x):
    """Your heads and length are swapped, but then `view` refuses.

    After `transpose` the numbers no longer lie in memory in the order in
    which they are read, and `view` never moves a number. What copies them
    into order?
    """
    batch, _, length, _ = x.shape
    return x.transpose(1, 2).view(batch, length, -1)


def merged_by_turns(x):
    """You lay the heads' numbers down in turns.

    First comes the first number of every head, then the second of every
    head. Asked for is one head's section after the other.
    """
    return x.permute(0, 2, 3, 1).flatten(2)


def merged_wrong_axes(x):
    """You swap the last two axes, length and numbers, and not the heads.

    The shape comes out right all the same, after reshaping. But a row of
    your result holds one number of several tokens.
    """
    batch, _, length, _ = x.shape
    return x.transpose(2, 3).reshape(batch, length, -1)


def merged_over_the_batch(x):
    """You swap the heads with the batch, in place of the length.

    The shape comes out right all the same, after reshaping. But what the
    heads say of one sentence lands in another one's row.
    """
    batch, _, length, _ = x.shape
    return x.transpose(0, 1).reshape(batch, length, -1)


@see(OUTPUT)
def merged_by_sum(x):
    """You add the heads up.

    Then nobody can tell any more which head said what. They are added later,
    once each has been multiplied by its own rows of the output matrix; here
    they are laid side by side.
    """
    return x.sum(dim=1)


@see(OUTPUT)
def merged_by_mean(x):
    """You take the mean over the heads.

    Averaging was the very thing that several heads were to avoid. They are
    laid side by side, so that each keeps its own numbers.
    """
    return x.mean(dim=1)


def merged_in_length(x):
    """You lay the heads' answers one below the other.

    With two heads the sentence has become twice as long. They belong side by
    side, in the row of their token.
    """
    return x.flatten(1, 2)


def draw_answers(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(2, 4)
    answers = draw.normal(batch, heads, draw.size(2, 6), draw.size(2, 4))
    return case("random numbers", answers)


MERGE_HEADS = Exercise(
    solution=merge_heads,
    section=SPLITTING,
    points=1,
    hints=(
        "Which two axes are to become one? A merge can only join axes that "
        "stand beside each other, in that order.",
        "Undo the steps of the split, the last one first: bring the heads "
        "back behind the length, then make one axis of heads and numbers. "
        "Not every function can do the second to a transposed tensor.",
    ),
    cases=[
        case("two heads of one number", numbered(1, 2, 2, 1)),
        case("two heads of two numbers", numbered(1, 2, 2, 2)),
        case("a single token", numbered(1, 3, 1, 2)),
        case("one head", numbered(1, 1, 3, 2)),
        case("three heads, two tokens", numbered(1, 3, 2, 2)),
        case("two sentences", numbered(2, 2, 3, 2)),
        case(
            "heads that were split from a row",
            split_heads(numbered(2, 3, 6), 3),
        ),
        case("float64", numbered(2, 2, 2, 3).double()),
    ],
    draw=draw_answers,
    others=[merge_by_cat, merge_by_flatten, merge_by_filling],
    mistakes=[
        merged_without_transpose,
        merged_by_view,
        merged_by_turns,
        merged_wrong_axes,
        merged_over_the_batch,
        merged_by_sum,
        merged_by_mean,
        merged_in_length,
    ],
)

# --- MultiHead ---------------------------------------------------------------


class MultiHead(nn.Module):
    """Several attentions side by side, each on its own projections.

    The four matrices are there, each for all heads at once. Each head is a
    scaled dot-product attention as in chapter 04, on its own section of what
    they give: ``d_model / n_heads`` numbers of each token, as
    ``split_heads`` cuts them. There is no dropout, and no sum with the input.

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
                at. No row is without a key that may be looked at.

        Returns:
            What the heads say, laid side by side and mixed by the output
            matrix.
        """
        ### BEGIN SOLUTION
        source = query if memory is None else memory
        q = split_heads(self.to_query(query), self.n_heads)
        k = split_heads(self.to_key(source), self.n_heads)
        v = split_heads(self.to_value(source), self.n_heads)
        answers, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(merge_heads(answers))
        ### END SOLUTION


class InSteps(MultiHead):
    def forward(self, query, memory=None, mask=None):
        q, k, v = self.project(query, query if memory is None else memory)
        weights = self.weigh(self.scores(q, k), mask)
        return self.join(torch.einsum("bhqk,bhkd->bhqd", weights, v))

    def project(self, query, memory):
        return [
            self.split(project(x))
            for project, x in (
                (self.to_query, query),
                (self.to_key, memory),
                (self.to_value, memory),
            )
        ]

    def split(self, x):
        return torch.stack(x.chunk(self.n_heads, dim=-1), dim=1)

    def scores(self, q, k):
        return torch.einsum("bhqd,bhkd->bhqk", q, k) / q.size(-1) ** 0.5

    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1)

    def join(self, answers):
        return self.to_output(torch.cat(answers.unbind(1), dim=-1))


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


@see(FORMULA)
class ScaledByWholeWidth(InSteps):
    """You divide the scores by √d_model.

    Each head's dot product has only d_model / h terms, and its size goes with
    the root of *their* number. Divided by more, the softmax comes out too
    even.
    """

    def scores(self, q, k):
        return q @ k.mT / (self.n_heads * q.size(-1)) ** 0.5


@see(FORMULA)
class NotScaled(InSteps):
    """You do not divide the scores by anything.

    Each head's scores are divided by the root of its own width, or the
    softmax becomes too sharp.
    """

    def scores(self, q, k):
        return q @ k.mT


@see(FORMULA)
class ScaledWithoutRoot(InSteps):
    """You divide the scores by d_head, and not by its root."""

    def scores(self, q, k):
        return q @ k.mT / q.size(-1)


class ScaledByNumberOfHeads(InSteps):
    """You divide the scores by the root of the *number* of heads.

    It is the *width* of a head that the size of a dot product goes with.
    """

    def scores(self, q, k):
        return q @ k.mT / self.n_heads**0.5


@see(OUTPUT)
class NoOutputMatrix(InSteps):
    """You leave out the output matrix.

    The heads' answers stand side by side, and each would write into its own
    section only. `to_output` mixes them.
    """

    def join(self, answers):
        return torch.cat(answers.unbind(1), dim=-1)


@see(FORMULA)
class OneWideHead(MultiHead):
    """You attend once, with the whole width, as if there were one head.

    Each token gets one pattern of weights. The numbers have to be split over
    the heads before the scores are computed.
    """

    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        q, k, v = (
            project(x)[:, None]
            for project, x in (
                (self.to_query, query),
                (self.to_key, memory),
                (self.to_value, memory),
            )
        )
        answer, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(answer[:, 0])


@variant_of(OneWideHead)
class OneWideHeadWithoutAxis(MultiHead):
    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        answer, _ = scaled_dot_product_attention(
            self.to_query(query),
            self.to_key(memory),
            self.to_value(memory),
            mask,
        )
        return self.to_output(answer)


@see(SPLITTING)
class SplitAndMergedByView(InSteps):
    """You split, and merge, by `view` or `reshape` without a transpose.

    All shapes are right, and merging undoes the mistake of splitting. But
    your heads are sections of the sentence: tokens of different sections
    never meet.
    """

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, self.n_heads, length, width // self.n_heads)

    def join(self, answers):
        batch, _, length, _ = answers.shape
        return self.to_output(answers.reshape(batch, length, -1))


@see(SPLITTING)
class SplitByView(InSteps):
    """You split by `view` or `reshape` without a transpose.

    The shape is right, but your heads are sections of the sentence: tokens
    of different sections never meet. (How you merge is right.)
    """

    def split(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, self.n_heads, length, width // self.n_heads)


@see(SPLITTING)
class MergedByView(InSteps):
    """You merge by `view` or `reshape` without a transpose.

    The heads are split well, and attend well. But their answers are read
    head after head: a token's row holds what one head says at several
    tokens.
    """

    def join(self, answers):
        batch, _, length, _ = answers.shape
        return self.to_output(answers.reshape(batch, length, -1))


@see(FORMULA)
class MemoryIgnored(MultiHead):
    """Your heads never look at the memory.

    Keys and values come from the query, even when a memory is given. This
    is self-attention, always; with a mask for a memory of another length it
    ends in an error.
    """

    def forward(self, query, memory=None, mask=None):
        return super().forward(query, None, mask)


@see(FORMULA)
class QueryAndMemorySwapped(InSteps):
    """Your queries come from the memory, your keys and values from `query`.

    It is the other way about: `query` asks, so the result has a row for each
    of *its* tokens, and what is fetched comes from the memory.
    Self-attention does not notice.
    """

    def project(self, query, memory):
        return super().project(memory, query)


@see(FORMULA)
class ValuesFromQuery(InSteps):
    """Your keys come from the memory, but your values from `query`.

    What is looked at is then not what is fetched. Where the lengths differ,
    it ends in an error.
    """

    def project(self, query, memory):
        q, k, _ = super().project(query, memory)
        return q, k, self.split(self.to_value(query))


@variant_of(ValuesFromQuery)
class ValuesFromQueryOfThePackage(ValuesFromQuery):
    def forward(self, query, memory=None, mask=None):
        q, k, v = self.project(query, query if memory is None else memory)
        answers, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.join(answers)


@see(FORMULA)
class ValuesAreKeys(InSteps):
    """You fetch the keys: the value projection is never used.

    What a token is found by, and what it hands over, are two things to
    learn.
    """

    def project(self, query, memory):
        q, k, _ = super().project(query, memory)
        return q, k, k


@see(FORMULA)
class KeysByQueryMatrix(InSteps):
    """You make the keys with the matrix of the queries.

    `to_key` is never used. What a token looks for, and what it is found by,
    are two things to learn.
    """

    def project(self, query, memory):
        q, _, v = super().project(query, memory)
        return q, self.split(self.to_query(memory)), v


@see(FORMULA)
class NotProjected(InSteps):
    """You split the tokens themselves: none of the three projections is used.

    Each head then sees only its own section of every token, and has nothing
    to learn. With the projections it sees all of the token, from its side.
    """

    def project(self, query, memory):
        return [self.split(x) for x in (query, memory, memory)]


@see("07_multi_head_attention#one-matrix-or-one-for-each-head")
class SplitBeforeProjecting(InSteps):
    """You split the tokens first, and project the pieces.

    The matrices are as wide as the model, and the pieces are not: with more
    than one head there is an error. Each head reads *all* of a token; only
    what comes out of a projection is shared out.
    """

    def project(self, query, memory):
        return [
            project(self.split(x))
            for project, x in (
                (self.to_query, query),
                (self.to_key, memory),
                (self.to_value, memory),
            )
        ]


@see(FORMULA)
class MemoryAlwaysExpected(InSteps):
    """You use the memory without asking whether there is one.

    Left out, it is None: then the sentence attends to itself, and keys and
    values come from the query.
    """

    def forward(self, query, memory=None, mask=None):
        self.to_key(memory)
        return super().forward(query, memory, mask)


class QueryAdded(InSteps):
    """You add the query to what the heads say.

    That sum belongs to the layer around this one (chapter 08). Asked for is
    what comes out of the output matrix, and nothing else.
    """

    def forward(self, query, memory=None, mask=None):
        return query + super().forward(query, memory, mask)


class ProjectedByRelu(InSteps):
    """Your queries, keys and values have no negative numbers.

    There seems to be a relu on the projections, as one Keras layer has by
    default. In the Transformer they are linear.
    """

    def split(self, x):
        return super().split(x.relu())


@see("06_masks#the-padding-mask-by-hand")
class MaskIgnored(InSteps):
    """Nothing is hidden: the mask is never used."""

    def weigh(self, scores, mask):
        return scores.softmax(dim=-1)


@see("06_masks#everybodys-conventions")
class MaskInverted(InSteps):
    """You look at what the mask hides, and only at that.

    In this course True says that a key *may be* attended to.
    """

    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else ~mask)


@variant_of(MaskInverted)
class MaskInvertedOfThePackage(InSteps):
    def weigh(self, scores, mask):
        return masked_softmax(scores, None if mask is None else ~mask)


@see("06_masks#the-padding-mask-by-hand")
class MaskOfTheFirstHead(InSteps):
    """All your heads use the mask of the first one.

    Mostly a mask is the same for all heads. But the task says that it is
    broadcast over them, so that each may have its own.
    """

    def weigh(self, scores, mask):
        return super().weigh(scores, None if mask is None else mask[:, :1])


@see("06_masks#why-minus-infinity-and-why-before-the-softmax")
class MaskAfterSoftmax(InSteps):
    """You hide keys *after* the softmax, by multiplying their weights by 0.

    The hidden keys stay in the softmax's sum: what is left of a row does not
    sum to one.
    """

    def weigh(self, scores, mask):
        weights = scores.softmax(dim=-1)
        return weights if mask is None else weights * mask


@see("06_masks#why-minus-infinity-and-why-before-the-softmax")
class HiddenScoresZero(InSteps):
    """You multiply the hidden scores by 0 before the softmax.

    A score of 0 is an ordinary score: its key gets a share of e⁰ = 1.
    """

    def weigh(self, scores, mask):
        return super().weigh(scores if mask is None else scores * mask, None)


@see("04_attention#three-tokens-by-hand")
class SoftmaxOverHeads(InSteps):
    """Your softmax runs over the heads.

    With an axis for the heads, axis 1 is no longer the keys'. For each pair
    of tokens your heads share out one weight; it is each head's row over the
    *keys* that has to sum to one.
    """

    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=1)


@see("04_attention#three-tokens-by-hand")
class SoftmaxOverQueries(InSteps):
    """Your softmax runs over the queries, down the columns.

    Each query spreads its own attention: every *row* has to sum to one.
    """

    def weigh(self, scores, mask):
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=-2)


@see(FOLDING)
class MasksInTurns(InSteps):
    """Half of your heads see the padding of another sentence.

    You seem to fold the heads into the batch. The rows are then sentence 1
    once for each head, next sentence 2 once for each head; your masks stand
    in another order, sentence 1, 2, 1, 2.
    """

    def weigh(self, scores, mask):
        if mask is None:
            return super().weigh(scores, mask)
        batch, heads, query, key = scores.shape
        whole = mask[:, :1].expand(batch, 1, query, key)[:, 0]
        in_turns = whole.repeat(heads, 1, 1).view(scores.shape)
        return super().weigh(scores, in_turns)


FACTORS = {
    "to_query.weight": 1.0,
    "to_key.weight": 2.0,
    "to_value.weight": 10.0,
    "to_output.weight": -1.0,
}
BY_HAND = "Q·1 K·2 V·10 O·(-1)"


def small_by_hand(candidate, given: Case) -> Tensor:
    """At a width of 2 each matrix multiplies by one number."""
    if given.build[0] > 2:
        return build_and_call(candidate, given)
    module = candidate(*given.build)
    for name, factor in FACTORS.items():
        with torch.no_grad():
            module.get_parameter(name).copy_(factor * torch.eye(2))
    return module(*given.args, **given.kwargs)


def draw_attention(draw: Draw) -> Case:
    n_heads, d_head = draw.size(2, 3), draw.size(2, 4)
    batch, query, key = draw.size(1, 3), draw.size(2, 4), draw.size(2, 5)
    x = draw.normal(batch, query, n_heads * d_head)
    memory = draw.normal(batch, key, n_heads * d_head)
    mask = draw.mask(batch, 1, 1, key)
    mask[..., 0] = True
    return module_case(
        "random numbers, a memory and padding",
        (n_heads * d_head, n_heads),
        x,
        memory,
        mask,
    )


MULTI_HEAD = Exercise(
    solution=MultiHead,
    section=FORMULA,
    points=3,
    hints=(
        "Five steps, and you have written two of them already: project, "
        "split, attend, merge, project. Which of the three projections read "
        "the query, and which the memory?",
        "Project at full width first, then split the three results. "
        "`scaled_dot_product_attention` of chapter 04 works on the last two "
        "axes, and takes the mask as it is. Its scale is the root of the "
        "width that it is given: that has to be a head's.",
    ),
    cases=[
        module_case(
            f"two heads, {BY_HAND}",
            (2, 2),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
        ),
        module_case(
            f"one head, {BY_HAND}",
            (2, 1),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
        ),
        module_case(
            f"a memory, {BY_HAND}",
            (2, 2),
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[[3.0, 0.0], [0.0, 1.0]]]),
        ),
        module_case(
            f"padding, {BY_HAND}",
            (2, 2),
            torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
            None,
            padding_mask(torch.tensor([[5, 0]])),
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
    others=[InSteps, SumOfHeads, Fused],
    mistakes=[
        ScaledByWholeWidth,
        NotScaled,
        ScaledWithoutRoot,
        ScaledByNumberOfHeads,
        NoOutputMatrix,
        OneWideHead,
        OneWideHeadWithoutAxis,
        SplitAndMergedByView,
        SplitByView,
        MergedByView,
        MemoryIgnored,
        QueryAndMemorySwapped,
        ValuesFromQuery,
        ValuesFromQueryOfThePackage,
        ValuesAreKeys,
        KeysByQueryMatrix,
        NotProjected,
        SplitBeforeProjecting,
        MemoryAlwaysExpected,
        QueryAdded,
        ProjectedByRelu,
        MaskIgnored,
        MaskInverted,
        MaskInvertedOfThePackage,
        MaskOfTheFirstHead,
        MaskAfterSoftmax,
        HiddenScoresZero,
        SoftmaxOverHeads,
        SoftmaxOverQueries,
        MasksInTurns,
    ],
    run=small_by_hand,
)

EXERCISES = [SPLIT_HEADS, MERGE_HEADS, MULTI_HEAD]
"""In the order of the notebook."""
