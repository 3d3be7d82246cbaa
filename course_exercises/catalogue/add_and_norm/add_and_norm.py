"""Residual connection and layer norm, post-norm and pre-norm."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other

from . import (
    CATS,
    THREE,
    halved,
    layer_normed,
    plus_one,
    rolled,
    squared,
    times_ten,
)


def add_and_norm(
    x: Float[Tensor, "*batch d_model"],
    sublayer: Callable[[Tensor], Tensor],
    norm: Callable[[Tensor], Tensor],
    norm_first: bool,
) -> Float[Tensor, "*batch d_model"]:
    """Put a sum and a norm around a sub-layer, in one of the two ways.

    There is nothing else, no dropout either.

    Args:
        x: the stream, with any axes ahead of its width.
        sublayer: attention, say, or a feed-forward part; call it with a
            tensor, and it gives one of the same shape.
        norm: a layer norm, called likewise.
        norm_first: pre-norm if True, post-norm if False.

    Returns:
        The stream as it goes on, of the shape of ``x``.
    """
    ### BEGIN SOLUTION
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))
    ### END SOLUTION


@other
def added_by_steps(x, sublayer, norm, norm_first):
    read = norm(x) if norm_first else x
    out = torch.stack([x, sublayer(read)]).sum(dim=0)
    return out if norm_first else norm(out)


@other
def added_by_composing(x, sublayer, norm, norm_first):
    def same(y):
        return y

    before, after = (norm, same) if norm_first else (same, norm)
    return after(torch.add(sublayer(before(x)), x))


EDITS = """
# always_post_norm
- if norm_first -> if False
Your norm always comes after the sum: post-norm.

That is the paper's way, for `norm_first=False`. If it is True, you have to
normalise only what the sub-layer *reads*.

# always_pre_norm
- if norm_first -> if True
Your norm always comes before the sub-layer: pre-norm.

That is the way for `norm_first=True`. If it is False, you have to normalise
the *sum*, as the paper does.

# places_swapped
- if norm_first -> if not norm_first
You have pre-norm and post-norm the wrong way round.

The name says where the norm comes: *pre* is before the sub-layer, *post* after
the sum.

# normed_word_kept
- return x -> return norm(x)
In pre-norm you add the sub-layer's answer to the *normalised* word.

Then nothing bypasses the norm any more. Pre-norm leaves the stream as it is,
and normalises only what the sub-layer reads.

# norm_on_the_wrong_branch
- x + sublayer(norm(x)) -> norm(x) + sublayer(x)
In pre-norm you normalise the word that is added, and not what the sub-layer
reads.

It has to be the other way round: the sub-layer reads the normalised word, and
the word itself is added as it is.

