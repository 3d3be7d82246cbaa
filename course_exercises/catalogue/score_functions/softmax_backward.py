"""Backward pass of the softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


@other
def backward_by_jacobian(weights, gradient):
    outer = weights[..., :, None] * weights[..., None, :]
    J = torch.diag_embed(weights) - outer
    return (gradient[..., None, :] @ J).squeeze(-2)


@other
def backward_by_einsum(weights, gradient):
    own = weights * gradient
    others = torch.einsum("...i,...i,...j->...j", weights, gradient, weights)
    return own - others


@other
def backward_by_loop(weights, gradient):
    result = torch.zeros_like(weights)
    for j in range(weights.size(-1)):
        for i in range(weights.size(-1)):
            J_ij = weights[..., i] * (float(i == j) - weights[..., j])
            result[..., j] += gradient[..., i] * J_ij
    return result


EDITS = """
# each_weight_by_itself
- gradient - mean -> gradient - weights * gradient
You use the diagonal of J alone: how a weight reacts to its *own* score.

Raise a score, and its weight grows at the cost of all others in the row: their
gradients come in too.

# nothing_taken_from_the_others
- - mean ->
You multiply gradient and weights, and nothing more.

That would be right if each weight were a power by itself. But a row is divided
by its sum: what one weight gains the others lose. A gradient that is the same
for all keys has to give 0.

# mean_not_weighted
- weights * (gradient - mean) -> (weights * gradient - mean)
You subtract Σ aⱼgⱼ without the factor aᵢ in front of it.

It has to be aᵢ · (gᵢ − Σ aⱼgⱼ), with aᵢ in front of both.

# plain_mean_taken_away
- (weights * gradient).sum -> gradient.mean
You take away the plain mean of a row's gradient.

A key with a large weight counts for more: the mean has to be weighted, as
attention itself is.

# plain_sum_taken_away
- (weights * gradient) -> gradient
You take away the plain sum of a row's gradient.

Each key counts there by its weight: weight the gradient before you sum.

# weight_in_front_forgotten
- weights * ( -> (
You do not multiply by the weight in front.

A key with a weight of 0 has to get no gradient at all: its score may move a
little without any effect.

# mean_added
- - mean -> + mean
You *add* the mean instead of taking it away.

What one weight gains the others lose: J has a minus there. A gradient that is
the same for all keys has to give 0.

# divided_once_more
- sum -> mean
You divide the weighted mean by the number of keys.

The weights of a row sum to one already: the sum of each gradient times its
weight *is* a mean.

# mean_of_another_row (04_attention#all-queries-at-once)
- , keepdim=True ->
Your means have lost the axis that they were taken along.

Broadcasting lines axes up from the right, so each number meets the mean of
another row. With a single row nothing shows; where the sizes do not fit, your
code raises an error.

# sign_turned
- return -> return -1 *
Your result has the wrong sign.

With such a gradient training would go uphill.

# mean_over_the_queries (04_attention#all-queries-at-once)
- dim=-1 -> dim=-2
or
- dim=-1 -> dim=0
You sum over the queries, or over another axis than the last.

Each row is a softmax of its own, over its keys: what another query finds has
no part in it.

# mean_over_axis_one (04_attention#all-queries-at-once)
- dim=-1 -> dim=1
You sum over axis 1, counted from the left.

With queries and keys alone that is the keys. With a batch in front it is the
queries, or the heads: axes in front move everything to the right.

# mean_over_everything (04_attention#all-queries-at-once)
- dim=-1, keepdim=True ->
You sum over the whole tensor.

Each row is a softmax of its own: another query, or another sentence of the
batch, has no part in it.

# gradient_of_the_logarithm
- (weights * gradient) -> gradient
- weights * (gradient - mean) -> gradient - weights * mean
You return the gradient of a *log*-softmax.

There the gradient arrives at the logarithms of the weights. Here it arrives at
the weights themselves.

# weights_minus_gradient
- weights * (gradient - mean) -> weights - gradient
or
- weights * (gradient - mean) -> gradient - weights
You return the weights minus the gradient.

"Weights minus what was right" is the gradient of a softmax *and* a cross
entropy together, in which much cancels. Here any gradient may arrive.

# jacobian_returned
- weights * (gradient - mean)
+ torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
You return J itself, a matrix for each query.

Multiply it by the gradient: the result has one number for each score.

# jacobian_not_summed
- weights * (gradient - mean)
+ (torch.diag_embed(weights) - weights[..., None] * weights[..., None, :])
- mean =
+ J = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
+ mean =
- return
+ return gradient[..., None] *
or
- weights * (gradient - mean)
+ (torch.diag_embed(weights) - weights[..., None] * weights[..., None, :])
- return
+ return gradient[..., None, :] *
You multiply J by the gradient number by number, and return a matrix.

Sum it over the weights: the result has one number for each score.

# softmax_once_more
- mean =
+ weights = weights.softmax(dim=-1)
+ mean =
You put the weights through a softmax.

They came out of one. The chapter's J is written with the weights themselves.

# own_score_forgotten
- gradient - mean -> -mean
Your J has no δ: on its diagonal it has -aᵢ² alone.

A weight also grows with its own score: δ is 1 there. A gradient that is the
same for all keys has to give 0.

# diagonal_left_out
- gradient - mean -> weights * gradient - mean
You leave the diagonal of J out: you use only how the *others* react.

A weight reacts to its own score too, by aᵢ (1 - aᵢ).

# weight_taken_out_of_the_sum
- (weights * gradient) -> gradient
- gradient - mean -> gradient - weights * mean
You sum the gradient, and multiply by one key's weight afterwards.

J's second term has two weights, aᵢ and aⱼ. One of them belongs to the key that
is summed over, and has to stay in the sum.

# weight_squared
- (weights * gradient).sum -> (weights * weights * gradient).sum
or
- weights * (gradient - mean) -> weights * weights * (gradient - mean)
or
- gradient - mean -> gradient - weights * mean
You multiply by a weight once too often.

It stands once inside the mean, and once in front of the difference of gradient
and mean.

# one_weight_twice
- weights * gradient) -> weights * weights * gradient)
- weights * (gradient - mean) -> (weights * gradient - mean)
In J's second term you have one weight twice, aᵢ aᵢ instead of aᵢ aⱼ.

