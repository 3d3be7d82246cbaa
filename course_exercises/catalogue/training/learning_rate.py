"""The paper's learning rate schedule."""

import math

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
    return d_model**-0.5 * min(step * warmup**-1.5, step**-0.5)
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


def draw_step(draw: Draw) -> Case:
    warmup = draw.size(3, 50)
    step = draw.size(1, 4 * warmup)
    return case("a random step", step, draw.choice([4, 9, 30, 64]), warmup)


EXERCISE = exercise_of(
    learning_rate,
    section="12_training#how-fast-warm-up-then-1-step",
    points=2,
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
