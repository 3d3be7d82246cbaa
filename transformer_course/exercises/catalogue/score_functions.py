"""Exercises of chapter 05: score functions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
    variant_of,
)

BY_HAND = "05_score_functions#three-scores-by-hand"
PACKAGE = "05_score_functions#three-scores-in-the-package"
TEMPERATURE = "05_score_functions#a-temperature"
JACOBIAN = "05_score_functions#what-large-scores-do-to-a-softmax"
STABLE = "05_score_functions#a-softmax-that-cannot-overflow"
AT_ONCE = "04_attention#everybody-asks-at-once"

# --- additive_score ----------------------------------------------------------


def additive_score(
    query: Float[Tensor, "batch query d_query"],
    key: Float[Tensor, "batch key d_key"],
    U_q: Float[Tensor, "d_query d_hidden"],
    U_k: Float[Tensor, "d_key d_hidden"],
    v: Float[Tensor, " d_hidden"],
) -> Float[Tensor, "batch query key"]:
    """Score every query with every key: v · tanh(q U_q + k U_k).

    Bahdanau et al. 2015, appendix A.1.2.

    Args:
        query: a row for each position that asks.
        key: a row for each position that is asked. There may be more or
            fewer of them than queries, and of another width.
        U_q: projects the queries.
        U_k: projects the keys.
        v: reads a number off the hidden units.

    Returns:
        The scores, a row for each query: divided by nothing, and from before
        any softmax.
    """
    ### BEGIN SOLUTION
    asking = (query @ U_q)[:, :, None, :]
    asked = (key @ U_k)[:, None, :, :]
    return (asking + asked).tanh() @ v  # (batch, query, key)
    ### END SOLUTION


def additive_by_loop(query, key, U_q, U_k, v):
    rows = []
    for place in range(query.size(1)):
        one = query[:, place : place + 1] @ U_q  # (batch, 1, d_hidden)
        rows.append(((one + key @ U_k).tanh() * v).sum(dim=-1))
    return torch.stack(rows, dim=1)


def additive_by_concatenation(query, key, U_q, U_k, v):
    n, m = query.size(1), key.size(1)
    queries = query.unsqueeze(2).expand(-1, -1, m, -1)
    keys = key.unsqueeze(1).expand(-1, n, -1, -1)
    pairs = torch.cat([queries, keys], dim=-1)
    return torch.tanh(pairs @ torch.cat([U_q, U_k])) @ v


def additive_by_einsum(query, key, U_q, U_k, v):
    asking = torch.einsum("bnd,dh->bnh", query, U_q)
    asked = torch.einsum("bmd,dh->bmh", key, U_k)
    asking = asking.repeat_interleave(key.size(1), dim=1)
    asked = asked.repeat(1, query.size(1), 1)
    scores = torch.einsum("bph,h->bp", torch.tanh(asking + asked), v)
    return scores.view(query.size(0), query.size(1), key.size(1))


def all_pairs(query, key, U_q, U_k):
    """Projected and added, before they are bent."""
    return (query @ U_q).unsqueeze(2) + (key @ U_k).unsqueeze(1)


def tanh_forgotten(query, key, U_q, U_k, v):
    """There is no tanh: your score is a sum of two numbers, one of the query
    and one of the key.

    The query's is the same for every key, and the softmax does not see what
    all keys share. It no longer matters what is asked.
    """
    return all_pairs(query, key, U_q, U_k) @ v


def tanh_before_the_sum(query, key, U_q, U_k, v):
    """You bend query and key each by itself, and add them afterwards.

    The score is then one number of the query plus one of the key. The
    query's is the same for every key, and the softmax does not see it: the
    two never meet.
    """
    asking, asked = (query @ U_q).tanh(), (key @ U_k).tanh()
    return (asking.unsqueeze(2) + asked.unsqueeze(1)) @ v


def tanh_of_the_score(query, key, U_q, U_k, v):
    """You bend the score in place of the hidden units.

    Inside the tanh there is then a number of the query plus one of the key,
    and every score lies between -1 and 1. The hidden units are to be bent
    one by one, before `v` reads them.
    """
    return (all_pairs(query, key, U_q, U_k) @ v).tanh()


def vector_inside_the_tanh(query, key, U_q, U_k, v):
    """You multiply by `v` before the tanh, and sum what has been bent.

    Then no hidden unit can count for more than 1: `v` is there to say how
    much each of them counts.
    """
    return (all_pairs(query, key, U_q, U_k) * v).tanh().sum(dim=-1)


def vector_forgotten(query, key, U_q, U_k, v):
    """You sum the hidden units; `v` is not used.

    How much a hidden unit counts, and for or against, is to be learned too.
    """
    return all_pairs(query, key, U_q, U_k).tanh().sum(dim=-1)


def bent_by_relu(query, key, U_q, U_k, v):
    """You bend by a ReLU in place of the tanh.

    A tanh stays between -1 and 1, and keeps the score bounded, however long
    the key. With a ReLU a long key scores as high as it likes.
    """
    return all_pairs(query, key, U_q, U_k).relu() @ v


def bent_by_sigmoid(query, key, U_q, U_k, v):
    """You bend by a sigmoid in place of the tanh.

    The two are akin, but a sigmoid lies between 0 and 1, and is a quarter
    as steep: other scores come out.
    """
    return all_pairs(query, key, U_q, U_k).sigmoid() @ v


def projections_multiplied(query, key, U_q, U_k, v):
    """You *multiply* projected queries and keys, number by number.

    The additive score adds the two. (A tanh of products is no score of this
    chapter.)
    """
    asking, asked = (query @ U_q).unsqueeze(2), (key @ U_k).unsqueeze(1)
    return (asking * asked).tanh() @ v


def dot_of_projections(query, key, U_q, U_k, v):
    """Your score is the dot product of projected queries and keys.

    That is a general score, with the matrix U_q U_kᵀ; neither a tanh nor `v`
    occurs in it.
    """
    return (query @ U_q) @ (key @ U_k).mT


def query_not_looked_at(query, key, U_q, U_k, v):
    """Your score is one of the keys alone; what is asked does not matter."""
    scores = ((key @ U_k).tanh() @ v).unsqueeze(1)
    return scores.expand(-1, query.size(1), -1)


def projections_subtracted(query, key, U_q, U_k, v):
    """You take the keys *away* from the queries.

    A matrix can learn the sign, so a model would train as well. But weights
    from elsewhere would give other scores.
    """
    asking, asked = (query @ U_q).unsqueeze(2), (key @ U_k).unsqueeze(1)
    return (asking - asked).tanh() @ v


def matrices_exchanged(query, key, U_q, U_k, v):
    """You project the queries by `U_k` and the keys by `U_q`.

    Where both have one width nothing warns you. Where they have not, it ends
    in an error.
    """
    return all_pairs(query, key, U_k, U_q).tanh() @ v


def one_matrix_for_both(query, key, U_q, U_k, v):
    """You project both by `U_q`; `U_k` is not used.

    Queries and keys may have different widths and speak different languages:
    each has a matrix of its own. (Where the widths differ, yours ends in an
    error.)
    """
    return all_pairs(query, key, U_q, U_q).tanh() @ v


@see(PACKAGE)
def matrices_transposed(query, key, U_q, U_k, v):
    """You transpose the matrices before you multiply by them.

    `nn.Linear` keeps its matrix that way. Here they are given as the formula
    has them: as many rows as a query, or a key, has numbers. (Where a matrix
    is not square, yours ends in an error.)
    """
    return all_pairs(query, key, U_q.T, U_k.T).tanh() @ v


def nothing_projected(query, key, U_q, U_k, v):
    """You add queries and keys as they are; the matrices are not used.

    Queries and keys may have different widths and speak different languages:
    each has a matrix of its own, into the hidden units. (Where the widths do
    not fit, yours ends in an error.)
    """
    return (query.unsqueeze(2) + key.unsqueeze(1)).tanh() @ v


def hidden_units_averaged(query, key, U_q, U_k, v):
    """You take the *mean* over the hidden units, not their sum.

    The score would get smaller the more hidden units there are: a product
    with `v` is a sum.
    """
    return (all_pairs(query, key, U_q, U_k).tanh() * v).mean(dim=-1)


@see(PACKAGE)
def axes_of_one_sentence(query, key, U_q, U_k, v):
    """Your new axes are where they belong for a single sentence, without a
    batch.

    With a batch in front every axis moves to the right: yours adds sentences
    to sentences, and query 1 to key 1, query 2 to key 2.
    """
    return ((query @ U_q)[:, None] + (key @ U_k)[None]).tanh() @ v


@see(PACKAGE)
def row_by_row(query, key, U_q, U_k, v):
    """You add query 1 to key 1, query 2 to key 2, and so on.

    Every query has to meet every key. Where there are more or fewer keys
    than queries, yours ends in an error; or, with one query, it has an axis
    too few.
    """
    return (query @ U_q + key @ U_k).tanh() @ v


@see(PACKAGE)
def keys_in_rows(query, key, U_q, U_k, v):
    """Your table has a row for each key and a column for each query.

    A row belongs to who asks. The softmax that follows would run over the
    queries.
    """
    return (all_pairs(query, key, U_q, U_k).tanh() @ v).mT


@see(AT_ONCE)
def weights_in_place_of_scores(query, key, U_q, U_k, v):
    """You return weights: there is a softmax at the end.

    Asked for is the score. The softmax comes after it, and is the same for
    every score function.
    """
    return (all_pairs(query, key, U_q, U_k).tanh() @ v).softmax(dim=-1)


@see(TEMPERATURE)
def additive_divided_by_a_root(query, key, U_q, U_k, v):
    """You divide by the root of the number of hidden units.

    That belongs to the dot product, which grows with the width. This score
    is bounded by its tanh, and `v` starts small enough.
    """
    scores = all_pairs(query, key, U_q, U_k).tanh() @ v
    return scores / math.sqrt(v.size(0))


def draw_additive(draw: Draw) -> Case:
    batch, query, key = draw.size(1, 3), draw.size(1, 4), draw.size(2, 5)
    d_query, d_hidden = draw.size(1, 4), draw.size(2, 5)
    d_key = draw.choice([d_query, d_query + 1])
    return case(
        "random rows and matrices",
        draw.normal(batch, query, d_query),
        draw.normal(batch, key, d_key),
        draw.normal(d_query, d_hidden),
        draw.normal(d_key, d_hidden),
        draw.normal(d_hidden),
    )


ADDITIVE_SCORE = Exercise(
    solution=additive_score,
    section=BY_HAND,
    points=2,
    hints=(
        "Write the shapes of q U_q and k U_k for a whole batch. Every query "
        "meets every key: which shape has the block of all hidden units?",
        "A new axis of size 1 in the one, after its queries, and one in the "
        "other, before its keys: broadcasting then adds all pairs. What v "
        "does to the last axis is a matrix product.",
    ),
    cases=[
        case(
            "one query, one key, all of one number",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[2.0]]]),
            torch.tensor([[0.5]]),
            torch.tensor([[-1.0]]),
            torch.tensor([2.0]),
        ),
        case(
            "one query, two keys",
            torch.tensor([[[1.0]]]),
            torch.tensor([[[1.0], [-2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "two queries, two keys",
            torch.tensor([[[1.0], [-1.0]]]),
            torch.tensor([[[0.0], [2.0]]]),
            torch.tensor([[1.0, 0.5]]),
            torch.tensor([[1.0, -1.0]]),
            torch.tensor([1.0, 3.0]),
        ),
        case(
            "cats, drink, milk, as in the chapter",
            torch.tensor([[[2.0, 2.0]]]),
            torch.tensor([[[1.1513, 0.0], [-0.5, 0.5], [0.0, 1.0986]]]),
            0.5 * torch.eye(2),
            torch.eye(2),
            torch.tensor([3.0, 3.0]),
        ),
        case(
            "keys wider than queries",
            Draw(20).normal(1, 2, 2),
            Draw(21).normal(1, 3, 3),
            Draw(22).normal(2, 2),
            Draw(23).normal(3, 2),
            Draw(24).normal(2),
        ),
        case(
            "a batch of two, as many queries as keys",
            Draw(25).normal(2, 3, 2),
            Draw(26).normal(2, 3, 2),
            Draw(27).normal(2, 4),
            Draw(28).normal(2, 4),
            Draw(29).normal(4),
        ),
        case(
            "float64",
            Draw(30).normal(1, 2, 2).double(),
            Draw(31).normal(1, 2, 2).double(),
            Draw(32).normal(2, 2).double(),
            Draw(33).normal(2, 2).double(),
            Draw(34).normal(2).double(),
        ),
    ],
    draw=draw_additive,
    others=[additive_by_loop, additive_by_concatenation, additive_by_einsum],
    mistakes=[
        tanh_forgotten,
        tanh_before_the_sum,
        tanh_of_the_score,
        vector_inside_the_tanh,
        vector_forgotten,
        bent_by_relu,
        bent_by_sigmoid,
        projections_multiplied,
        dot_of_projections,
        query_not_looked_at,
        projections_subtracted,
        matrices_exchanged,
        one_matrix_for_both,
        matrices_transposed,
        nothing_projected,
        hidden_units_averaged,
        axes_of_one_sentence,
        row_by_row,
        keys_in_rows,
        weights_in_place_of_scores,
        additive_divided_by_a_root,
    ],
)

# --- stable_softmax ----------------------------------------------------------


def stable_softmax(
    scores: Float[Tensor, "..."], dim: int = -1
) -> Float[Tensor, "..."]:
    """Make shares of scores, along one axis, however large they are.

    Args:
        scores: any finite numbers, or minus infinity for what may get
            nothing; somewhere along the axis there is a finite one.
        dim: the axis along which the shares sum to one.

    Returns:
        The softmax, of the scores' shape and dtype. No power overflows on
        the way, in no dtype, float16 included.
    """
    ### BEGIN SOLUTION
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)
    ### END SOLUTION


def softmax_of_torch(scores, dim=-1):
    return torch.softmax(scores, dim)


def softmax_on_the_last_axis(scores, dim=-1):
    rows = scores.transpose(dim, -1)
    largest = rows.detach().max(dim=-1).values.unsqueeze(-1)
    powers = torch.exp(rows - largest)
    return (powers / powers.sum(-1, keepdim=True)).transpose(dim, -1)


def softmax_slice_by_slice(scores, dim=-1):
    parts = scores.unbind(dim)
    largest = parts[0]
    for part in parts[1:]:
        largest = torch.maximum(largest, part)
    powers = [(part - largest).exp() for part in parts]
    return torch.stack([power / sum(powers) for power in powers], dim)


def powers_overflow(scores, dim=-1):
    """You take the powers of the scores as they are.

    e¹⁰⁰ is beyond 32 bits, e¹² beyond half precision: infinity over infinity
    is not a number. And where all scores are far below zero every power is
    0, and 0 is divided by 0.
    """
    powers = scores.exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def powers_in_double(scores, dim=-1):
    """You compute in 64 bits, and go back afterwards.

    It puts the limit off, from a score of 88 to one of 709, and costs double
    the memory. No number of bits is enough; a softmax sees differences only.
    """
    powers = scores.double().exp()
    return (powers / powers.sum(dim=dim, keepdim=True)).to(scores.dtype)


def a_little_added(scores, dim=-1):
    """You add a little to the sum, so that it is not 0.

    Scores far below zero then give shares of 0, which sum to 0 and not to
    one. And large scores still overflow.
    """
    powers = scores.exp()
    return powers / (powers.sum(dim=dim, keepdim=True) + 1e-9)


def not_a_number_replaced(scores, dim=-1):
    """You let the powers overflow, and put zeros in place of the NaN.

    Then the *largest* score, which should have got most, gets nothing.
    """
    powers = scores.exp()
    return (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)


def maximum_of_everything(scores, dim=-1):
    """You take away the largest score of the *whole* tensor.

    Nothing overflows. But a row whose scores are all far below that one has
    nothing but powers of 0, and no shares come of them: what stands in one
    sentence would break another one.
    """
    powers = (scores - scores.max()).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


@variant_of(maximum_of_everything)
def maximum_of_everything_and_a_little(scores, dim=-1):
    powers = (scores - scores.max()).exp()
    return powers / (powers.sum(dim=dim, keepdim=True) + 1e-9)


def maximum_along_another_axis(scores, dim=-1):
    """You take the maximum along the last axis, and the sum along `dim`.

    What is taken away must be the same number for all that are summed
    together: only then does it cancel.
    """
    powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def sum_along_another_axis(scores, dim=-1):
    """You take the maximum along `dim`, and the sum along the last axis.

    The shares have to sum to one along the axis that is asked for.
    """
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def axis_ignored(scores, dim=-1):
    """Your shares sum to one along the last axis, whatever `dim` says."""
    return scores.softmax(dim=-1)


def sum_of_everything(scores, dim=-1):
    """You divide by the sum of *all* powers, over every axis.

    Then the whole tensor sums to one. Each row, or whatever lies along
    `dim`, has to do so by itself.
    """
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / powers.sum()


def maximum_only_above(scores, dim=-1):
    """You take the maximum away above the fraction, but not below it.

    It cancels only if it stands in both. And the powers below overflow as
    before.
    """
    powers = (scores - scores.amax(dim=dim, keepdim=True)).exp()
    return powers / scores.exp().sum(dim=dim, keepdim=True)


def softmax_rows_exchanged(scores, dim=-1):
    """Maximum and sum have lost the axis that they were taken along.

    Broadcasting lines axes up from the right, so each number meets the
    maximum and the sum of another row. With a single row nothing shows; and
    where the sizes do not fit, it ends in an error.
    """
    powers = (scores - scores.amax(dim=dim)).exp()
    return powers / powers.sum(dim=dim)


def mean_taken_away(scores, dim=-1):
    """You take away the mean, not the largest score.

    Any number that all share cancels. But the largest score may be far above
    the mean, and its power still overflows; and beside a score of minus
    infinity the mean is minus infinity too.
    """
    powers = (scores - scores.mean(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def minimum_taken_away(scores, dim=-1):
    """You take away the *smallest* score.

    All powers are then 1 or more, and the largest overflows as soon as two
    scores are far apart.
    """
    powers = (scores - scores.amin(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


def largest_size_taken_away(scores, dim=-1):
    """You take away the largest *absolute* value.

    Where that belongs to a score far below zero, it is far above all scores:
    every power becomes 0, and 0 is divided by 0.
    """
    largest = scores.abs().amax(dim=dim, keepdim=True)
    powers = (scores - largest).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


@see(TEMPERATURE)
def divided_by_the_maximum(scores, dim=-1):
    """You *divide* the scores by the largest one.

    A softmax sees differences, so a number may be taken away from all of
    them. To divide them is a temperature: other shares come out.
    """
    scaled = scores / scores.amax(dim=dim, keepdim=True)
    return scaled.softmax(dim=dim)


def no_powers(scores, dim=-1):
    """There are no powers: you divide the scores themselves by their sum.

    A share has to be positive, and it is e to the score that makes it so.
    With the largest one taken away, all of yours are 0 or below.
    """
    lower = scores - scores.amax(dim=dim, keepdim=True)
    return lower / lower.sum(dim=dim, keepdim=True)


def powers_not_divided(scores, dim=-1):
    """Your largest share is always 1: you never divide by the sum."""
    return (scores - scores.amax(dim=dim, keepdim=True)).exp()


def logarithms_of_shares(scores, dim=-1):
    """What you return are the *logarithms* of the shares."""
    return scores.log_softmax(dim=dim)


def draw_scores(draw: Draw) -> Case:
    rows, columns = draw.size(2, 4), draw.size(2, 4)
    shape = draw.choice([(rows, columns), (draw.size(1, 3), rows, columns)])
    scale = draw.choice([1.0, 1.0, 1.0, 500.0])
    dim = draw.choice([-1, 0, 1, -2])
    return case("random scores", scale * draw.normal(*shape), dim)


STABLE_SOFTMAX = Exercise(
    solution=stable_softmax,
    section=STABLE,
    points=2,
    hints=(
        "Which number can be taken away from every score along the axis "
        "without changing a share? Which choice of it makes the largest "
        "power 1?",
        "Both the largest score and the sum belong to one row each, along "
        "dim. Keep the axis that they are taken along, with size 1, so that "
        "broadcasting gives each row its own.",
    ),
    cases=[
        case("two scores", torch.tensor([0.0, 1.0])),
        case("a large score", torch.tensor([1000.0, 0.0])),
        case("scores far below zero", torch.tensor([-1000.0, -1001.0])),
        case("zero and far below", torch.tensor([0.0, -200.0])),
        case("100, 99 and 0, as in the chapter", torch.tensor([100.0, 99, 0])),
        case("minus infinity", torch.tensor([0.0, -torch.inf, 1.0])),
        case(
            "two rows far apart", torch.tensor([[1000.0, 999.0], [0.0, 1.0]])
        ),
        case(
            "along the first axis",
            torch.tensor([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]),
            0,
        ),
        case(
            "along the first axis, columns far apart",
            torch.tensor([[1000.0, 0.0], [999.0, 2.0]]),
            0,
        ),
        case("half precision", torch.tensor([12.0, 11.0, 0.0]).half()),
        case("float64", torch.tensor([1.0, 800.0, 801.0]).double()),
        case("the middle one of three axes", Draw(35).normal(2, 3, 2), 1),
    ],
    draw=draw_scores,
    others=[
        softmax_of_torch,
        softmax_on_the_last_axis,
        softmax_slice_by_slice,
    ],
    mistakes=[
        powers_overflow,
        powers_in_double,
        a_little_added,
        not_a_number_replaced,
        maximum_of_everything,
        maximum_of_everything_and_a_little,
        maximum_along_another_axis,
        sum_along_another_axis,
        axis_ignored,
        sum_of_everything,
        maximum_only_above,
        softmax_rows_exchanged,
        mean_taken_away,
        minimum_taken_away,
        largest_size_taken_away,
        divided_by_the_maximum,
        no_powers,
        powers_not_divided,
        logarithms_of_shares,
    ],
    tolerance=5e-4,  # logsumexp is right too, to so many digits
)

# --- softmax_backward --------------------------------------------------------


def softmax_backward(
    weights: Float[Tensor, "*batch query key"],
    gradient: Float[Tensor, "*batch query key"],
) -> Float[Tensor, "*batch query key"]:
    """Take a gradient back through a softmax over the keys.

    How weight i reacts to score j is J_ij = a_i (δ_ij - a_j), in each row.

    Args:
        weights: what came out of the softmax; each row sums to one. `*batch`
            stands for any number of axes in front, or none.
        gradient: that of the loss with respect to the weights; any numbers.

    Returns:
        The gradient of the loss with respect to the scores: one number for
        each score.
    """
    ### BEGIN SOLUTION
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient - mean)
    ### END SOLUTION


def backward_by_jacobian(weights, gradient):
    outer = weights[..., :, None] * weights[..., None, :]
    J = torch.diag_embed(weights) - outer
    return (gradient[..., None, :] @ J).squeeze(-2)


def backward_by_einsum(weights, gradient):
    own = weights * gradient
    others = torch.einsum("...i,...i,...j->...j", weights, gradient, weights)
    return own - others


def backward_by_loop(weights, gradient):
    result = torch.zeros_like(weights)
    for j in range(weights.size(-1)):
        for i in range(weights.size(-1)):
            J_ij = weights[..., i] * (float(i == j) - weights[..., j])
            result[..., j] += gradient[..., i] * J_ij
    return result


def each_weight_by_itself(weights, gradient):
    """You use the diagonal of J alone: how a weight reacts to its *own*
    score.

    Raise a score, and its weight grows at the cost of all others in the row.
    They hand on their part of the gradient too.
    """
    return weights * (1 - weights) * gradient


def nothing_taken_from_the_others(weights, gradient):
    """You multiply gradient and weights, and that is all.

    It would be right if each weight were a power by itself. But the row is
    divided by its sum: what one weight gains the others lose. A gradient
    that is the same for all keys has to come to 0.
    """
    return weights * gradient


def plain_mean_taken_away(weights, gradient):
    """You take away the plain mean of a row's gradient.

    A key with a large weight counts for more in it: the mean that belongs
    there is weighted, as attention itself is.
    """
    return weights * (gradient - gradient.mean(dim=-1, keepdim=True))


def plain_sum_taken_away(weights, gradient):
    """You take away the sum of a row's gradient, in which every key counts
    in full.

    How much a key counts is its weight.
    """
    return weights * (gradient - gradient.sum(dim=-1, keepdim=True))


def weight_in_front_forgotten(weights, gradient):
    """You take the right mean away, but do not multiply by the weight.

    A key with a weight of 0 has to get no gradient at all: its score may
    move a little without any effect.
    """
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return gradient - mean


def mean_added(weights, gradient):
    """You *add* the mean where it has to be taken away.

    What one weight gains the others lose: J has a minus there. A gradient
    that is the same for all keys has to come to 0.
    """
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient + mean)


def divided_once_more(weights, gradient):
    """You divide the mean by the number of keys as well.

    The weights of a row sum to one already: their sum with the gradient *is*
    a mean.
    """
    mean = (weights * gradient).mean(dim=-1, keepdim=True)
    return weights * (gradient - mean)


@see(AT_ONCE)
def mean_of_another_row(weights, gradient):
    """Your means have lost the axis that they were taken along.

    Broadcasting lines axes up from the right, so each number meets the mean
    of another row. With a single row nothing shows; and where the sizes do
    not fit, it ends in an error.
    """
    return weights * (gradient - (weights * gradient).sum(dim=-1))


def sign_turned(weights, gradient):
    """Every number is right, but for its sign.

    With this gradient training would go uphill.
    """
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (mean - gradient)


@see(AT_ONCE)
def mean_over_the_queries(weights, gradient):
    """You sum over the queries, down the columns, or over another axis than
    the last.

    Each row is a softmax of its own, over its keys: what another query finds
    has no part in it.
    """
    mean = (weights * gradient).sum(dim=-2, keepdim=True)
    return weights * (gradient - mean)


@variant_of(mean_over_the_queries)
def mean_over_axis_zero(weights, gradient):
    mean = (weights * gradient).sum(dim=0, keepdim=True)
    return weights * (gradient - mean)


@see(AT_ONCE)
def mean_over_axis_one(weights, gradient):
    """You sum over axis 1, counted from the left.

    With queries and keys alone that is the keys. With a batch in front it is
    the queries, or the heads: leading axes move everything to the right.
    """
    mean = (weights * gradient).sum(dim=1, keepdim=True)
    return weights * (gradient - mean)


@see(AT_ONCE)
def mean_over_everything(weights, gradient):
    """You sum over the whole tensor.

    Each row is a softmax of its own: another query, or another sentence of
    the batch, has no part in it.
    """
    return weights * (gradient - (weights * gradient).sum())


def gradient_of_the_logarithm(weights, gradient):
    """What you return is right for a *log*-softmax.

    There the gradient arrives at the logarithms of the weights. Here it
    arrives at the weights themselves.
    """
    return gradient - weights * gradient.sum(dim=-1, keepdim=True)


def weights_minus_gradient(weights, gradient):
    """You take the gradient away from the weights.

    "Weights minus what was right" is the gradient of a softmax *and* a cross
    entropy together, in which much cancels. Here any gradient may arrive.
    """
    return weights - gradient


def jacobian_returned(weights, gradient):
    """What you return is J itself, a matrix for each query.

    The gradient has still to go through it: asked for is one number for each
    score.
    """
    outer = weights[..., :, None] * weights[..., None, :]
    return torch.diag_embed(weights) - outer


def softmax_once_more(weights, gradient):
    """You put the weights through a softmax once more.

    They are what came out of it. The chapter's J is written with the weights
    themselves.
    """
    return softmax_backward(weights.softmax(dim=-1), gradient)


def draw_weights(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (2, 3)])
    shape = (*batch, draw.size(2, 4), draw.size(2, 5))
    weights = (2 * draw.normal(*shape)).softmax(dim=-1)
    return case("random weights", weights, draw.normal(*shape))


SOFTMAX_BACKWARD = Exercise(
    solution=softmax_backward,
    section=JACOBIAN,
    points=3,
    hints=(
        "The chain rule: the gradient with respect to score j is the sum, "
        "over all weights i of its row, of the gradient there times J_ij. "
        "Write it out for two keys, with J's two terms apart.",
        "Of the two terms of J one leaves a single number of the sum, and the "
        "other has the same sum for every j: compute that once for each row. "
        "It is a mean of the gradient. With which weights?",
    ),
    cases=[
        case(
            "two equal weights",
            torch.tensor([[0.5, 0.5]]),
            torch.tensor([[1.0, 0.0]]),
        ),
        case(
            "all of the weight on one key",
            torch.tensor([[1.0, 0.0]]),
            torch.tensor([[1.0, 2.0]]),
        ),
        case(
            "the same gradient for all keys",
            torch.tensor([[0.75, 0.25]]),
            torch.tensor([[2.0, 2.0]]),
        ),
        case(
            "cats, drink, milk, as in the chapter",
            torch.tensor([[0.5, 0.05, 0.45]]),
            torch.tensor([[1.0, 0.0, -2.0]]),
        ),
        case(
            "two queries",
            torch.tensor([[0.5, 0.5], [0.9, 0.1]]),
            torch.tensor([[1.0, 0.0], [0.0, 3.0]]),
        ),
        case(
            "a batch, and heads",
            Draw(36).normal(2, 2, 2, 3).softmax(dim=-1),
            Draw(37).normal(2, 2, 2, 3),
        ),
        case(
            "float64",
            torch.tensor([[0.25, 0.75]]).double(),
            torch.tensor([[-1.0, 1.0]]).double(),
        ),
    ],
    draw=draw_weights,
    others=[backward_by_jacobian, backward_by_einsum, backward_by_loop],
    mistakes=[
        each_weight_by_itself,
        nothing_taken_from_the_others,
        plain_mean_taken_away,
        plain_sum_taken_away,
        weight_in_front_forgotten,
        mean_added,
        divided_once_more,
        mean_of_another_row,
        sign_turned,
        mean_over_the_queries,
        mean_over_axis_zero,
        mean_over_axis_one,
        mean_over_everything,
        gradient_of_the_logarithm,
        weights_minus_gradient,
        jacobian_returned,
        softmax_once_more,
    ],
)

EXERCISES = [ADDITIVE_SCORE, STABLE_SOFTMAX, SOFTMAX_BACKWARD]
"""In the order of the notebook."""
