"""The paper's learning rate schedule."""

import math

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The rate of the paper (section 5.3) at one step.

    Args:
        step: which update it is; the first is 1.
        d_model: the width of the model.
        warmup: for this many steps the rate rises in a straight line, from
            0 at step 0; then it falls as 1/√step.

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

So it starts high, falls until the warm-up ends, and then rises for ever.

# without_warmup
- min(rising, falling) -> falling
Your rate starts at its highest and only falls: there is no warm-up.

The first steps rest on the gradients of very few batches. They should be
short.

# rises_for_ever
- min(rising, falling) -> rising
Your rate rises and never falls.

The straight line ends with the warm-up. There the other branch takes over.

# flat_after_warmup
- step**-0.5 -> warmup**-0.5
After the warm-up your rate stays the same.

It should fall from there, in proportion to 1/√step.

# flat_in_warmup
- step * warmup**-1.5 -> warmup**-0.5
Your rate is at its peak during the whole warm-up.

It should rise to the peak in a straight line from 0.

# falls_too_fast
- step**-0.5 -> warmup**0.5 / step
After the warm-up your rate falls like 1/step.

It should fall like 1/√step, which is much slower: after four times as many
steps it is half.

# falls_from_the_root_of_what_is_left
- min(rising, falling)
+ (rising if step <= warmup else (step - warmup) ** -0.5)
After the warm-up your rate jumps.

You seem to count the steps of the decline from the end of the warm-up. The
formula has the step itself, so that the branches meet without a jump.

# warmup_to_the_first_power
- warmup**-1.5 -> warmup**-1
Your rising branch is step / warmup, which rises too fast.

The two branches have to meet at the end of the warm-up, where both are
1/√warmup.

# warmup_to_half_power
- warmup**-1.5 -> warmup**-0.5
Your rising branch is step / √warmup, which rises far too fast.

It meets the other branch after a few steps, so there is hardly any warm-up.
Check the exponent of the warm-up in the formula.

# exponents_exchanged
- warmup**-1.5 -> warmup**-0.5
- step**-0.5 -> step**-1.5
You swap the exponents of the two branches.

So your rate falls like step to the power of -1.5, far too fast. At the end of
the warm-up both branches should be 1/√warmup.

# root_of_the_step
- step**-0.5 -> step**0.5
After the warm-up your rate goes on rising, like √step.

A minus is missing in the exponent: the falling branch is 1/√step.

# step_without_root
- step**-0.5 -> 1 / step
Your falling branch is 1/step: the root is missing.

The two branches have to meet at the end of the warm-up, where both are
1/√warmup.

# sum_of_both
- min(rising, falling) -> (rising + falling)
You add the two branches.

At each step only one of them counts: one during the warm-up, the other after
it.

# width_in_one_branch
- return d_model**-0.5 * min(rising, falling)
+ return rising if step < warmup else d_model**-0.5 * falling
You use the width in only one of the two branches.

It seems to be missing where the rate rises, so that the rate jumps at the end
of the warm-up. It scales both branches.

# width_inside_the_minimum
- d_model**-0.5 * min(rising, falling)
+ min(d_model**-0.5 * rising, falling)
or
- d_model**-0.5 * min(rising, falling)
+ min(rising, d_model**-0.5 * falling)
You scale only one of the two branches by the width, before you take the
smaller.

So they do not meet at the end of the warm-up. The width scales both.

# peak_without_warmup
- step * warmup**-1.5 -> step / warmup
- step**-0.5 -> (warmup / step) ** 0.5
Your peak does not depend on the length of the warm-up.

That makes the whole curve higher by a factor of √warmup. The longer the
warm-up, the lower the peak should be.

# minus_before_the_root
- step**-0.5 -> -(step**0.5)
Your falling branch is -√step, so the rate is negative.

It should be 1/√step: the minus belongs to the exponent.

# width_left_out
- d_model**-0.5 * ->
Your rate does not depend on the width of the model.

