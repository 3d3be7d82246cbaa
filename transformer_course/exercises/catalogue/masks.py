"""Exercises of chapter 06: masks."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
    variant_of,
)

BEFORE = "06_masks#why-minus-infinity-and-why-before-the-softmax"
HOW_MINUS = "06_masks#how-minus-is-infinity"
CONVENTIONS = "06_masks#everybodys-conventions"
EMPTY_ROWS = "06_masks#rows-that-may-attend-nowhere"

# --- padding_mask ------------------------------------------------------------


def padding_mask(
    ids: Int[Tensor, "batch key"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 key"]:
    """Say which keys are real tokens, and which are padding.

    Args:
        ids: a batch of sentences, filled up with ``pad_id``.
        pad_id: the number that means nothing.

    Returns:
        True where a key may be attended to. The two axes of size 1 stand
        for all heads and all queries.
    """
    ### BEGIN SOLUTION
    real = ids != pad_id
    return real[:, None, None, :]
    ### END SOLUTION


def padding_by_unsqueeze(ids, pad_id=0):
    return ids.ne(pad_id).unsqueeze(1).unsqueeze(2)


def padding_by_view(ids, pad_id=0):
    batch, key = ids.shape
    return torch.logical_not(ids == pad_id).view(batch, 1, 1, key)


@see(CONVENTIONS)
def padding_inverted(ids, pad_id=0):
    """Your mask is True at padding and False at words.

    In this course True says that a key *may be* attended to. With your mask
    a sentence would look at nothing but its padding. (Yours is the
    convention of `nn.MultiheadAttention`.)
    """
    return (ids == pad_id)[:, None, None, :]


@see(CONVENTIONS)
def padding_added(ids, pad_id=0):
    """Your mask is a table of numbers to be added to the scores: 0 and -inf.

    That works too, and some libraries want it so. But it cannot be joined
    with another mask by `&`, and asked for is a mask of True and False.
    """
    hidden = (ids == pad_id)[:, None, None, :]
    return torch.zeros(hidden.shape).masked_fill(hidden, -torch.inf)


@see("06_masks#two-masks-at-once")
def padding_in_two_axes(ids, pad_id=0):
    """Your mask has only the batch and the keys as its axes.

    Scores are (batch, heads, query, key), and broadcasting lines axes up
    from the right: your batch would be taken for the queries.
    """
    return ids != pad_id


@see("06_masks#two-masks-at-once")
def padding_in_three_axes(ids, pad_id=0):
    """Your mask has an axis for the queries, but none for the heads.

    Broadcasting lines axes up from the right: against scores of (batch,
    heads, query, key) your batch would be taken for the heads.
    """
    return (ids != pad_id)[:, None, :]


def padding_batch_at_heads(ids, pad_id=0):
    """The batch stands on the axis of the heads.

    Against scores of (batch, heads, query, key) your mask says something
    about each head, and the same about every sentence.
    """
    return (ids != pad_id)[None, :, None, :]


def padding_of_queries(ids, pad_id=0):
    """Your mask hides queries, not keys.

    Its tokens lie on the third axis, that of the queries: a word still looks
    at padding, and padding may look nowhere.
    """
    return (ids != pad_id)[:, None, :, None]


@see(EMPTY_ROWS)
def padding_of_queries_too(ids, pad_id=0):
    """Your mask hides padding as a key, and as a query too.

    It looks tidier, but it makes rows that may attend nowhere. Nobody uses
    what padding asks for: it is enough to hide it as a key.
    """
    real = ids != pad_id
    return (real[:, :, None] & real[:, None, :])[:, None]


def padding_always_zero(ids, pad_id=0):
    """Your mask takes 0 for padding, whatever `pad_id` says."""
    return (ids != 0)[:, None, None, :]


def draw_sentences(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 7), pad_id)
    return case("random sentences", ids, pad_id)


PADDING_MASK = Exercise(
    solution=padding_mask,
    section="06_masks#the-padding-mask-by-hand",
    points=2,
    hints=(
        "Which tokens are real is a comparison of the whole tensor with one "
        "number, no loop. What is its shape, and which axes are missing "
        "between those of (batch, heads, query, key)?",
        "Compare so that words give True. Then put two new axes of size 1 "
        "between the two that you have: indexing with None makes one.",
    ),
    cases=[
        case("one sentence of a word and padding", torch.tensor([[7, 0]]), 0),
        case("a single token", torch.tensor([[5]]), 0),
        case(
            "two sentences of different lengths",
            torch.tensor([[7, 8, 9], [4, 0, 0]]),
            0,
        ),
        case("padding that is not 0", torch.tensor([[7, 0, 9], [4, 1, 1]]), 1),
        case("pad_id left out", torch.tensor([[7, 8, 0, 0]])),
        case("a sentence of padding alone", torch.tensor([[7, 8], [0, 0]]), 0),
        case(
            "padding on the left",
            torch.tensor([[0, 0, 5, 6], [0, 3, 4, 5]]),
            0,
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[7, 8, 0], [6, 0, 0], [1, 2, 3]]),
            0,
        ),
    ],
    draw=draw_sentences,
    others=[padding_by_unsqueeze, padding_by_view],
    mistakes=[
        padding_inverted,
        padding_added,
        padding_in_two_axes,
        padding_in_three_axes,
        padding_batch_at_heads,
        padding_of_queries,
        padding_of_queries_too,
        padding_always_zero,
    ],
)

# --- causal_mask -------------------------------------------------------------


def causal_mask(length: int) -> Bool[Tensor, "1 1 query key"]:
    """Let each token look at itself and at what came before.

    Args:
        length: how many tokens there are.

    Returns:
        True where a query (row) may attend to a key (column). The two axes
        of size 1 stand for all sentences and all heads.
    """
    ### BEGIN SOLUTION
    everything = torch.ones(length, length, dtype=torch.bool)
    return everything.tril()[None, None]
    ### END SOLUTION


def causal_by_positions(length):
    position = torch.arange(length)
    not_later = position[None, :] <= position[:, None]
    return not_later.view(1, 1, length, length)


def causal_by_loop(length):
    mask = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for query in range(length):
        mask[..., query, : query + 1] = True
    return mask


@see(CONVENTIONS)
def causal_inverted(length):
    """Your mask is True exactly where the future is.

    In this course True says that a key *may be* attended to. With your mask
    a token sees only what comes after it, and the last one nothing at all.
    (`nn.Transformer` has the convention that you used.)
    """
    ones = torch.ones(length, length, dtype=torch.bool)
    return ones.triu(1)[None, None]


def causal_backwards(length):
    """Your mask lets a token see itself and what comes *after* it.

    Rows are queries, columns are keys: row 0 is the first token, and there
    is nothing before it that it could see. Yours is the other triangle.
    """
    ones = torch.ones(length, length, dtype=torch.bool)
    return ones.triu()[None, None]


def causal_without_itself(length):
    """Your mask hides each token from itself.

    The first token may then look nowhere. A token's own key is not the
    future: what is to be predicted is the *next* one.
    """
    ones = torch.ones(length, length, dtype=torch.bool)
    return ones.tril(-1)[None, None]


@see("06_masks#what-a-model-learns-that-can-see-the-future")
def causal_one_too_many(length):
    """Your mask lets each token see one token of the future.

    It is the very one that it has to predict.
    """
    ones = torch.ones(length, length, dtype=torch.bool)
    return ones.tril(1)[None, None]


def causal_everything(length):
    """Your mask hides nothing: every token sees the whole sentence."""
    return torch.ones(1, 1, length, length, dtype=torch.bool)


def causal_nothing(length):
    """Your mask hides everything: no token sees anything, not even itself."""
    return torch.zeros(1, 1, length, length, dtype=torch.bool)


def causal_only_itself(length):
    """Your mask lets each token see itself and nothing else.

    What came before must be seen as well, or there is nothing to attend to.
    """
    return torch.eye(length, dtype=torch.bool)[None, None]


@see(CONVENTIONS)
def causal_added(length):
    """Your mask is a table of numbers to be added to the scores: 0 and -inf.

    That works too, and some libraries want it so. But it cannot be joined
    with a padding mask by `&`, and asked for is a mask of True and False.
    """
    table = torch.full((length, length), -torch.inf)
    return table.triu(1)[None, None]


@see("06_masks#two-masks-at-once")
def causal_in_two_axes(length):
    """Your mask is right, but has no axes for the batch and the heads.

    Broadcasting would put them there in most places. Asked for is the shape
    in which it is joined with a padding mask: (1, 1, query, key).
    """
    return torch.ones(length, length, dtype=torch.bool).tril()


def draw_length(draw: Draw) -> Case:
    return case("a random length", draw.size(2, 12))


CAUSAL_MASK = Exercise(
    solution=causal_mask,
    section="06_masks#the-future",
    points=2,
    hints=(
        "Write the table for three tokens on paper first: a row for each "
        "query, a column for each key. Which shape do the cells have that "
        "are True?",
        "A lower triangle with its diagonal. torch cuts one out of a tensor "
        "of ones; comparing positions with each other gives it as well. "
        "Then there are two axes to add in front.",
    ),
    cases=[
        case("one token", 1),
        case("two tokens", 2),
        case("three tokens", 3),
        case("an even length", 6),
        case("a longer sentence", 17),
    ],
    draw=draw_length,
    others=[causal_by_positions, causal_by_loop],
    mistakes=[
        causal_inverted,
        causal_backwards,
        causal_without_itself,
        causal_one_too_many,
        causal_everything,
        causal_nothing,
        causal_only_itself,
        causal_added,
        causal_in_two_axes,
    ],
)

# --- masked_softmax ----------------------------------------------------------


def masked_softmax(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "..."]
) -> Float[Tensor, "*batch query key"]:
    """Weigh the keys that may be attended to, and no others.

    Args:
        scores: how well each key answers each query.
        mask: True = may be attended to; broadcast to the scores' shape.

    Returns:
        A softmax over the keys that the mask allows; the hidden ones have
        weight 0. A row that may attend nowhere is all zeros, and its
        gradient is not NaN either. All of it holds for float16 too.
    """
    ### BEGIN SOLUTION
    somewhere = mask.any(dim=-1, keepdim=True)
    opened = mask | ~somewhere  # rows that are empty see all, for now
    weights = scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)
    return weights * somewhere
    ### END SOLUTION


def softmax_by_where(scores, mask):
    mask = mask.expand_as(scores)
    empty = ~mask.any(dim=-1, keepdim=True)
    hidden = torch.where(mask | empty, scores, float("-inf"))
    weights = torch.softmax(hidden, dim=-1)
    return torch.where(empty, torch.zeros_like(weights), weights)


def softmax_by_hand(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    largest = hidden.amax(dim=-1, keepdim=True).detach()
    largest = largest.clamp(min=torch.finfo(scores.dtype).min)
    terms = (hidden - largest).exp()
    total = terms.sum(dim=-1, keepdim=True)
    return terms / total.masked_fill(total == 0, 1.0)


def softmax_mended(scores, mask):
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def softmax_of_finite_minimum(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


@see(CONVENTIONS)
def mask_inverted(scores, mask):
    """Your weights lie on the keys that the mask hides.

    In this course True says that a key *may be* attended to.
    """
    return masked_softmax(scores, ~mask)


@variant_of(mask_inverted)
def mask_inverted_not_a_number(scores, mask):
    return scores.masked_fill(mask, -torch.inf).softmax(dim=-1)


@variant_of(mask_inverted)
def mask_inverted_finite(scores, mask):
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(mask, lowest).softmax(dim=-1)


@variant_of(mask_inverted)
def mask_inverted_minus_1e9(scores, mask):
    return scores.masked_fill(mask, -1e9).softmax(dim=-1)


@see("06_masks#what-wrong-masks-do")
def mask_after_softmax(scores, mask):
    """You hide keys *after* the softmax, by multiplying their weights by 0.

    The hidden keys stay in the softmax's sum: what is left of a row does not
    sum to one, and how much is missing tells what was hidden.
    """
    return scores.softmax(dim=-1) * mask


@see(BEFORE)
def mask_after_and_divided(scores, mask):
    """You multiply weights by 0 after a softmax, and divide by what is left.

    On paper that is right. But where a hidden key has by far the largest
    score, nothing is left of the others but 0, and 0 is divided by 0. An
    empty row is 0 / 0 too.
    """
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


@see(BEFORE)
def mask_after_and_divided_safely(scores, mask):
    """You multiply weights by 0 after a softmax, and divide by what is left
    plus a little.

    Where a hidden key has by far the largest score, nothing is left of the
    others but 0, and you give 0 to all. Empty rows come out right.
    """
    weights = scores.softmax(dim=-1) * mask
    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)


@see("05_score_functions#a-softmax-that-cannot-overflow")
def exponentials_times_zero(scores, mask):
    """You take e^s of every score, and multiply the hidden ones by 0.

    e^s of a large score is infinity, and 0 times infinity is NaN. And where
    all are hidden, or all scores are very low, 0 is divided by 0.
    """
    terms = scores.exp() * mask
    return terms / terms.sum(dim=-1, keepdim=True)


@variant_of(exponentials_times_zero)
def exponentials_times_zero_safely(scores, mask):
    terms = scores.exp() * mask
    return terms / (terms.sum(dim=-1, keepdim=True) + 1e-9)


@see(BEFORE)
def scores_times_zero(scores, mask):
    """You multiply the hidden scores by 0 before the softmax.

    A score of 0 is an ordinary score: its key gets a share of e⁰ = 1.
    """
    return (scores * mask).softmax(dim=-1)


@see(EMPTY_ROWS)
def empty_rows_not_a_number(scores, mask):
    """A row that may attend nowhere becomes NaN.

    Every score in it is -inf, and the softmax divides 0 by 0. Rows that may
    look somewhere are right.
    """
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)


@see(EMPTY_ROWS)
def empty_rows_see_all(scores, mask):
    """A row that may attend nowhere looks everywhere, as if nothing were
    hidden.

    To open such a row keeps the softmax finite, but its weights have to go
    afterwards. Rows that may look somewhere are right.
    """
    opened = mask | ~mask.any(dim=-1, keepdim=True)
    return scores.masked_fill(~opened, -torch.inf).softmax(dim=-1)


@see(HOW_MINUS)
def empty_rows_uniform(scores, mask):
    """A row that may attend nowhere looks everywhere, with equal weights.

    You hide by a number that is very low, but finite. Where all scores of a
    row have it, the softmax finds them equal. Rows that may look somewhere
    are right.
    """
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1)


@see(HOW_MINUS)
def hidden_by_minus_1e9(scores, mask):
    """You hide by -1e9 or a number like it.

    It is too large for float16, and a row that may attend nowhere looks
    everywhere, with equal weights.
    """
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1)


@see(HOW_MINUS)
def not_low_enough(scores, mask):
    """You hide by a number that is low, but not low enough.

    There are scores that are lower still: then the hidden keys get nearly
    all, and those that may be seen get nothing.
    """
    return scores.masked_fill(~mask, -1e4).softmax(dim=-1)


@variant_of(not_low_enough)
def not_low_enough_and_zeros(scores, mask):
    return scores.masked_fill(~mask, -1e4).softmax(dim=-1) * mask


@see(HOW_MINUS)
def minus_1e9_and_zeros(scores, mask):
    """You use a number that float16 does not have, such as -1e9.

    In float32 your weights are right. But the lowest number of float16 is
    -65504: give the lowest of the scores' own kind, or -inf.
    """
    return scores.masked_fill(~mask, -1e9).softmax(dim=-1) * mask


@see(EMPTY_ROWS)
def not_a_number_mended(scores, mask):
    """The result is right, but its gradient is NaN for empty rows.

    You add -inf to hidden scores, let the softmax divide 0 by 0, and put
    zeros in place of the NaN. The way back still goes through it: 0 · NaN is
    NaN. One training step, and weights are NaN.
    """
    added = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (scores + added).softmax(dim=-1).nan_to_num(0.0)


@see("04_attention#three-tokens-by-hand")
def softmax_over_queries(scores, mask):
    """Your softmax runs over the queries, down the columns.

    Each query spreads its own attention: every *row* has to sum to one.
    """
    opened = mask | ~mask.any(dim=-1, keepdim=True)
    hidden = scores.masked_fill(~opened, -torch.inf)
    return hidden.softmax(dim=-2) * mask


@variant_of(softmax_over_queries)
def softmax_over_queries_minus_1e9(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(dim=-2) * mask


@see("04_attention#three-tokens-by-hand")
def softmax_over_the_table(scores, mask):
    """Your softmax runs over queries and keys together.

    The whole table sums to one. Each query spreads its own attention: every
    *row* has to sum to one.
    """
    hidden = scores.masked_fill(~mask, -torch.inf).flatten(-2)
    return hidden.softmax(dim=-1).view_as(scores)


def mask_ignored(scores, mask):
    """Your weights are those of a plain softmax: nothing is hidden."""
    return scores.softmax(dim=-1)


def draw_scores(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    query, key = draw.size(2, 5), draw.size(2, 6)
    shape = draw.choice([(batch, 1, 1, key), (1, 1, query, key)])
    scores = 2 * draw.normal(batch, heads, query, key)
    return case("random scores", scores, draw.mask(*shape))


MASKED_SOFTMAX = Exercise(
    solution=masked_softmax,
    section=BEFORE,
    points=3,
    hints=(
        "What has to become of a hidden score, so that its term e^s is "
        "exactly 0? And do it before the softmax, so that the term is not in "
        "the sum either. Then think of a row in which all are hidden.",
        "Fill the hidden scores with -inf, out of place. For a row that may "
        "attend nowhere, find out first that it is one, open it so that the "
        "softmax is finite, and set its weights to 0 afterwards.",
    ),
    cases=[
        case(
            "one query, one of two keys hidden",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[True, False]]),
        ),
        case(
            "a row that may attend nowhere",
            torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
            torch.tensor([[False, False], [True, True]]),
        ),
        case(
            "a hidden score that is far larger",
            torch.tensor([[200.0, 0.0, 1.0]]),
            torch.tensor([[False, True, True]]),
        ),
        case(
            "everything visible",
            torch.tensor([[0.0, 1.0], [3.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[True, True]]),
        ),
        case(
            "large scores",
            torch.tensor([[200.0, 201.0, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "very low scores",
            torch.tensor([[-2e4, -2e4, 0.0]]),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "float16",
            torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float16),
            torch.tensor([[True, True, False]]),
        ),
        case(
            "padding, the same for all heads and queries",
            Draw(10).normal(2, 2, 3, 4),
            padding_mask(torch.tensor([[5, 6, 7, 8], [9, 4, 0, 0]])),
        ),
        case(
            "the future hidden",
            Draw(11).normal(1, 2, 4, 4),
            torch.ones(4, 4, dtype=torch.bool).tril()[None, None],
        ),
    ],
    draw=draw_scores,
    others=[
        softmax_by_where,
        softmax_by_hand,
        softmax_mended,
        softmax_of_finite_minimum,
    ],
    mistakes=[
        mask_inverted,
        mask_inverted_not_a_number,
        mask_inverted_finite,
        mask_inverted_minus_1e9,
        mask_after_softmax,
        mask_after_and_divided,
        mask_after_and_divided_safely,
        exponentials_times_zero,
        exponentials_times_zero_safely,
        scores_times_zero,
        empty_rows_not_a_number,
        empty_rows_see_all,
        empty_rows_uniform,
        hidden_by_minus_1e9,
        not_low_enough,
        not_low_enough_and_zeros,
        minus_1e9_and_zeros,
        not_a_number_mended,
        softmax_over_queries,
        softmax_over_queries_minus_1e9,
        softmax_over_the_table,
        mask_ignored,
    ],
)

EXERCISES = [PADDING_MASK, CAUSAL_MASK, MASKED_SOFTMAX]
"""In the order of the notebook."""
