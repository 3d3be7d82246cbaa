"""The paper's schedule: up in a straight line, then down."""

import math

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The rate of the paper (section 5.3) at one step.

    Args:
        step: which update it is; the first is 1.
        d_model: the width of the model.
        warmup: for so many steps the rate rises in a straight line, which
            is 0 at step 0; then it falls as 1/√step.

    Returns:
        The rate. At ``step == warmup`` it is 1/√(d_model · warmup), the
        highest of all.
    """
    ### BEGIN SOLUTION
    rising = step * warmup**-1.5
    falling = step**-0.5
    return d_model**-0.5 * min(rising, falling)
    ### END SOLUTION


@other
def rate_by_its_peak(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    if step < warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


@other
def rate_by_logarithms(step, d_model, warmup):
    up = math.log(step) - 1.5 * math.log(warmup)
    down = -0.5 * math.log(step)
    return math.exp(min(up, down) - 0.5 * math.log(d_model))


@other
def rate_by_two_phases(step, d_model, warmup):
    share = min(step, warmup) / warmup
    return share / math.sqrt(d_model * max(step, warmup))


EDITS = """
# larger_of_both
- min -> max
Your rate is the larger of the two branches, not the smaller.

So it begins high, falls until the warm-up ends, and then rises in a straight
line for ever.

# without_warmup
- min(rising, falling) -> falling
Your rate begins at its highest and only falls: nothing is warmed up.

The first steps rest on the gradients of very few batches. They are to be
short.

# rises_for_ever
- min(rising, falling) -> rising
Your rate rises and never falls.

The straight line is right as far as the end of the warm-up. There the other
branch begins.

# flat_after_warmup
- step**-0.5 -> warmup**-0.5
After the warm-up your rate stays where it is.

It should fall from there, in proportion to 1/√step.

# flat_in_warmup
- step * warmup**-1.5 -> warmup**-0.5
Your rate is at its peak through all of the warm-up.

It should rise to there, in a straight line from 0. What comes after is right.

# falls_too_fast
- step**-0.5 -> warmup**0.5 / step
After the warm-up your rate falls like 1/step.

The warm-up and the peak are right. With 1/√step the decline is much slower:
four times the steps halve it.

# falls_from_the_root_of_what_is_left
- min(rising, falling)
+ (rising if step <= warmup else (step - warmup) ** -0.5)
After the warm-up your rate begins anew, and jumps.

You seem to count the steps of the decline from the end of the warm-up. The
formula has the step itself: both branches meet there without a jump.

# warmup_to_the_first_power
- warmup**-1.5 -> warmup**-1
Your line rises too fast: it is step / warmup.

The two branches have to meet at the end of the warm-up, where the other one is
1/√warmup.

# warmup_to_half_power
- warmup**-1.5 -> warmup**-0.5
Your line rises far too fast: it is step / √warmup.

It reaches the other branch after a few steps, so that hardly anything is
warmed up. Look at the exponent of the warm-up in the formula once more.

# exponents_exchanged
- warmup**-1.5 -> warmup**-0.5
- step**-0.5 -> step**-1.5
You have the two exponents of the branches the wrong way round.

Your rate falls like step to the power of -1.5, far too fast. With the right
ones both branches are 1/√warmup where the warm-up ends.

# root_of_the_step
- step**-0.5 -> step**0.5
After the warm-up your rate goes on rising, like √step.

One sign is missing: the falling branch is 1/√step.

# step_without_root
- step**-0.5 -> 1 / step
Your falling branch is 1/step: the root is missing.

The rate falls far too soon. The two branches have to meet at the end of the
warm-up, where both are 1/√warmup.

# sum_of_both
- min(rising, falling) -> (rising + falling)
You add the two branches.

Each holds on its own side of the warm-up's end: only one of them counts at any
step.

# width_in_one_branch
- return d_model**-0.5 * min(rising, falling)
+ return rising if step < warmup else d_model**-0.5 * falling
The width enters only one of the two branches.

It seems to be missing where the rate rises, so that the rate jumps at the end
of the warm-up. It scales the whole.

# width_inside_the_minimum
- d_model**-0.5 * min(rising, falling)
+ min(d_model**-0.5 * rising, falling)
or
- d_model**-0.5 * min(rising, falling)
+ min(rising, d_model**-0.5 * falling)
The width enters one of the two branches only, before the smaller is taken.

So they meet at another step than the end of the warm-up. It scales the whole.

# peak_without_warmup
- step * warmup**-1.5 -> step / warmup
- step**-0.5 -> (warmup / step) ** 0.5
Your rate rises to 1/√d_model, however long the warm-up is.

The shape of the curve is right; all of it is too high by √warmup. The longer
the rise, the lower the peak.

# minus_before_the_root
- step**-0.5 -> -(step**0.5)
Your rate is negative: where it should be 1/√step, it is -√step.

The minus belongs to the exponent.

# width_left_out
- d_model**-0.5 * ->
Your rate is the same for a model of any width.

The shape of the curve is right; all of it is too high by √d_model.

# wider_is_faster
- d_model**-0.5 -> d_model**0.5
Your rate grows with the width of the model.

