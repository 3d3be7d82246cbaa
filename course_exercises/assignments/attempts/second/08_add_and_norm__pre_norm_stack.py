def right_1(x, sublayers, norms, last_norm):
    """Goes through pairs with zip: a norm, a sub-layer, a sum."""
    for sublayer, norm in zip(sublayers, norms):
        x = x + sublayer(norm(x))
    return last_norm(x)


def right_2(x, sublayers, norms, last_norm):
    """Splits off the top sub-layer and calls itself for the rest."""

    def stream_after(count):
        if count == 0:
            return x
        below = stream_after(count - 1)
        answer = sublayers[count - 1](norms[count - 1](below))
        return below + answer

    return last_norm(stream_after(len(sublayers)))


def single_1(x, sublayers, norms, last_norm):
    """Norms after each sum, as in the paper's figure, and once more on top."""
    for sublayer, norm in zip(sublayers, norms):
        x = norm(x + sublayer(x))
    return last_norm(x)


def single_2(x, sublayers, norms, last_norm):
    """Believes the stream itself is normed: the sum adds the normed vector."""
    for i in range(len(sublayers)):
        normed = norms[i](x)
        x = normed + sublayers[i](normed)
    return last_norm(x)


def single_3(x, sublayers, norms, last_norm):
    """Believes the last norm ends each layer, so puts it into the loop."""
    stream = x
    for f, norm in zip(sublayers, norms):
        update = f(norm(stream))
        stream = last_norm(stream + update)
    return stream


def single_4(x, sublayers, norms, last_norm):
    """Norms what a sub-layer answers, before the sum, not what it reads."""
    out = x
    for i, layer in enumerate(sublayers):
        out = out + norms[i](layer(out))
    return last_norm(out)


def single_5(x, sublayers, norms, last_norm):
    """Each sub-layer has a norm already: the last one is not needed."""
    stream = x
    for k in range(len(sublayers)):
        read = norms[k](stream)
        stream = stream + sublayers[k](read)
    return stream


def double_1(x, sublayers, norms, last_norm):
    """1. All read what entered the stack; 2. the last norm comes first."""
    stream = last_norm(x)
    total = stream
    for sublayer, norm in zip(sublayers, norms):
        total = total + sublayer(norm(stream))
    return total


def double_2(x, sublayers, norms, last_norm):
    """1. Sub-layers have no sum; 2. the last norm has a sum around it."""
    h = x
    for i in range(len(sublayers)):
        h = norms[i](h)
        h = sublayers[i](h)
    return h + last_norm(h)