That makes the whole curve higher by a factor of √d_model. Wider models need
lower rates.

# wider_is_faster
- d_model**-0.5 -> d_model**0.5
Your rate grows with the width of the model.

You multiply by √d_model. A wider layer sums over more weights, so the same
step in each moves its output further: it needs a *lower* rate.

# divided_by_the_width
- d_model**-0.5 -> d_model**-1
You divide by d_model, not by its square root.

That makes the whole curve lower by a factor of √d_model.

# steps_from_zero
- step * -> (step - 1) *
- step**-0.5 -> max(step - 1, 1) ** -0.5
or
- rising = step
+ step = step - 1
+ rising = step
Your rate is always that of the step before: you count from 0.

Here the first update is step 1.

# steps_from_two
- rising = step
+ step = step + 1
+ rising = step
Your rate is always that of the step after.

You add 1 to the step. That is needed where steps are counted from 0; here the
first update is step 1 already.

# whole_warmups
- step * warmup**-1.5 -> step // warmup * warmup**-0.5
You divide the step by the warm-up with `//`, which rounds down.

So your rate is 0 during the whole warm-up. Divide with `/`, which keeps the
fraction.

# warmup_like_a_root
- step * warmup**-1.5 -> step**0.5 / warmup
or
- step * warmup**-1.5 -> step**0.5 * warmup**-1.5
Your rate rises like √step, not in a straight line.

The rising branch has the step itself, without a root.

# warmup_like_a_square
- step * warmup**-1.5 -> step**2 * warmup**-2.5
or
- step * warmup**-1.5 -> (step / warmup) ** 1.5
or
- step * warmup**-1.5 -> step**1.5 * warmup**-2
Your rate does not rise in a straight line: it starts too flat.

The rising branch has the step itself; only the warm-up has an exponent.

# product_of_both
- min(rising, falling) -> (rising * falling)
You multiply the two branches.

At each step only one of them counts: one during the warm-up, the other after
it.

# falls_by_three_halves
- step**-0.5 -> step**-1.5
or
- step**-0.5 -> warmup * step**-1.5
or
- min(rising, falling) -> (rising if step < warmup else step**-1.5)
Your falling branch has the step to the power of -1.5.

That exponent belongs to the warm-up, in the other branch. The rate should fall
like 1/√step.

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

After the warm-up the rate is 1/√step, counted from the very first step. Yours
drops too steeply: to 1/√2 of the peak after a single step.

# one_more_in_the_decline
- step**-0.5 -> (step + 1) ** -0.5
or
- step**-0.5 -> max(step - 1, 1) ** -0.5
Your falling branch is one step early or late.

Both branches have the same step, so that they meet at the end of the warm-up.

# one_more_in_the_rise
- rising = step -> rising = (step + 1)
or
- rising = step -> rising = (step - 1)
Your rising branch is one step early or late.

It is 0 at step 0, and meets the other branch at the end of the warm-up.

# width_without_sign
- d_model**-0.5 -> d_model * -0.5
or
- d_model**-0.5 -> -(d_model**0.5)
You multiply by a negative number where the width should be.

The minus belongs to its exponent: the width to the power of -0.5 is
1/√d_model.

# width_to_the_three_halves
- d_model**-0.5 -> d_model**-1.5
or
- d_model**-0.5 -> d_model
You use the wrong power of the width.

The rate is scaled by 1/√d_model, the width to the power of -0.5.
"""


def draw_step(draw: Draw) -> Case:
    warmup = draw.size(3, 50)
    step = draw.size(1, 4 * warmup)
    return case("a random step", step, draw.choice([4, 9, 30, 64]), warmup)


EXERCISE = exercise_of(
    learning_rate,
    section="12_training#how-fast-warm-up-then-1-step",
    points=2,
    hints=(
        "There are two branches, one that rises and one that falls. At one "
        "step they are equal: which one, and what is their value there? Which "
        "of the two counts before it, and which after it?",
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
    tolerance=1e-6,
)
