"""Back through the softmax."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


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

Raise a score, and its weight grows at the cost of all others in the row. They
hand on their part of the gradient too.

# nothing_taken_from_the_others
- - mean ->
You multiply gradient and weights, and that is all.

It would be right if each weight were a power by itself. But the row is divided
by its sum: what one weight gains the others lose. A gradient that is the same
for all keys has to come to 0.

# plain_mean_taken_away
- (weights * gradient).sum -> gradient.mean
You take away the plain mean of a row's gradient.

A key with a large weight counts for more in it: the mean that belongs there is
weighted, as attention itself is.

# plain_sum_taken_away
- (weights * gradient) -> gradient
You take away the sum of a row's gradient, in which every key counts in full.

How much a key counts is its weight.

# weight_in_front_forgotten
- weights * ( -> (
You take the right mean away, but do not multiply by the weight.

A key with a weight of 0 has to get no gradient at all: its score may move a
little without any effect.

# mean_added
- - mean -> + mean
You *add* the mean where it has to be taken away.

What one weight gains the others lose: J has a minus there. A gradient that is
the same for all keys has to come to 0.

# divided_once_more
- sum -> mean
You divide the mean by the number of keys as well.

The weights of a row sum to one already: their sum with the gradient *is* a
mean.

# mean_of_another_row (04_attention#everybody-asks-at-once)
- , keepdim=True ->
Your means have lost the axis that they were taken along.

Broadcasting lines axes up from the right, so each number meets the mean of
another row. With a single row nothing shows; and where the sizes do not fit,
it ends in an error.

# sign_turned
- return -> return -1 *
Every number is right, but for its sign.

With this gradient training would go uphill.

# mean_over_the_queries (04_attention#everybody-asks-at-once)
- dim=-1 -> dim=-2
or
- dim=-1 -> dim=0
You sum over the queries, down the columns, or over another axis than the last.

Each row is a softmax of its own, over its keys: what another query finds has
no part in it.

# mean_over_axis_one (04_attention#everybody-asks-at-once)
- dim=-1 -> dim=1
You sum over axis 1, counted from the left.

With queries and keys alone that is the keys. With a batch in front it is the
queries, or the heads: leading axes move everything to the right.

# mean_over_everything (04_attention#everybody-asks-at-once)
- dim=-1, keepdim=True ->
You sum over the whole tensor.

Each row is a softmax of its own: another query, or another sentence of the
batch, has no part in it.

# gradient_of_the_logarithm
- (weights * gradient) -> gradient
- weights * (gradient - mean) -> gradient - weights * mean
What you return is right for a *log*-softmax.

There the gradient arrives at the logarithms of the weights. Here it arrives at
the weights themselves.

# weights_minus_gradient
- weights * (gradient - mean) -> weights - gradient
or
- weights * (gradient - mean) -> gradient - weights
You take the gradient away from the weights, or these from it.

"Weights minus what was right" is the gradient of a softmax *and* a cross
entropy together, in which much cancels. Here any gradient may arrive.

# jacobian_returned
- weights * (gradient - mean)
+ torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
What you return is J itself, a matrix for each query.

The gradient has still to go through it: asked for is one number for each
score.

# softmax_once_more
- mean =
+ weights = weights.softmax(dim=-1)
+ mean =
You put the weights through a softmax once more.

They are what came out of it. The chapter's J is written with the weights
themselves.

# own_score_forgotten
- gradient - mean -> -mean
You use what is beside the diagonal of J, and on the diagonal -aᵢ² alone.

A weight also grows with its own score: δ is 1 there. A gradient that is the
same for all keys has to come to 0.

# diagonal_left_out
- gradient - mean -> weights * gradient - mean
You use what is beside the diagonal of J alone: how the *others* react.

A weight reacts to its own score too, by aᵢ (1 - aᵢ).

# weight_taken_out_of_the_sum
- (weights * gradient) -> gradient
- gradient - mean -> gradient - weights * mean
You sum the gradient, and multiply by one key's weight afterwards.

In J's second term both weights stand, aᵢ and aⱼ. One of them belongs to the
key that is summed over, and has to stay in the sum.

# mean_weighted_once_more
- gradient - mean -> gradient - weights * mean
The weight stands once too often in front of your mean.

Multiply it by the difference of gradient and mean, once, and see which power
of it each term has.

# one_weight_twice
- weights * gradient) -> weights * weights * gradient)
- weights * (gradient - mean) -> weights * gradient - mean
In J's second term you have one weight twice, aᵢ aᵢ in place of aᵢ aⱼ.

Both factors stand along the same axis. One weight goes with J's row, the other
with its column: their new axes of size 1 are at different places.

# divided_by_the_number_of_keys
- mean) -> mean) / weights.size(-1)
or
- mean) -> mean) / len(weights)
or
- mean) -> mean) / weights[..., 0].numel()
You divide what comes out: by the number of keys, of queries or of sentences.

The chain rule has a sum, and no mean: each score gets its own derivative.

# mean_divided_by_a_sum
- mean = -> mean = 1 / gradient.sum(dim=-1, keepdim=True) *
You divide the mean by the sum of the gradient.

The weights of a row sum to one: their sum with the gradient *is* a mean.

# weight_squared
- (weights * gradient).sum -> (weights * weights * gradient).sum
or
- weights * (gradient - mean) -> weights * weights * (gradient - mean)
You have a weight twice.

Once it stands inside the mean, and once in front of the difference.

# largest_taken_away
- (weights * gradient).sum(dim=-1 -> gradient.amax(dim=-1
or
- (weights * gradient).sum(dim=-1 -> (weights * gradient).amax(dim=-1
You take away the largest number of a row.

That is how a softmax is kept from overflowing. Its gradient has a mean there,
which sees all keys.

# own_part_left_out
- gradient - mean) -> gradient - (mean - weights * gradient))
You take away what the *other* keys hand on, but not the weight's own part.

The diagonal of J is aᵢ (1 - aᵢ), not aᵢ: the sum goes over all keys, the own
one too.

# sign_of_the_second_term
- gradient - mean) -> (1 - 2 * weights) * gradient + mean)
or
- gradient - mean) -> (1 - weights) * gradient + mean)
The diagonal is right, but beside it your J has a plus.

What one weight gains the others lose: J_ij is -aᵢ aⱼ there.

# parts_exchanged
- weights * (gradient - mean) -> gradient * (weights - mean)
or
- weights * (gradient - mean)
+ gradient * (weights - weights.square().sum(dim=-1, keepdim=True))
or
- weights * (gradient - mean)
+ gradient * weights - weights * gradient.square().sum(dim=-1, keepdim=True)
or
- weights * (gradient - mean)
+ gradient * weights - gradient * mean
You have exchanged weights and gradient.

The weights stand in front; what is taken away stands beside the *gradient*.

# gradient_on_the_diagonal
- weights * (gradient - mean)
+ (gradient * gradient - weights * mean)
or
- weights * (gradient - mean) -> gradient - weights * mean
Your J has the gradient in it: on its diagonal, or as a whole.

J knows nothing of the gradient. It is made of the weights, with these on its
diagonal, and is multiplied by the gradient afterwards.

# jacobian_summed
- weights * (gradient - mean)
+ weights * (1 - weights.sum(dim=-1, keepdim=True))
You sum the rows of J: that is 0, always.

All weights of a row together stay 1. The gradient has to be multiplied in
first: only then is summed.

# diagonal_returned
- weights * (gradient - mean) -> weights * (1 - weights)
You return the diagonal of J; the gradient is not looked at.

So it is for a sigmoid, but for the gradient. Multiply J by what arrives.

# gradient_by_the_rest
- gradient - mean -> gradient * (1 - weights) - mean
or
- weights * (gradient - mean) -> gradient * (1 - weights)
or
- weights * (gradient - mean) -> weights * (1 - gradient)
You multiply by 1 minus a number, as for a sigmoid.

In a softmax all keys of a row have their part, by a mean.

# gradient_as_it_is
- weights * (gradient - mean) -> gradient
You return the gradient as it arrived.

A softmax stands between scores and weights: its J has to be multiplied in.

# shares_made_again
- weights * (gradient - mean) -> weights * gradient / mean
or
- weights * (gradient - mean) -> (weights * gradient).softmax(dim=-1)
or
- weights * (gradient - mean) -> gradient.softmax(dim=-1)
or
- weights * (gradient - mean) -> weights * gradient.softmax(dim=-1)
You make shares of a gradient.

A gradient sums to anything, and what comes out here sums to 0. Nothing is
divided.

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

That product is still to be summed, over the weights: asked for is one number
for each score.

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
    place=3,
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
    edits=EDITS,
)
