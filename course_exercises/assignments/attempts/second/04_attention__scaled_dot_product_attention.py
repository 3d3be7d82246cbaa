import math

import torch
import torch.nn.functional as F


def right_1(query, key, value):
    """The formula from left to right."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def right_2(query, key, value):
    """Shrinks the queries first, then einsum and a softmax by hand."""
    q = query * query.shape[-1] ** -0.5
    scores = torch.einsum("...qd,...kd->...qk", q, key)
    scores = scores - scores.amax(dim=-1, keepdim=True)
    powers = scores.exp()
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


def single_1(query, key, value):
    """Divides by d_k instead of its root."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / key.shape[-1]
    attn = F.softmax(scores, dim=-1)
    return torch.matmul(attn, value), attn


def single_2(query, key, value):
    """Leaves the scaling out: a softmax makes everything sum to one anyway."""
    weights = F.softmax(query @ key.mT, dim=-1)
    return weights @ value, weights


def single_3(query, key, value):
    """Normalises over the queries, the axis before the last."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-1, -2) / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-2)
    return weights @ value, weights


def single_4(query, key, value):
    """Divides by the root of the number of keys, over which one sums."""
    n_keys = key.shape[-2]
    scores = torch.einsum("...id,...jd->...ij", query, key)
    p_attn = (scores / math.sqrt(n_keys)).softmax(-1)
    return p_attn @ value, p_attn


def single_5(query, key, value):
    """Divides by the root after the softmax."""
    scores = query @ key.transpose(-2, -1)
    weights = scores.softmax(dim=-1) / math.sqrt(query.size(-1))
    output = weights @ value
    return output, weights


def double_1(query, key, value):
    """1. The root of the value's width; 2. the softmax over the queries."""
    d_v = value.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_v)
    weights = F.softmax(scores, dim=-2)
    return torch.matmul(weights, value), weights


def double_2(query, key, value):
    """1. Multiplies by the root; 2. hands back the scores as weights."""
    dk = query.shape[-1]
    attention = query @ key.transpose(-2, -1) * dk**0.5
    output = torch.softmax(attention, -1) @ value
    return output, attention
