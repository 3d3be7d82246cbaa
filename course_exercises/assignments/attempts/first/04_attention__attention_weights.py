import math

import torch


def right_1(query, key):
    """Takes all dot products at once, then PyTorch's softmax by rows."""
    scores = query @ key.T
    return torch.softmax(scores, dim=-1)


def right_2(query, key):
    """Goes query by query, with the largest score taken off first."""
    rows = []
    for q in query:
        scores = torch.stack([torch.dot(q, k) for k in key])
        powers = torch.exp(scores - scores.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)


def single_1(query, key):
    """Raises e to the scores as they are, however large."""
    scores = torch.einsum("id,jd->ij", query, key)
    e = torch.exp(scores)
    return e / e.sum(dim=-1, keepdim=True)


def single_2(query, key):
    """Takes the softmax over the queries."""
    scores = torch.matmul(query, key.transpose(0, 1))
    return torch.softmax(scores, dim=0)


def single_3(query, key):
    """Divides the scores by the root of d, as the paper does."""
    d = query.shape[-1]
    scores = query @ key.t() / math.sqrt(d)
    return scores.softmax(dim=-1)


def single_4(query, key):
    """Makes a row for each key, with its weights for the queries."""
    scores = key @ query.T
    return torch.softmax(scores, dim=-1)


def single_5(query, key):
    """Divides by the sum of all powers instead of each row's."""
    scores = query @ key.T
    scores = scores - scores.max(dim=1, keepdim=True).values
    powers = scores.exp()
    return powers / powers.sum()


def double_1(query, key):
    """1. Divides by the root of d; 2. takes the softmax over the queries."""
    scores = torch.matmul(query, key.T)
    scores = scores / query.size(1) ** 0.5
    return torch.nn.functional.softmax(scores, dim=0)


def double_2(query, key):
    """1. Uses cosines for scores; 2. divides by the sum of all powers."""
    q = query / query.norm(dim=-1, keepdim=True)
    k = key / key.norm(dim=-1, keepdim=True)
    powers = torch.exp(q @ k.T)
    return powers / powers.sum()
