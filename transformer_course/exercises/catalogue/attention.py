"""Exercises of chapter 04: attention."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

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

AT_ONCE = "04_attention#everybody-asks-at-once"
LENGTH = "04_attention#close-or-only-long"
PACKAGE = "04_attention#the-same-in-the-package"
PROJECTIONS = "04_attention#why-three-projections"
SOURCES = "04_attention#one-formula-different-sources"
WHICH_ROOT = "05_score_functions#divide-by-the-root"

# --- attention_weights -------------------------------------------------------


def attention_weights(
    query: Float[Tensor, "query d"], key: Float[Tensor, "key d"]
) -> Float[Tensor, "query key"]:
    """Say how each query of one sentence shares its attention out.

    The score of a query and a key is their dot product, not divided by
    anything here; a softmax makes weights of scores, however large they are.
    No batch, no heads.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at. There may be
            more or fewer of them than queries.

    Returns:
        A row for each query: its weights for the keys, which sum to one, in
        the dtype of what is given.
    """
    ### BEGIN SOLUTION
    scores = query @ key.T
    return scores.softmax(dim=-1)
    ### END SOLUTION


def weights_by_loop(query, key):
    rows = []
    for q in query:
        powers = torch.stack([(q * k).sum() for k in key]).exp()
        rows.append(powers / powers.sum())
    return torch.stack(rows)


def weights_by_einsum(query, key):
    powers = torch.einsum("qd,kd->qk", query, key).exp()
    return torch.einsum("qk,q->qk", powers, 1 / powers.sum(dim=1))


def weights_by_logarithm(query, key):
    scores = (query[:, None, :] * key[None, :, :]).sum(dim=2)
    return (scores - scores.logsumexp(dim=1, keepdim=True)).exp()


@see(AT_ONCE)
def weights_down_the_columns(query, key):
    """Your softmax runs over the queries: each *column* sums to one.

    A row belongs to who asks, a column to who is asked, and each query has
    one unit of attention to share out. With yours the queries compete for a
    key, and a query may get hardly anything in all. No error is raised.
    """
    return (query @ key.T).softmax(dim=0)


@see(AT_ONCE)
def weights_of_the_whole_table(query, key):
    """Your weights sum to one over the whole table, not in each row.

    Every query asks for itself, and shares out one unit of its own. What
    another query finds must not change its weights.
    """
    return (query @ key.T).flatten().softmax(dim=0).view(len(query), len(key))


@see(AT_ONCE)
def weights_with_keys_asking(query, key):
    """In your table the keys ask and the queries are asked.

    It has a row for each key. The row sums are one, but it is each *query*
    that has a unit to share out.
    """
    return (key @ query.T).softmax(dim=-1)


@see(AT_ONCE)
def weights_transposed(query, key):
    """Your table holds the right weights, but lies on its side.

    Its rows are keys and its columns queries. Later each row has to mix the
    values of all keys: a row belongs to who asks.
    """
    return (query @ key.T).softmax(dim=-1).T


def weights_are_scores(query, key):
    """What you return are the scores: there is no softmax.

    They may be negative, and a row may sum to anything. To mix values in
    shares they have to be made positive, and to sum to one.
    """
    return query @ key.T


def weights_not_divided(query, key):
    """Your weights are the powers of the scores: positive, but not shares.

    A row does not sum to one, and an output mixed from it need not lie among
    its values.
    """
    return (query @ key.T).exp()


def weights_without_powers(query, key):
    """You divide the scores by their sum, without making them positive.

    Scores of both signs give weights below 0 and above 1, and scores that
    cancel are divided by 0.
    """
    scores = query @ key.T
    return scores / scores.sum(dim=-1, keepdim=True)


@see(PACKAGE)
def weights_already_scaled(query, key):
    """You divide the scores by the root of their width.

    That is the scaled score, which the next exercise asks for. Here the dot
    product itself is wanted, as in the first half of the chapter.
    """
    return (query @ key.T / math.sqrt(query.size(-1))).softmax(dim=-1)


def weights_divided_by_other_rows(query, key):
    """You divide by the sums of the rows, but not each row by its own.

    The sums have lost an axis, and broadcasting lines axes up from the
    right: each *column* is divided by the sum of another row. Where there
    are more or fewer keys than queries, it ends in an error.
    """
    powers = (query @ key.T).exp()
    return powers / powers.sum(dim=-1)


def weights_one_by_one(query, key):
    """Every weight is between 0 and 1, but no row sums to one: you squash
    each score by itself, with a sigmoid.

    A softmax compares a score with the others of its row. With a sigmoid a
    query may look at everything, or at nothing.
    """
    return (query @ key.T).sigmoid()


def weights_are_logarithms(query, key):
    """What you return are the *logarithms* of the weights.

    They are all negative, and no means can be taken with them.
    """
    return (query @ key.T).log_softmax(dim=-1)


@see("04_attention#a-lookup-that-can-learn")
def weights_all_or_nothing(query, key):
    """Your best key takes all, and the others get nothing.

    That is the dictionary with which the chapter begins: there is no slope,
    so nothing could learn how to ask.
    """
    scores = query @ key.T
    best = F.one_hot(scores.argmax(dim=-1), scores.size(-1))
    return best.float()


@see(LENGTH)
def weights_of_directions(query, key):
    """You compare directions only: your score is the cosine of the angle.

    A dot product has the lengths in it too, and a longer query looks more
    sharply. With a cosine no score leaves [-1, 1], and no key can take nearly
    all.
    """
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    return (query @ key.T).softmax(dim=-1)


@variant_of(weights_of_directions)
def weights_of_directions_of_nothing(query, key):
    query, key = query / query.norm(dim=-1, keepdim=True), key
    return (query @ (key / key.norm(dim=-1, keepdim=True)).T).softmax(dim=-1)


@see(LENGTH)
def weights_of_distances(query, key):
    """Your score is a distance, or its negative, and no dot product.

    The two rank keys alike only where all keys have one length.
    """
    return (-torch.cdist(query, key)).softmax(dim=-1)


@see("07_multi_head_attention#splitting-and-merging")
def weights_of_a_reshaped_key(query, key):
    """You give the keys the shape of their transpose without transposing.

    A view or a reshape leaves the numbers in the order in which they lie in
    memory: they are cut into other rows, and each column is a mixture of
    several keys. The shape fits, so no error is raised.
    """
    return (query @ key.reshape(key.size(1), key.size(0))).softmax(dim=-1)


@see(AT_ONCE)
def weights_of_queries_alone(query, key):
    """You compare the queries with each other; the keys are not looked at.

    What asks and what is asked are two matrices, and they need not be
    equally long.
    """
    return (query @ query.T).softmax(dim=-1)


def draw_queries(draw: Draw) -> Case:
    d = draw.size(2, 6)
    query, key = draw.size(1, 6), draw.size(2, 7)
    return case("random rows", draw.normal(query, d), draw.normal(key, d))


ATTENTION_WEIGHTS = Exercise(
    solution=attention_weights,
    section=AT_ONCE,
    points=1,
    hints=(
        "All scores together are one matrix product. Its shape is (query, "
        "key): which of the two matrices has to be transposed? Then take one "
        "row and make shares of it.",
        "Multiply the queries with the transposed keys. A row of the result "
        "belongs to one query, and its entries lie along the last axis: that "
        "is where the softmax goes.",
    ),
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        ),
        case(
            "two queries, one key",
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 1.0]]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0]]),
        ),
        case(
            "cats drink milk, as in the chapter",
            torch.tensor([[0.0, 2.0], [2.0, 2.0], [0.0, 0.0]]),
            torch.tensor([[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]),
        ),
        case(
            "more keys than queries",
            Draw(40).normal(2, 3),
            Draw(41).normal(5, 3),
        ),
        case("float64", Draw(42).normal(2, 2).double(), torch.eye(2).double()),
    ],
    draw=draw_queries,
    others=[weights_by_loop, weights_by_einsum, weights_by_logarithm],
    mistakes=[
        weights_down_the_columns,
        weights_of_the_whole_table,
        weights_with_keys_asking,
        weights_transposed,
        weights_are_scores,
        weights_not_divided,
        weights_without_powers,
        weights_divided_by_other_rows,
        weights_one_by_one,
        weights_are_logarithms,
        weights_all_or_nothing,
        weights_already_scaled,
        weights_of_directions,
        weights_of_directions_of_nothing,
        weights_of_distances,
        weights_of_a_reshaped_key,
        weights_of_queries_alone,
    ],
)

# --- scaled_dot_product_attention --------------------------------------------


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch query d_k"],
    key: Float[Tensor, "*batch key d_k"],
    value: Float[Tensor, "*batch key d_v"],
) -> tuple[
    Float[Tensor, "*batch query d_v"], Float[Tensor, "*batch query key"]
]:
    """Compute softmax(Q Kᵀ / √d_k) V, and say with which weights.

    Section 3.2.1 of the paper, equation 1; without a mask. Scores may be
    large: no power overflows on the way.

    Args:
        query: a row for each position that asks.
        key: a row for each position that may be looked at, as wide as a
            query.
        value: what is handed over from there; it may have another width.
            `*batch` stands for any number of axes in front, or none: a
            sentence, a batch of them, or heads besides.

    Returns:
        Two tensors, in the dtype of what is given: the output, a row for
        each query; then the weights, of which each row sums to one.
    """
    ### BEGIN SOLUTION
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
    ### END SOLUTION


def attention_by_einsum(query, key, value):
    query = query / query.shape[-1] ** 0.5
    scores = torch.einsum("...qd,...kd->...qk", query, key)
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def attention_by_broadcasting(query, key, value):
    pairs = query[..., :, None, :] * key[..., None, :, :]
    powers = (pairs.sum(dim=-1) * key.size(-1) ** -0.5).exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


def attention_by_two_roots(query, key, value):
    root = query.size(-1) ** 0.25  # of the root: both are made smaller
    scores = torch.matmul(query / root, (key / root).mT)
    weights = scores.sub(scores.amax(dim=-1, keepdim=True)).exp()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return torch.matmul(weights, value), weights


def mix(scores, value):
    """Weights and output, once there are scores."""
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def unscaled(query, key, value):
    """Your scores are not divided by anything.

    The wider the vectors, the larger their dot products, and the more of the
    weight goes to a single key.
    """
    return mix(query @ key.mT, value)


def scaled_by_axis_one(query, key, value):
    """Your divisor is the root of the size of axis 1, counted from the left.

    In one sentence that is the width of a query. In a batch of them it is
    the number of queries, and with heads yet another one: leading axes move
    everything to the right.
    """
    return mix(query @ key.mT / math.sqrt(query.size(1)), value)


@see(WHICH_ROOT)
def scaled_by_the_width(query, key, value):
    """You divide by d_k, not by its root.

    The *variance* of a dot product grows like d_k, its typical size like the
    root. Your attention is far more even than the paper's.
    """
    return mix(query @ key.mT / query.size(-1), value)


def scaled_by_the_root_of_the_keys(query, key, value):
    """You divide by the root of the number of *keys*.

    The divisor would change with the length of the sentence. What makes a
    dot product large is how many products are summed in it: the width of a
    vector.
    """
    return mix(query @ key.mT / math.sqrt(key.size(-2)), value)


def scaled_by_the_root_of_the_queries(query, key, value):
    """You divide by the root of the number of *queries*.

    A query would look differently when others ask beside it. What makes a
    dot product large is how many products are summed in it: the width of a
    vector.
    """
    return mix(query @ key.mT / math.sqrt(query.size(-2)), value)


def scaled_by_the_root_of_the_values(query, key, value):
    """You divide by the root of the width of the *values*.

    The values have no part in the scores, and may be wider or narrower than
    the keys. Often the two are equal, and nobody notices.
    """
    return mix(query @ key.mT / math.sqrt(value.size(-1)), value)


def scaled_by_the_root_of_axis_zero(query, key, value):
    """You divide by the root of the first axis' size.

    In a batch that is the number of sentences, and in one sentence that of
    words. What makes a dot product large is how many products are summed in
    it: the width of a vector, the last axis.
    """
    return mix(query @ key.mT / math.sqrt(key.size(0)), value)


def scaled_by_eight(query, key, value):
    """You divide by 8, the root of the paper's width, whatever the width is.

    The paper's heads are 64 wide. Here the width is that of the query.
    """
    return mix(query @ key.mT / 8, value)


@see("06_masks#the-future")
def future_hidden(query, key, value):
    """Your queries look only at keys that stand no later than they do.

    That is a causal mask. It belongs to the decoder's self-attention alone
    (chapter 06); here every query may look at every key.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return mix(scores.masked_fill(~seen, -torch.inf), value)


