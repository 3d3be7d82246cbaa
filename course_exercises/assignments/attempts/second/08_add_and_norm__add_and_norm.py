def right_1(x, sublayer, norm, norm_first):
    """One line for each of the two ways."""
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


def right_2(x, sublayer, norm, norm_first):
    """One way through, with a norm either before or after."""
    residual = x
    h = norm(x) if norm_first else x
    h = sublayer(h)
    h = residual + h
    return h if norm_first else norm(h)


def single_1(x, sublayer, norm, norm_first):
    """Mixes the two up: 'first' is what the first paper did."""
    if norm_first:
        out = norm(x + sublayer(x))
    else:
        out = x + sublayer(norm(x))
    return out


def single_2(x, sublayer, norm, norm_first):
    """In pre-norm the shortcut starts after the norm."""
    if norm_first:
        x = norm(x)
        return x + sublayer(x)
    return norm(x + sublayer(x))


def single_3(x, sublayer, norm, norm_first):
    """In post-norm the norm is put on the sub-layer's output alone."""
    if norm_first:
        update = sublayer(norm(x))
    else:
        update = norm(sublayer(x))
    return x + update


def single_4(x, sublayer, norm, norm_first):
    """Has the sum in post-norm only: pre-norm just replaces it."""
    if norm_first:
        return sublayer(norm(x))
    y = sublayer(x)
    return norm(x + y)


def single_5(x, sublayer, norm, norm_first):
    """Pre-norm is one norm more: the sum is normed in any case."""
    inside = x
    if norm_first:
        inside = norm(inside)
    return norm(x + sublayer(inside))


def double_1(x, sublayer, norm, norm_first):
    """1. Post-norm without the sum; 2. pre-norm adds to the normed x."""
    if not norm_first:
        return norm(sublayer(x))
    normed = norm(x)
    return normed + sublayer(normed)


def double_2(x, sublayer, norm, norm_first):
    """1. Post-norm adds x after the norm; 2. pre-norm norms the sum too."""
    if norm_first:
        y = sublayer(norm(x))
        return norm(x + y)
    y = norm(sublayer(x))
    return x + y
