import math


def right_1(step, d_model, warmup):
    """Two cases: the straight line and the fall."""
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup**1.5)
    return 1 / math.sqrt(d_model * step)


def right_2(step, d_model, warmup):
    """The height of the fall, times the share of the warm-up done."""
    rate = (d_model * max(step, warmup)) ** -0.5
    if step < warmup:
        rate = rate * step / warmup
    return rate


def single_1(step, d_model, warmup):
    """Takes max for min."""
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


def single_2(step, d_model, warmup):
    """Rises to 1/√d_model, from where it falls as √(warmup/step)."""
    peak = 1 / math.sqrt(d_model)
    if step <= warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def single_3(step, d_model, warmup):
    """Counts the steps from 0, so adds 1."""
    step = step + 1
    arg1 = step**-0.5
    arg2 = step * warmup**-1.5
    return d_model**-0.5 * min(arg1, arg2)


def single_4(step, d_model, warmup):
    """Starts the fall anew after the warm-up: 1/√(step - warmup)."""
    scale = 1.0 / math.sqrt(d_model)
    if step <= warmup:
        return scale * step * warmup ** (-1.5)
    return scale / math.sqrt(step - warmup)


def single_5(step, d_model, warmup):
    """Stays at the highest rate after the warm-up."""
    highest = 1 / math.sqrt(d_model * warmup)
    return highest * min(1.0, step / warmup)


def double_1(step, d_model, warmup):
    """1. Divides by d_model, not its root; 2. falls as 1/step."""
    peak = 1 / (d_model * math.sqrt(warmup))
    if step < warmup:
        return peak * step / warmup
    return peak * warmup / step


def double_2(step, d_model, warmup):
    """1. Leaves d_model out; 2. a step too far, as if it began at 0."""
    s = step + 1
    return min(s**-0.5, s * warmup**-1.5)