def multiplied_by_the_root(query, key, value):
    """You multiply by the root of d_k in place of dividing.

    Scores get larger instead of smaller, and one key takes nearly all.
    """
    return mix(query @ key.mT * math.sqrt(query.size(-1)), value)


def scaled_after_the_softmax(query, key, value):
    """You divide *after* the softmax: rows no longer sum to one.

    The root is there to keep the softmax from sitting on one key. Afterwards
    it is too late for that, and the output is only made smaller.
    """
    weights = (query @ key.mT).softmax(dim=-1) / math.sqrt(query.size(-1))
    return weights @ value, weights


def no_softmax(query, key, value):
    """There is no softmax: the values are mixed with the scores themselves.

    Scores may be negative, and their sum may be anything. Without a softmax
    the output is no mean of the values.
    """
    weights = query @ key.mT / math.sqrt(query.size(-1))
    return weights @ value, weights


@see(AT_ONCE)
def softmax_over_the_queries(query, key, value):
    """Your softmax runs over the queries: the columns of the weights sum to
    one, not the rows.

    Each query shares out its own unit of attention among the keys.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=-2)
    return weights @ value, weights


def softmax_over_no_axis_named(query, key, value):
    """Your softmax runs along the first axis, that of the sentences.

    So it does if it is not told an axis: in a batch it takes the first, in
    one sentence alone the second. Each sentence would share its attention
    with its neighbours in the batch.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=0 if scores.dim() == 3 else 1)
    return weights @ value, weights


