"""A stack of pre-norm sub-layers."""

from collections.abc import Callable, Sequence

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


def pre_norm_stack(
    x: Float[Tensor, "*batch d_model"],
    sublayers: Sequence[Callable[[Tensor], Tensor]],
    norms: Sequence[Callable[[Tensor], Tensor]],
    last_norm: Callable[[Tensor], Tensor],
) -> Float[Tensor, "*batch d_model"]:
    """Lead a stream through a whole pre-norm stack.

    Around each sub-layer there are a norm and a sum, as in ``add_and_norm``
    when ``norm_first`` is True.

    Args:
        x: the stream as it enters.
        sublayers: attention, feed-forward, attention and so on, from the
            bottom to the top.
        norms: one for each sub-layer, in the same order.
        last_norm: the one more norm that pre-norm needs, once in a stack.

    Returns:
        What leaves the stack.
    """
    ### BEGIN SOLUTION
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = x + sublayer(norm(x))
    return last_norm(x)
    ### END SOLUTION


@other
def stack_by_index(x, sublayers, norms, last_norm):
    stream = x.clone()
    for i in range(len(sublayers)):
        read = norms[i](stream)
        stream = stream + sublayers[i](read)
    return last_norm(stream)


@other
def stack_by_recursion(x, sublayers, norms, last_norm):
    if not sublayers:
        return last_norm(x)
    x = x + sublayers[0](norms[0](x))
    return stack_by_recursion(x, sublayers[1:], norms[1:], last_norm)


@other
def stack_by_parts(x, sublayers, norms, last_norm):
    parts = [x]
    for sublayer, norm in zip(sublayers, norms, strict=True):
        parts.append(sublayer(norm(sum(parts[1:], start=parts[0]))))
    return last_norm(torch.stack(parts).sum(dim=0))


