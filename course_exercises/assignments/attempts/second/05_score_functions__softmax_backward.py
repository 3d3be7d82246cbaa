import torch


def right_1(weights, gradient):
    """Takes the weighted mean of the gradient off, then weighs."""
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient - mean)


def right_2(weights, gradient):
    """Builds J for every row and multiplies."""
    outer = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    jacobian = torch.diag_embed(weights) - outer
    return (gradient.unsqueeze(-2) @ jacobian).squeeze(-2)


def single_1(weights, gradient):
    """Has only the diagonal of J, as for a sigmoid."""
    return gradient * weights * (1 - weights)


def single_2(weights, gradient):
    """Multiplies out, and does not weigh the sum that is taken off."""
    product = weights * gradient
    return product - product.sum(dim=-1, keepdim=True)


def single_3(weights, gradient):
    """Remembers 'softmax minus target' from the cross-entropy."""
    return weights - gradient


def single_4(weights, gradient):
    """Takes off the plain mean of the gradient, not the weighted one."""
    centred = gradient - gradient.mean(dim=-1, keepdim=True)
    return weights * centred


def single_5(weights, gradient):
    """Sums over the queries, since a key is looked at by all of them."""
    dot = torch.sum(gradient * weights, dim=-2, keepdim=True)
    return weights * (gradient - dot)


def double_1(weights, gradient):
    """1. Sums over queries and keys; 2. the sign of a descent step."""
    total = (weights * gradient).sum(dim=(-2, -1), keepdim=True)
    return -weights * (gradient - total)


def double_2(weights, gradient):
    """1. The sum is not weighted; 2. a (1 - a) in front, not a."""
    slope = weights * (1 - weights)
    return slope * (gradient - gradient.sum(-1, keepdim=True))
