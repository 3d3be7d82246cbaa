import math


def right_1(step, d_model, warmup):
    """The paper's formula; step 0 by itself, since 0 has no -0.5th power."""
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def right_2(step, d_model, warmup):
    """The peak, and the share of it that is due before and after."""
    peak = 1 / math.sqrt(d_model * warmup)
    if step <= warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def single_1(step, d_model, warmup):
    """Holds the highest rate through the warm-up, as T5 does."""
    return 1 / math.sqrt(d_model) / math.sqrt(max(step, warmup))


def single_2(step, d_model, warmup):
    """Counts the steps anew after the warm-up, for the root."""
    peak = (d_model * warmup) ** -0.5
    if step < warmup:
        return peak * step / warmup
    return peak / math.sqrt(step - warmup + 1)


def single_3(step, d_model, warmup):
    """Multiplies by the root of d_model, as embeddings are scaled."""
    if step == 0:
        return 0.0
    arg1 = 1 / math.sqrt(step)
    arg2 = step / warmup**1.5
    return math.sqrt(d_model) * min(arg1, arg2)


def single_4(step, d_model, warmup):
    """Falls as 1/step after the peak, not as its root."""
    top = 1.0 / math.sqrt(d_model * warmup)
    if step <= warmup:
        return top * (step / warmup)
    return top * (warmup / step)


def single_5(step, d_model, warmup):
    """Falls in a straight line too, to 0 at ten warm-ups, as in BERT."""
    peak = 1 / math.sqrt(d_model * warmup)
    rising = step / warmup
    falling = (10 * warmup - step) / (9 * warmup)
    return peak * max(0.0, min(rising, falling))


def double_1(step, d_model, warmup):
    """1. Steps count from 0, so adds one; 2. divides by d_model, no root."""
    step = step + 1
    return 1 / d_model * min(step**-0.5, step * warmup**-1.5)


def double_2(step, d_model, warmup):
    """1. No d_model in it; 2. rises as the root of the step."""
    highest = warmup**-0.5
    if step < warmup:
        factor = math.sqrt(step / warmup)
    else:
        factor = math.sqrt(warmup / step)
    return highest * factor