EDITS = """
# last_norm_forgotten
- last_norm(x) -> x
You forget the last norm.

In pre-norm nothing else normalises the stream itself: it is the sum of all
that was added, and grows with each sub-layer.

# last_norm_in_every_layer
- return last_norm(x)
+     x = last_norm(x)
+ return x
You apply the last norm behind every sub-layer.

Then the stream no longer goes straight through. Apply it once, at the end.

# last_norm_first
- for sublayer,
+ x = last_norm(x)
+ for sublayer,
- last_norm(x) -> x
You apply the last norm first, to what enters the stack.

There it is not needed, since each sub-layer has a norm before it. It is the
stream at the end that nothing has normalised.

# stack_in_post_norm (#post-norm-and-pre-norm)
- x + sublayer(norm(x)) -> norm(x + sublayer(x))
Your stack is post-norm: you normalise the sums.

Pre-norm normalises only what a sub-layer reads.

# stack_without_sums (#add-keep-the-word-itself)
- x = x + -> x =
You never add what was there before: each sub-layer's answer replaces the
stream.

Then nothing of the word itself is left after the first sub-layer.

# stack_keeps_the_normed (#post-norm-and-pre-norm)
- x = x + -> x = norm(x) +
You add each answer to the *normalised* stream.

The stream has to go straight on: normalise only what a sub-layer reads.

# stack_norm_on_the_wrong_branch (#post-norm-and-pre-norm)
- x + sublayer(norm(x)) -> norm(x) + sublayer(x)
You normalise the stream that is added, and not what the sub-layer reads.

It has to be the other way round: the sub-layer reads the normalised stream,
and the stream itself goes straight on.

# stack_norms_answers (#post-norm-and-pre-norm)
- sublayer(norm(x)) -> norm(sublayer(x))
You normalise what each sub-layer *answers*.

Normalise what it *reads*.

# stack_without_norms (#add-keep-the-word-itself)
- norm(x)) -> x)
Your sub-layers read the stream as it is: you never use `norms`.

Each sub-layer has a norm of its own before it.

# stack_of_one_layer
- sublayer(norm -> sublayers[0](norm
You apply the first sub-layer again and again.

The other sub-layers are never called. Each step has a sub-layer of its own.

# stack_of_one_norm
- norm(x)) -> norms[0](x))
You use the first norm for every sub-layer.

Each has a norm of its own, with its own gain and bias.

# stack_stops_early
- return
+     return
You return after the first sub-layer.

Does the `return` stand inside the loop?

# stack_reads_the_first
- for sublayer,
+ first = x
+ for sublayer,
- norm(x)) -> norm(first))
Each of your sub-layers reads what entered the *stack*.

It has to read the stream so far, with all that the sub-layers below have added
to it.

# stack_adds_the_first (#add-keep-the-word-itself)
- for sublayer,
+ first = x
+ for sublayer,
- x = x + -> x = first +
You add what entered the *stack* to each answer.

So each sub-layer throws away what those below it have added. Add to the stream
so far.

# stack_adds_once (#add-keep-the-word-itself)
- for sublayer,
+ first = x
+ for sublayer,
- x = x + -> x =
- last_norm(x) -> last_norm(first + x)
You add what entered the stack once, at its end.

Between the sub-layers nothing is kept. Add around *each* of them.

# stack_forgets_the_others
- zip(sublayers, norms, -> zip(sublayers[-1:], norms[-1:],
Only your last sub-layer counts.

The others' answers are lost: each step begins again with what entered the
stack. Let each step change the stream that the next one reads.

# stack_upside_down
- zip(sublayers, norms, -> zip(sublayers[::-1], norms[::-1],
You begin with the last sub-layer: your stack is upside down.

The first sub-layer of the list is the bottom one, and comes first.

# stack_norms_reversed
- , norms, -> , norms[::-1],
You take the norms in reverse order.

They are in the same order as the sub-layers: the first norm belongs to the
first sub-layer.

# last_norm_twice
- for sublayer,
+ x = last_norm(x)
+ for sublayer,
You apply the last norm at both ends.

What enters the stack has to stay as it is: each sub-layer has a norm before
it. Apply the last norm once, at the end.

# last_norm_in_place_of_all (#post-norm-and-pre-norm)
- norm(x)) -> last_norm(x))
Your sub-layers all read through the last norm: you never use `norms`.

Each has a norm of its own, with its own gain and bias.

# last_norm_of_the_answer (#add-keep-the-word-itself)
- x = x + sublayer(norm(x))
+ answer = sublayer(norm(x))
+     x = x + answer
- last_norm(x) -> last_norm(answer)
Your last norm reads the last sub-layer's answer, and not the stream.

So all that was added before is lost at the end.

# last_norm_of_the_loop
- last_norm(x) -> norm(x)
You end with the last of `norms`, and never use `last_norm`.

Those in `norms` belong to the sub-layers. The norm at the end is one more,
with its own gain and bias.

# stack_norms_sums_too (#post-norm-and-pre-norm)
- x + sublayer(norm(x)) -> norm(x + sublayer(norm(x)))
You normalise what each sub-layer reads, and the sum as well.

Pre-norm has only the first of these norms: the stream goes straight on.

# stack_without_its_last
- zip(sublayers, norms, -> zip(sublayers[:-1], norms[:-1],
You leave out the last sub-layer.

Does your loop make one step too few?

# stack_without_its_first
- zip(sublayers, norms, -> zip(sublayers[1:], norms[1:],
You leave out the first sub-layer.

Does your loop begin at 1? The first index is 0.

# stack_in_all_pairs
- zip(sublayers, norms, strict=True)
+ [(one, norm) for one in sublayers for norm in norms]
Each of your sub-layers is applied once with *every* norm.

Do you use a loop inside a loop? The first norm belongs to the first sub-layer,
the second to the second: walk through both at once.
"""


def draw_stack(draw: Draw) -> Case:
    x = draw.normal(draw.size(1, 3), draw.size(1, 4), draw.size(3, 6))
    depth = draw.size(2, 4)
    sublayers = [draw.choice([rolled, squared]) for _ in range(depth)]
    norms = [draw.choice([layer_normed, halved]) for _ in range(depth)]
    return case("a random stack", x, sublayers, norms, layer_normed)


EXERCISE = exercise_of(
    pre_norm_stack,
    section="08_add_and_norm#one-more-norm-at-the-end",
    points=2,
    hints=(
        "One sub-layer in pre-norm is a sum that you have written already. "
        "What does the next sub-layer read? And what has never been "
        "normalised when the loop is over?",
        "Walk through `zip(sublayers, norms)` with one name for the stream, "
        "which each step replaces by a sum. Behind the loop, not in it, comes "
        "the last norm.",
    ),
    cases=[
        case("one sub-layer", THREE, [times_ten], [halved], plus_one),
        case(
            "two sub-layers",
            THREE,
            [times_ten, squared],
            [halved, halved],
            plus_one,
        ),
        case(
            "two norms",
            THREE,
            [times_ten, times_ten],
            [halved, plus_one],
            halved,
        ),
        case(
            "cats", CATS, [rolled, squared], [layer_normed] * 2, layer_normed
        ),
        case(
            "three sub-layers, a batch of one",
            Draw(1).normal(1, 2, 3),
            [squared, rolled, times_ten],
            [layer_normed, halved, layer_normed],
            layer_normed,
        ),
        case(
            "two sentences, float64",
            Draw(2).normal(2, 3, 4).double(),
            [rolled, squared],
            [layer_normed, plus_one],
            layer_normed,
        ),
    ],
    draw=draw_stack,
)