# word_forgotten (#add-keep-the-word-itself)
- return x + -> return
- norm(x + -> norm(
You never add what was there before: there is no residual connection.

The word itself is lost: nothing but the sub-layer's answer is left.

# multiplied_in_place_of_added (#add-keep-the-word-itself)
- return x + -> return x *
- norm(x + -> norm(x *
You *multiply* the word by the sub-layer's answer.

The residual connection is a sum: where the sub-layer answers 0, the word goes
on unchanged.

# mean_of_word_and_answer (#add-keep-the-word-itself)
- return x + sublayer(norm(x)) -> return (x + sublayer(norm(x))) / 2
- norm(x + sublayer(x)) -> norm((x + sublayer(x)) / 2)
You take the mean of the word and the sub-layer's answer.

The residual connection is their sum. With the mean, a word is halved in each
layer.

# word_forgotten_in_pre_norm (#add-keep-the-word-itself)
- return x + -> return
In pre-norm you never add what was there before.

The word itself is lost: nothing but the sub-layer's answer is left.

# word_forgotten_in_post_norm (#add-keep-the-word-itself)
- norm(x + -> norm(
In post-norm you never add what was there before.

The word itself is lost: nothing but the sub-layer's answer is left. The norm
goes around the *sum* of both.

# normed_twice
- x + sublayer(norm(x)) -> norm(x + sublayer(norm(x)))
- + sublayer(x) -> + sublayer(norm(x))
You normalise twice, before the sub-layer and after the sum.

Pre-norm has only the first of these norms, post-norm only the second.

# pre_norm_and_once_more
- x + sublayer(norm(x)) -> norm(x + sublayer(norm(x)))
In pre-norm you normalise the sum as well.

That is one norm too many: the stream has to go straight on. Pre-norm needs
one more norm only once, at the end of the whole stack.

# answer_normed
- norm(x + sublayer(x)) -> x + norm(sublayer(x))
In post-norm you normalise the sub-layer's answer before it is added.

Then the sum itself is never normalised, and grows from layer to layer.
Post-norm normalises the sum.

# answer_normed_in_pre_norm
- sublayer(norm(x)) -> norm(sublayer(x))
In pre-norm you normalise what the sub-layer *answers*.

Normalise what it *reads*.

# norm_left_out (#the-gradient-through-many-layers)
- sublayer(norm(x)) -> sublayer(x)
- norm(x + sublayer(x)) -> x + sublayer(x)
You only add: nothing is ever normalised.

Through many layers the stream would grow and grow.

# norm_left_out_of_post_norm (#the-gradient-through-many-layers)
- norm(x + sublayer(x)) -> x + sublayer(x)
In post-norm you only add: nothing is normalised.

Post-norm normalises the sum.

# norm_left_out_of_pre_norm (#the-gradient-through-many-layers)
- sublayer(norm(x)) -> sublayer(x)
In pre-norm you only add: nothing is normalised.

Pre-norm normalises what the sub-layer reads.

# answer_normed_in_both
- sublayer(norm(x)) -> norm(sublayer(x))
- norm(x + sublayer(x)) -> x + norm(sublayer(x))
You always normalise the sub-layer's answer.

That is neither of the two ways. Pre-norm normalises what the sub-layer
*reads*, post-norm the *sum*.

# answer_normed_too
- sublayer(norm(x)) -> norm(sublayer(norm(x)))
In pre-norm you normalise what the sub-layer reads, and its answer as well.

Some later models do so. Pre-norm adds the answer as it is.

# summands_normed
- norm(x + sublayer(x)) -> norm(x) + norm(sublayer(x))
In post-norm you normalise the word and the answer first, and then add them.

Add first, then normalise: the norm of a sum is not the sum of the norms.

# word_normed_in_post_norm
- norm(x + sublayer(x)) -> norm(x) + sublayer(x)
In post-norm you normalise the word alone, and add the answer to that.

Add first: the norm comes after the sum.

# post_norm_and_once_more
- + sublayer(x) -> + sublayer(norm(x))
In post-norm you also normalise what the sub-layer reads.

That is one norm too many: in post-norm the sub-layer reads the word as it is,
and only the sum is normalised.

# one_way_after_the_other
- return x -> x = x
In pre-norm you go on into post-norm, and apply the sub-layer again.

Is there an `else`, or a `return`, between the two ways?
"""


def draw_sublayer(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    sublayer = draw.choice([times_ten, rolled, squared])
    norm = draw.choice([layer_normed, halved, plus_one])
    first = draw.choice([True, False])
    return case("random numbers", x, sublayer, norm, first)


EXERCISE = exercise_of(
    add_and_norm,
    section="08_add_and_norm#post-norm-and-pre-norm",
    points=1,
    hints=(
        "Draw both: a line from x upwards, the sub-layer beside it, a plus "
        "where they meet. Where on this picture is the norm in each of the "
        "two ways?",
        "Both ways call each of the two functions once, and add once, and "
        "what is added is x as it came in. They differ in what the sub-layer "
        "is given, and in whether the sum is returned as it is.",
    ),
    cases=[
        case("post-norm", THREE, times_ten, halved, False),
        case("pre-norm", THREE, times_ten, halved, True),
        case("post-norm of a square", THREE, squared, plus_one, False),
        case("pre-norm of a square", THREE, squared, plus_one, True),
        case("cats in post-norm", CATS, rolled, layer_normed, False),
        case("cats in pre-norm", CATS, rolled, layer_normed, True),
        case(
            "a batch of one in post-norm",
            Draw(1).normal(1, 2, 4),
            squared,
            layer_normed,
            False,
        ),
        case(
            "two sentences in pre-norm, float64",
            Draw(2).normal(2, 3, 4).double(),
            squared,
            layer_normed,
            True,
        ),
    ],
    draw=draw_sublayer,
)
