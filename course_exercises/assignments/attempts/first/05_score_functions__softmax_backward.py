import torch


def right_1(weights, gradient):
    """Takes the weighted mean of the gradient off, then weighs."""
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient - mean)


def right_2(weights, gradient):
    """Builds the matrix J for each row and multiplies by it."""
    diagonal = torch.diag_embed(weights)
    outer = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    jacobian = diagonal - outer
    return torch.einsum("...ij,...i->...j", jacobian, gradient)


def single_1(weights, gradient):
    """Uses the diagonal of J alone, like a sigmoid's derivative."""
    return gradient * weights * (1 - weights)


def single_2(weights, gradient):
    """Sums over the queries."""
    product = weights * gradient
    total = product.sum(dim=-2, keepdim=True)
    return product - weights * total


def single_3(weights, gradient):
    """Takes the plain sum of the gradient off, not the weighted one."""
    total = torch.sum(gradient, dim=-1, keepdim=True)
    return weights * (gradient - total)


def single_4(weights, gradient):
    """Forgets the weight in front of the bracket."""
    dot = torch.einsum("...k,...k->...", weights, gradient)
    return gradient - dot.unsqueeze(-1)


def single_5(weights, gradient):
    """Forgets the weight before the sum: takes a_j for a_i a_j."""
    s = weights * gradient
    return s - s.sum(-1, keepdim=True)


def double_1(weights, gradient):
    """1. The plain mean instead of the weighted; 2. no weight in front."""
    mean = gradient.mean(dim=-1, keepdim=True)
    return gradient - mean


def double_2(weights, gradient):
    """1. The wrong sign, a_j - δ_ij; 2. sums over all rows at once."""
    total = (weights * gradient).sum()
    return weights * (total - gradient)