@variant_of(softmax_over_no_axis_named)
def softmax_over_axis_zero(query, key, value):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=0)
    return weights @ value, weights


def logarithms_mixed(query, key, value):
    """You mix the values with the *logarithms* of the weights.

    They are all negative, and no mean can be taken with them.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.log_softmax(dim=-1)
    return weights @ value, weights


def softmax_twice(query, key, value):
    """Your weights have been through a softmax twice.

    The second one takes weights for scores. These lie between 0 and 1, so
    that hardly any difference between the keys is left.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return mix(scores.softmax(dim=-1), value)


def softmax_over_axis_one(query, key, value):
    """Your softmax runs over axis 1, counted from the left.

    In one sentence that is the keys. In a batch of them it is the queries,
    and with heads yet another one: leading axes move everything to the
    right.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.softmax(dim=1)
    return weights @ value, weights


def keys_transposed_for_a_batch(query, key, value):
    """You transpose axes 1 and 2, counted from the left.

    In a batch of sentences these are the last two. One sentence alone has no
    axis 2, and with heads in front they are others: leading axes move
    everything to the right.
    """
    scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    return mix(scores, value)


def keys_transposed_for_a_sentence(query, key, value):
    """You transpose axes 0 and 1, counted from the left.

    In one sentence these are all. In a batch the first axis is the batch,
    and sentences get mixed: leading axes move everything to the right.
    """
    scores = query @ key.transpose(0, 1) / math.sqrt(query.size(-1))
    return mix(scores, value)


def keys_turned_round(query, key, value):
    """You transpose *all* axes of the keys, which turns their order round.

    In one sentence that is right: there are only two. In a batch the
    sentences come to lie on the last axis, where the keys should be.
    """
    turned = key.permute(*reversed(range(key.dim())))
    scores = query @ turned / math.sqrt(query.size(-1))
    return mix(scores, value)


@see("07_multi_head_attention#splitting-and-merging")
def keys_reshaped(query, key, value):
    """You give the keys the shape of their transpose without transposing.

    A view or a reshape leaves the numbers in the order in which they lie in
    memory: they are cut into other rows, and each score mixes several keys.
    The shape fits, so no error is raised.
    """
    *batch, length, d_k = key.shape
    turned = key.reshape(*batch, d_k, length)
    return mix(query @ turned / math.sqrt(d_k), value)


@see("04_attention#a-lookup-that-can-learn")
def keys_mixed(query, key, value):
    """Your output is a mixture of the *keys*; the values are never used.

    A key says what an entry is found by, a value what it hands over. Compare
    with the keys, mix the values.
    """
    weights = mix(query @ key.mT / math.sqrt(query.size(-1)), value)[1]
    return weights @ key, weights


@see(AT_ONCE)
def weights_turned_to_mix(query, key, value):
    """You transpose the weights before you mix the values with them.

    A row of the weights belongs to one query, and its shares go with the
    rows of the values. Turned, query and key have changed their parts.
    (Where there are more or fewer keys than queries, it ends in an error.)
    """
    weights = mix(query @ key.mT / math.sqrt(query.size(-1)), value)[1]
    return weights.mT @ value, weights


@see("04_attention#a-lookup-that-can-learn")
def values_compared(query, key, value):
    """You compare the queries with the *values*; the keys are never used.

    A key says what an entry is found by, a value what it hands over. (Where
    the two have different widths, yours ends in an error.)
    """
    scores = query @ value.mT / math.sqrt(query.size(-1))
    return mix(scores, value)


def results_exchanged(query, key, value):
    """You return the weights first and the output second."""
    output, weights = mix(query @ key.mT / math.sqrt(query.size(-1)), value)
    return weights, output


def scores_returned(query, key, value):
    """Your output is right, but returned beside it are the scores, from
    before the softmax.

    Asked for are the weights: positive, and of each query the sum is one.
    """
    scores = query @ key.mT / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ value, scores


def draw_attention(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (3,), (2, 3)])
    query, key = draw.size(1, 5), draw.size(2, 6)
    d_k, d_v = draw.size(2, 6), draw.size(2, 6)
    return case(
        "random rows",
        2 * draw.normal(*batch, query, d_k),
        draw.normal(*batch, key, d_k),
        draw.normal(*batch, key, d_v),
    )


SCALED_DOT_PRODUCT_ATTENTION = Exercise(
    solution=scaled_dot_product_attention,
    section=PACKAGE,
    points=2,
    hints=(
        "Three lines: score, softmax, mix. Which axis of the scores are the "
        "keys, however many axes stand in front? And how many products are "
        "summed in one score?",
        "Count axes from the right: the last two are swapped to multiply, "
        "the last one is the softmax's. Divide the scores, before the "
        "softmax, by the root of the width of a query.",
    ),
    cases=[
        case(
            "one query, two keys",
            torch.tensor([[2.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            torch.tensor([[1.0], [3.0]]),
        ),
        case(
            "two queries, three keys",
            torch.tensor([[2.0, 1.0], [0.0, -2.0]]),
            torch.tensor([[1.0, 0.0], [-1.0, 1.0], [0.5, 2.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]),
        ),
        case(
            "wide values",
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            torch.tensor([[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 5.0, 0.0]]),
        ),
        case(
            "as many queries, keys and numbers: nothing but the values shows",
            torch.tensor([[2.0, 1.0], [0.0, -1.0]]),
            torch.tensor([[1.0, 3.0], [-1.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [4.0, 1.0]]),
        ),
        case(
            "a batch of two sentences",
            torch.tensor([[[1.0]], [[2.0]]]),
            torch.tensor([[[1.0], [0.0]], [[0.0], [1.0]]]),
            torch.tensor([[[1.0], [2.0]], [[3.0], [5.0]]]),
        ),
        case(
            "a batch of one sentence",
            Draw(46).normal(1, 2, 3),
            Draw(47).normal(1, 4, 3),
            Draw(48).normal(1, 4, 3),
        ),
        case(
            "a batch, and heads",
            Draw(49).normal(2, 3, 4, 5),
            Draw(50).normal(2, 3, 5, 5),
            Draw(51).normal(2, 3, 5, 4),
        ),
        case(
            "float64",
            Draw(52).normal(2, 3).double(),
            Draw(53).normal(2, 3).double(),
            Draw(54).normal(2, 2).double(),
        ),
    ],
    draw=draw_attention,
    others=[
        attention_by_einsum,
        attention_by_broadcasting,
        attention_by_two_roots,
    ],
    mistakes=[
        unscaled,
        scaled_by_axis_one,
        scaled_by_the_width,
        scaled_by_the_root_of_the_keys,
        scaled_by_the_root_of_the_queries,
        scaled_by_the_root_of_the_values,
        scaled_by_the_root_of_axis_zero,
        scaled_by_eight,
        future_hidden,
        multiplied_by_the_root,
        scaled_after_the_softmax,
        no_softmax,
        softmax_over_the_queries,
        softmax_over_no_axis_named,
        softmax_over_axis_zero,
        logarithms_mixed,
        softmax_twice,
        softmax_over_axis_one,
        keys_transposed_for_a_batch,
        keys_transposed_for_a_sentence,
        keys_turned_round,
        keys_reshaped,
        keys_mixed,
        weights_turned_to_mix,
        values_compared,
        results_exchanged,
        scores_returned,
    ],
)

# --- CrossAttention ----------------------------------------------------------


class CrossAttention(nn.Module):
    """One head of source–target attention, with its three projections.

    Section 3.2.3 of the paper, "encoder-decoder attention", with a single
    head, whose scores are divided by √d_head. No mask, and nothing after the
    head: no residual, no projection, no dropout.

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
        key, value = self.to_key(memory), self.to_value(memory)
        return scaled_dot_product_attention(query, key, value)
        ### END SOLUTION


