import math

import torch


def right_1(query, key, U_q, U_k, v):
    """Gives queries and keys an axis each, and adds by broadcasting."""
    q = (query @ U_q).unsqueeze(2)
    k = (key @ U_k).unsqueeze(1)
    return torch.tanh(q + k) @ v


def right_2(query, key, U_q, U_k, v):
    """Makes the scores one query after the other."""
    projected = torch.einsum("bkd,dh->bkh", key, U_k)
    columns = []
    for i in range(query.shape[1]):
        q = torch.matmul(query[:, i : i + 1], U_q)
        hidden = torch.tanh(q + projected)
        columns.append((hidden * v).sum(dim=-1))
    return torch.stack(columns, dim=1)


def single_1(query, key, U_q, U_k, v):
    """Takes a tanh of each projection, and then the sum."""
    q = torch.tanh(query @ U_q)
    k = torch.tanh(key @ U_k)
    hidden = q[:, :, None, :] + k[:, None, :, :]
    return hidden @ v


def single_2(query, key, U_q, U_k, v):
    """Sums the hidden units up, without v."""
    q = torch.matmul(query, U_q)[:, :, None]
    k = torch.matmul(key, U_k)[:, None]
    return torch.tanh(q + k).sum(-1)


def single_3(query, key, U_q, U_k, v):
    """Makes weights of the scores with a softmax."""
    hidden = torch.tanh((query @ U_q).unsqueeze(2) + (key @ U_k).unsqueeze(1))
    scores = torch.einsum("bqkh,h->bqk", hidden, v)
    return torch.softmax(scores, dim=-1)


def single_4(query, key, U_q, U_k, v):
    """Divides by the root of the width, as with dot products."""
    d_hidden = v.shape[0]
    q = torch.einsum("bqd,dh->bqh", query, U_q)
    k = torch.einsum("bkd,dh->bkh", key, U_k)
    hidden = torch.tanh(q.unsqueeze(2) + k.unsqueeze(1))
    return hidden.matmul(v) / math.sqrt(d_hidden)


def single_5(query, key, U_q, U_k, v):
    """Leaves the tanh out."""
    q = query @ U_q
    k = key @ U_k
    energy = q.unsqueeze(2) + k.unsqueeze(1)
    return energy @ v


def double_1(query, key, U_q, U_k, v):
    """1. Divides by the root of the width; 2. makes a row for each key."""
    q = (query @ U_q).unsqueeze(1)
    k = (key @ U_k).unsqueeze(2)
    return torch.tanh(q + k) @ v / v.numel() ** 0.5


def double_2(query, key, U_q, U_k, v):
    """1. Multiplies the projections; 2. takes the tanh at the very end."""
    q = (query @ U_q)[:, :, None, :]
    k = (key @ U_k)[:, None, :, :]
    score = (q * k * v).sum(dim=-1)
    return torch.tanh(score)
