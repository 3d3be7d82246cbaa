import torch


def right_1(query, key):
    """All dot products by a matrix product, then torch's softmax."""
    return torch.softmax(query @ key.T, dim=-1)


def right_2(query, key):
    """Row by row: less the row's largest score, powers, their shares."""
    rows = []
    for q in query:
        scores = (key * q).sum(dim=-1)
        powers = torch.exp(scores - scores.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)


def single_1(query, key):
    """Lets each key share itself out among the queries."""
    scores = torch.einsum("id,jd->ij", query, key)
    return scores.softmax(dim=0)


def single_2(query, key):
    """Divides by the root of d, as the paper does."""
    d_k = query.shape[-1]
    scores = torch.matmul(query, key.transpose(0, 1)) / d_k**0.5
    return torch.softmax(scores, dim=-1)


def single_3(query, key):
    """Takes the powers as in the formula: they overflow at large scores."""
    e = torch.exp(query @ key.T)
    return e / e.sum(dim=1, keepdim=True)


def single_4(query, key):
    """Compares directions only: makes every vector one unit long before."""
    q = query / query.norm(dim=-1, keepdim=True).clamp(min=1e-6)
    k = key / key.norm(dim=-1, keepdim=True).clamp(min=1e-6)
    return torch.softmax(q @ k.T, dim=-1)


def single_5(query, key):
    """Makes one softmax of the whole table, so that all of it sums to one."""
    scores = query @ key.T
    return torch.softmax(scores.flatten(), dim=0).reshape(scores.shape)


def double_1(query, key):
    """1. Divides by the root of d; 2. the softmax runs over the queries."""
    scores = query.mm(key.t()) / query.size(1) ** 0.5
    scores = scores - scores.max(dim=0, keepdim=True).values
    exp = scores.exp()
    return exp / exp.sum(dim=0, keepdim=True)


def double_2(query, key):
    """1. Distances for dot products; 2. the whole table sums to one."""
    difference = query[:, None, :] - key[None, :, :]
    scores = -(difference**2).sum(dim=-1)
    e = torch.exp(scores - scores.max())
    return e / e.sum()