class CrossByHand(CrossAttention):
    def forward(self, tgt, memory):
        query = tgt @ self.to_query.weight.T
        key = memory @ self.to_key.weight.T
        scores = torch.einsum("btd,bsd->bts", query, key)
        weights = (scores * key.size(-1) ** -0.5).softmax(dim=2)
        return torch.bmm(weights, memory) @ self.to_value.weight.T, weights


class CrossByOneMatrix(CrossAttention):
    def forward(self, tgt, memory):
        between = self.to_query.weight.T @ self.to_key.weight
        scores = tgt @ between @ memory.mT
        weights = (scores / self.to_key.out_features**0.5).softmax(dim=-1)
        return weights @ self.to_value(memory), weights


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


class SourceAsksTarget(CrossAttention):
    """In your layer the *source* asks, and the target is asked.

    Your queries come from `memory`, keys and values from `tgt`. Who asks
    decides the length of the output: it is to have one row for each word of
    the target, or the decoder has nothing to go on with. Where both
    sentences are equally long nothing but the numbers shows it.
    """

    def forward(self, tgt, memory):
        return super().forward(memory, tgt)


class TargetLooksAtItself(CrossAttention):
    """Your layer never looks at `memory`: the target looks at itself.

    That is self-attention. With it alone the decoder would never see the
    sentence that it has to translate.
    """

    def forward(self, tgt, memory):
        return super().forward(tgt, tgt)


