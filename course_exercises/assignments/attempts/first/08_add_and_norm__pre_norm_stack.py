import torch


def right_1(x, sublayers, norms, last_norm):
    """Zips sub-layers and norms, x + sublayer(norm(x)), a norm at the end."""
    for sublayer, norm in zip(sublayers, norms):
        x = x + sublayer(norm(x))
    return last_norm(x)


def right_2(x, sublayers, norms, last_norm):
    """Index loop with a helper for one block."""

    def block(stream, i):
        normed = norms[i](stream)
        answer = sublayers[i](normed)
        return torch.add(stream, answer)

    stream = x
    for i in range(len(sublayers)):
        stream = block(stream, i)
    return last_norm(stream)


def single_1(x, sublayers, norms, last_norm):
    """Believes that the norms in front are enough; none at the end."""
    for sublayer, norm in zip(sublayers, norms):
        x = x + sublayer(norm(x))
    return x


def single_2(x, sublayers, norms, last_norm):
    """Overwrites the stream with its norm, so the sum starts from it."""
    for f, norm in zip(sublayers, norms):
        x = norm(x)
        x = x + f(x)
    return last_norm(x)


def single_3(x, sublayers, norms, last_norm):
    """Norms the sub-layer's answer instead of what it reads."""
    out = x
    for i, f in enumerate(sublayers):
        out = out + norms[i](f(out))
    return last_norm(out)


def single_4(x, sublayers, norms, last_norm):
    """Puts the last norm at the end of every block."""
    h = x
    for sublayer, norm in zip(sublayers, norms):
        residual = h
        h = sublayer(norm(h))
        h = last_norm(residual + h)
    return h


def single_5(x, sublayers, norms, last_norm):
    """Keeps the residual from the stack's entry for all blocks."""
    residual = x
    for sublayer, norm in zip(sublayers, norms):
        x = residual + sublayer(norm(x))
    return last_norm(x)


def double_1(x, sublayers, norms, last_norm):
    """1. The paper's order, norm(x + f(x)); 2. no last norm."""
    for f, norm in zip(sublayers, norms):
        x = norm(x + f(x))
    return x


def double_2(x, sublayers, norms, last_norm):
    """1. Uses the first norm for all sub-layers; 2. forgets the sum."""
    norm = norms[0] if norms else last_norm
    for f in sublayers:
        x = f(norm(x))
    return last_norm(x)
