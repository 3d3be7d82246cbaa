import math

import torch


def right_1(query, key, value):
    """The formula in three lines, with transpose and softmax."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def right_2(query, key, value):
    """Scales the queries first; einsum, and a softmax by hand."""
    query = query / query.shape[-1] ** 0.5
    scores = torch.einsum("...id,...jd->...ij", query, key)
    shifted = scores - scores.amax(dim=-1, keepdim=True)
    powers = shifted.exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    output = torch.einsum("...ij,...jv->...iv", weights, value)
    return output, weights


def single_1(query, key, value):
    """Divides by d_k instead of its root."""
    d_k = key.shape[-1]
    scores = torch.matmul(query, key.transpose(-1, -2)) / d_k
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


def single_2(query, key, value):
    """Takes the softmax over the queries."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    attention = scores.softmax(dim=-2)
    return attention @ value, attention


def single_3(query, key, value):
    """Divides by the root of the value's width."""
    scale = value.size(-1) ** -0.5
    scores = torch.einsum("...qd,...kd->...qk", query, key) * scale
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def single_4(query, key, value):
    """Writes the softmax from the definition, and large powers overflow."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    powers = torch.exp(scores)
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ value, weights


def single_5(query, key, value):
    """Divides by the root after the softmax."""
    root = math.sqrt(query.size(-1))
    weights = torch.softmax(query @ key.transpose(-2, -1), dim=-1) / root
    return weights @ value, weights


def double_1(query, key, value):
    """1. Divides by nothing; 2. takes the softmax over the queries."""
    scores = torch.matmul(query, key.transpose(-2, -1))
    alpha = torch.softmax(scores, dim=-2)
    context = torch.matmul(alpha, value)
    return context, alpha


def double_2(query, key, value):
    """1. Takes the root of the key count; 2. hands the scores back."""
    n = key.size(-2)
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(n)
    output = torch.softmax(scores, dim=-1) @ value
    return output, scores