class SourceLooksAtItself(CrossAttention):
    """Your layer never looks at `tgt`: the source looks at itself.

    That is the encoder's self-attention. There are to be as many outputs as
    words of the target.
    """

    def forward(self, tgt, memory):
        return super().forward(memory, memory)


class ValuesFromTarget(CrossAttention):
    """Your values come from `tgt`, your keys from `memory`.

    Key and value of an entry belong together. With yours the target asks the
    source where to look, and then fetches from itself. (Where the two have
    different lengths, it ends in an error.)
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        value = self.to_value(tgt)
        return scaled_dot_product_attention(query, key, value)


class KeysFromTarget(CrossAttention):
    """Your keys come from `tgt`, your values from `memory`.

    Key and value of an entry belong together. With yours the target compares
    itself with itself, and then fetches from the source at those places.
    (Where the two have different lengths, it ends in an error.)
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(tgt)
        value = self.to_value(memory)
        return scaled_dot_product_attention(query, key, value)


class QueriesAndKeysExchanged(CrossAttention):
    """You take the source's rows for queries and the target's for keys, and
    the values from the source.

    Then the source asks the target. (Where the two have different lengths,
    it ends in an error.)
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(memory), self.to_key(tgt)
        value = self.to_value(memory)
        return scaled_dot_product_attention(query, key, value)


@see(PROJECTIONS)
class ProjectionsExchanged(CrossAttention):
    """The right rows go through the wrong projections: `to_key` makes your
    queries, and `to_query` your keys.

    A layer trained like this would learn as well, with the two names
    exchanged. But weights from elsewhere, loaded into it, would give other
    outputs.
    """

    def forward(self, tgt, memory):
        query, key = self.to_key(tgt), self.to_query(memory)
        value = self.to_value(memory)
        return scaled_dot_product_attention(query, key, value)


@see(PROJECTIONS)
class OneProjectionForAll(CrossAttention):
    """You use one projection for queries, keys and values.

    What a word looks for, what it is found by and what it hands over are
    three things to learn, so there are three projections.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_query(memory)
        return scaled_dot_product_attention(query, key, key)


