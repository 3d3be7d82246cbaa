def right_1(x, sublayer, norm, norm_first):
    """The two formulas, in an if and an else."""
    if norm_first:
        return x + sublayer(norm(x))
    else:
        return norm(x + sublayer(x))


def right_2(x, sublayer, norm, norm_first):
    """One way through, with the norm before or behind."""
    inside = norm(x) if norm_first else x
    total = sublayer(inside) + x
    return total if norm_first else norm(total)


def single_1(x, sublayer, norm, norm_first):
    """Pre-norm adds to the normed stream instead of the stream itself."""
    if norm_first:
        x = norm(x)
        return x + sublayer(x)
    return norm(x + sublayer(x))


def single_2(x, sublayer, norm, norm_first):
    """Post-norm norms what the sub-layer says, and then adds."""
    residual = x
    if norm_first:
        x = norm(x)
    x = sublayer(x)
    if not norm_first:
        x = norm(x)
    return residual + x


def single_3(x, sublayer, norm, norm_first):
    """Takes pre-norm for post-norm, and the other way round."""
    if norm_first:
        return norm(x + sublayer(x))
    return x + sublayer(norm(x))


def single_4(x, sublayer, norm, norm_first):
    """Norms the sum in both ways; pre-norm has two norms."""
    y = norm(x) if norm_first else x
    return norm(x + sublayer(y))


def single_5(x, sublayer, norm, norm_first):
    """Pre-norm without the sum: the stream itself is lost."""
    if norm_first:
        out = sublayer(norm(x))
    else:
        out = norm(x + sublayer(x))
    return out


def double_1(x, sublayer, norm, norm_first):
    """1. Pre-norm adds to the normed; 2. post-norm norms before it adds."""
    if norm_first:
        normed = norm(x)
        return normed + sublayer(normed)
    return x + norm(sublayer(x))


def double_2(x, sublayer, norm, norm_first):
    """1. Pre-norm norms after the sub-layer; 2. post-norm adds nothing."""
    if norm_first:
        return x + norm(sublayer(x))
    return norm(sublayer(x))