You multiply by √d_model. A wider layer sums over more weights, so that the
same step in each moves its output further: it gets a *lower* rate.

# divided_by_the_width
- d_model**-0.5 -> d_model**-1
You divide by d_model, not by its square root.

The shape of the curve is right; all of it is too low by √d_model.

# steps_from_zero
- step * -> (step - 1) *
- step**-0.5 -> max(step - 1, 1) ** -0.5
or
- rising = step
+ step = step - 1
+ rising = step
Your rate is always that of the step before: the first one is 0.

You count from 0. Here the first update is step 1.

# steps_from_two
- rising = step
+ step = step + 1
+ rising = step
Your rate is always that of the step after.

You add 1 to the step, as is needed where steps are counted from 0. Here the
first update is step 1 already.

# whole_warmups
- step * warmup**-1.5 -> step // warmup * warmup**-0.5
You divide the step by the warm-up with `//`, which rounds down.

Through all of the warm-up your rate is 0. A quotient with its fraction is made
by `/`.

# warmup_like_a_root
- step * warmup**-1.5 -> step**0.5 / warmup
or
- step * warmup**-1.5 -> step**0.5 * warmup**-1.5
Your rate rises like √step, and not in a straight line.

In the rising branch stands the step itself.

# warmup_like_a_square
- step * warmup**-1.5 -> step**2 * warmup**-2.5
or
- step * warmup**-1.5 -> (step / warmup) ** 1.5
or
- step * warmup**-1.5 -> step**1.5 * warmup**-2
Your rate does not rise in a straight line: it begins too flat.

In the rising branch stands the step itself; only the warm-up has an exponent.

# product_of_both
- min(rising, falling) -> (rising * falling)
You multiply the two branches.

Each holds on its own side of the warm-up's end: only one of them counts at any
step.

# falls_by_three_halves
- step**-0.5 -> step**-1.5
or
- step**-0.5 -> warmup * step**-1.5
or
- min(rising, falling) -> (rising if step < warmup else step**-1.5)
Your falling branch is the step to the power of -1.5.

That exponent belongs to the warm-up, in the other branch. The rate falls like
1/√step.

# falls_from_the_end_of_the_warmup
- min(rising, falling)
+ (rising if step <= warmup else (warmup * (step - warmup + 1)) ** -0.5)
or
- min(rising, falling)
+ (rising if step <= warmup else (warmup * (step - warmup)) ** -0.5)
or
- min(rising, falling)
+ (rising if step <= warmup else (step - warmup + 1) ** -0.5)
You count the steps of the decline from the end of the warm-up.

The formula has the step itself, in both branches: they meet at the end of the
warm-up without a jump.

# one_more_in_the_decline
- step**-0.5 -> (step + 1) ** -0.5
or
- step**-0.5 -> max(step - 1, 1) ** -0.5
Your decline is a step before or behind the rise.

Both branches have the same step, so that they meet at the end of the warm-up.

# one_more_in_the_rise
- rising = step -> rising = (step + 1)
or
- rising = step -> rising = (step - 1)
Your rise is a step before or behind the decline.

The line is 0 at step 0, and meets the other branch at the end of the warm-up.

# width_without_sign
- d_model**-0.5 -> d_model * -0.5
or
- d_model**-0.5 -> -(d_model**0.5)
Your rate is negative: the minus is that of the width's exponent.

Raised to the power of -0.5, the width gives 1/√d_model.

# width_to_the_three_halves
- d_model**-0.5 -> d_model**-1.5
or
- d_model**-0.5 -> d_model
Your rate has a wrong power of the width.

It is multiplied by 1/√d_model, that is the width to the power of -0.5.
"""


def draw_step(draw: Draw) -> Case:
    warmup = draw.size(3, 50)
    step = draw.size(1, 4 * warmup)
    return case("a random step", step, draw.choice([4, 9, 30, 64]), warmup)


EXERCISE = exercise_of(
    learning_rate,
    place=2,
    section="12_training#how-fast-warm-up-then-1-step",
    points=2,
    hints=(
        "There are two branches, one that rises and one that falls. At one "
        "step they are equal: which, and what are both there? Which of the "
        "two counts on either side of it?",
        "The falling branch is the step to the power of minus a half. The "
        "rising one has the step itself, and a power of the warm-up that "
        "makes both equal when the step is the warm-up. Take the smaller, "
        "and scale it by the width.",
    ),
    cases=[
        case("the first step", 1, 4, 4),
        case("in the middle of the warm-up", 2, 4, 4),
        case("a step before its end", 3, 4, 4),
        case("the end of the warm-up: the peak", 4, 4, 4),
        case("one step later", 5, 4, 4),
        case("four times the warm-up: half the peak", 16, 4, 4),
        case("a wider model", 4, 16, 4),
        case("a longer warm-up", 8, 4, 32),
        case("a warm-up of a single step", 1, 4, 1),
        case("after that", 9, 4, 1),
        case("the paper's base model at its peak", 4000, 512, 4000),
        case("the same at its last step", 100_000, 512, 4000),
    ],
    draw=draw_step,
    edits=EDITS,
    tolerance=1e-6,
)