@see(PROJECTIONS)
class KeysHandedOver(CrossAttention):
    """You hand over the keys; `to_value` is never used.

    What a word is found by and what it hands over are two things to learn.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        return scaled_dot_product_attention(query, key, key)


@see(PROJECTIONS)
class KeysAndValuesExchanged(CrossAttention):
    """The source goes through the wrong projections: `to_value` makes your
    keys, and `to_key` your values.

    A layer trained like this would learn as well, with the two names
    exchanged. But weights from elsewhere, loaded into it, would give other
    outputs.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_value(memory)
        value = self.to_key(memory)
        return scaled_dot_product_attention(query, key, value)


@see(PROJECTIONS)
class ValuesNotProjected(CrossAttention):
    """Your values are the rows of `memory` as they are; `to_value` is never
    used.

    What a word hands over is to be learned too, and has the width of the
    head.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        return scaled_dot_product_attention(query, key, memory)


@see(PROJECTIONS)
class NothingProjected(CrossAttention):
    """You attend with the rows as they come in: no projection is used.

    Then a word can find only what resembles it, and there is nothing that
    this layer could learn.
    """

    def forward(self, tgt, memory):
        return scaled_dot_product_attention(tgt, memory, memory)


@see(PROJECTIONS)
class ProjectionsBent(CrossAttention):
    """You put a ReLU behind the projections.

    They are linear: no activation follows them, though some libraries offer
    one. Without negative numbers no score could say "anything but this".
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt).relu(), self.to_key(memory).relu()
        value = self.to_value(memory).relu()
        return scaled_dot_product_attention(query, key, value)