One weight goes with J's row, the other with its column, so their new axes of
size 1 have to be at different places.

# divided_by_the_number_of_keys
- mean) -> mean) / weights.size(-1)
or
- mean) -> mean) / len(weights)
You divide the result by the number of keys, or of queries or sentences.

The chain rule has a sum, not a mean.

# own_part_left_out
- gradient - mean) -> gradient - (mean - weights * gradient))
You leave a key's own gradient out of the mean.

The diagonal of J is aᵢ (1 - aᵢ), not aᵢ: the sum goes over all keys.

# parts_exchanged
- weights * (gradient - mean) -> gradient * (weights - mean)
You have exchanged weights and gradient.

The weight stands in front, and the mean is taken away from the *gradient*.

# diagonal_returned
- weights * (gradient - mean) -> weights * (1 - weights)
You return the diagonal of J; the gradient is never used.

Multiply the whole of J by the gradient that arrives.

# gradient_by_the_rest
- gradient - mean -> gradient * (1 - weights) - mean
or
- weights * (gradient - mean) -> gradient * (1 - weights)
or
- weights * (gradient - mean) -> weights * (1 - gradient)
You multiply by 1 minus a number, as for a sigmoid.

In a softmax the other keys of a row come in as well, by a weighted mean.

# shares_made_again
- weights * (gradient - mean) -> (weights * gradient).softmax(dim=-1)
or
- weights * (gradient - mean) -> weights * gradient.softmax(dim=-1)
You make shares of a gradient.

A gradient may sum to anything, and what you return has to sum to 0 in each
row. Nothing is divided.

# gradient_summed_outside
- weights * (gradient - mean)
+ weights * gradient.sum(dim=-1, keepdim=True)
You sum the gradient by itself.

Each of its numbers belongs to one weight: multiply first, then sum.
"""


def draw_weights(draw: Draw) -> Case:
    batch = draw.choice([(), (2,), (2, 3)])
    shape = (*batch, draw.size(2, 4), draw.size(2, 5))
    weights = (2 * draw.normal(*shape)).softmax(dim=-1)
    return case("random weights", weights, draw.normal(*shape))


EXERCISE = exercise_of(
    softmax_backward,
    section="05_score_functions#what-large-scores-do-to-a-softmax",
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
)