@see(WHICH_ROOT)
class ScaledByModelWidth(CrossAttention):
    """You divide by the root of the width of the *rows*, d_model.

    The sum in a score has as many terms as one head's keys have numbers. A
    wrong root raises no error, and may train well. But weights from
    elsewhere give other outputs with it.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        scores = query @ key.mT / math.sqrt(tgt.size(-1))
        return mix(scores, self.to_value(memory))


@see(WHICH_ROOT)
class ScaledByLength(CrossAttention):
    """You divide by the root of the number of words in the target.

    A word would look differently when others ask beside it. What makes a dot
    product large is how many products are summed in it: the width of the
    head.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        scores = query @ key.mT / math.sqrt(query.size(1))
        return mix(scores, self.to_value(memory))


@see(PACKAGE)
class CrossUnscaled(CrossAttention):
    """Your scores are not divided by the root of the head's width.

    The wider the head, the more of the weight goes to a single word.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        return mix(query @ key.mT, self.to_value(memory))


class TargetAdded(CrossAttention):
    """You add the target's rows to what was fetched.

    That sum belongs to the layer around this one (chapter 08). Asked for is
    what the head has fetched, and nothing else. (Where the head is not as
    wide as the model, yours ends in an error.)
    """

    def forward(self, tgt, memory):
        output, weights = super().forward(tgt, memory)
        return output + tgt, weights


@see(AT_ONCE)
class CrossSoftmaxOverTarget(CrossAttention):
    """Your softmax runs over the words of the target.

    Each word of the target shares out its own unit of attention over the
    *source*: every row of the weights has to sum to one.
    """

    def forward(self, tgt, memory):
        query, key = self.to_query(tgt), self.to_key(memory)
        scores = query @ key.mT / math.sqrt(query.size(-1))
        weights = scores.softmax(dim=1)
        return weights @ self.to_value(memory), weights


def draw_sentences(draw: Draw) -> Case:
    d_model, d_head = draw.size(2, 6), draw.size(2, 5)
    batch, target, source = draw.size(1, 3), draw.size(2, 5), draw.size(2, 5)
    return module_case(
        "random sentences",
        (d_model, d_head),
        2 * draw.normal(batch, target, d_model),
        2 * draw.normal(batch, source, d_model),
    )


CROSS_ATTENTION = Exercise(
    solution=CrossAttention,
    section=SOURCES,
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
    ],
    draw=draw_sentences,
    run=build_and_call,
    others=[CrossByHand, CrossByOneMatrix, CrossSentenceBySentence],
    mistakes=[
        SourceAsksTarget,
        TargetLooksAtItself,
        SourceLooksAtItself,
        ValuesFromTarget,
        KeysFromTarget,
        QueriesAndKeysExchanged,
        ProjectionsExchanged,
        OneProjectionForAll,
        KeysHandedOver,
        KeysAndValuesExchanged,
        ValuesNotProjected,
        NothingProjected,
        ProjectionsBent,
        ScaledByModelWidth,
        ScaledByLength,
        CrossUnscaled,
        TargetAdded,
        CrossSoftmaxOverTarget,
    ],
)

EXERCISES = [ATTENTION_WEIGHTS, SCALED_DOT_PRODUCT_ATTENTION, CROSS_ATTENTION]
"""In the order of the notebook."""
