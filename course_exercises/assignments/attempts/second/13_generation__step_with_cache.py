import math

import torch
import torch.nn.functional as F


def right_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """Position, three projections, cache, then the formula of attention."""
    held = keys.shape[1]
    x = newest + encoding[held]
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = (x @ w_query) @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])
    return scores.softmax(dim=-1) @ values, keys, values


def right_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """Works on vectors with einsum, and puts the length back at the end."""
    held, d = keys.shape[1:]
    x = newest[:, 0] + encoding[held]
    q = torch.einsum("bi,ij->bj", x, w_query)
    k = torch.einsum("bi,ij->bj", x, w_key)
    v = torch.einsum("bi,ij->bj", x, w_value)
    all_keys = torch.cat((keys, k.unsqueeze(1)), dim=1)
    all_values = torch.cat((values, v.unsqueeze(1)), dim=1)
    scores = torch.einsum("bd,bnd->bn", q, all_keys) * d**-0.5
    weights = F.softmax(scores, dim=-1)
    out = torch.einsum("bn,bnd->bd", weights, all_values)
    return out.unsqueeze(1), all_keys, all_values


def single_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """Adds the encoding's first row, as the input has length one."""
    length = newest.shape[1]
    x = newest + encoding[:length]
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    keys = torch.cat([keys, k], dim=1)
    values = torch.cat([values, v], dim=1)
    scores = torch.bmm(q, keys.mT) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ values, keys, values


def single_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """Values carry meaning, not position: makes them without it."""
    x = newest + encoding[keys.shape[1]]
    d = x.shape[-1]
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, newest @ w_value], dim=1)
    scores = (x @ w_query) @ keys.transpose(-2, -1) / d**0.5
    return F.softmax(scores, dim=-1) @ values, keys, values


def single_3(newest, encoding, keys, values, w_query, w_key, w_value):
    """Does not scale the scores."""
    held = keys.size(1)
    x = newest + encoding[held : held + 1]
    keys = torch.cat([keys, torch.matmul(x, w_key)], dim=1)
    values = torch.cat([values, torch.matmul(x, w_value)], dim=1)
    query = torch.matmul(x, w_query)
    weights = torch.softmax(torch.matmul(query, keys.mT), dim=-1)
    return torch.matmul(weights, values), keys, values


def single_4(newest, encoding, keys, values, w_query, w_key, w_value):
    """Projects the whole cache, not only the newest token."""
    x = newest + encoding[keys.shape[1]]
    all_keys = torch.cat([keys, x], dim=1) @ w_key
    all_values = torch.cat([values, x], dim=1) @ w_value
    query = x @ w_query
    scores = query @ all_keys.transpose(1, 2) / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ all_values, all_keys, all_values


def single_5(newest, encoding, keys, values, w_query, w_key, w_value):
    """Masks with a lower triangle of one row: only the first key is seen."""
    held = keys.shape[1]
    x = newest + encoding[held]
    q = x @ w_query
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = q @ keys.transpose(1, 2) / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ values, keys, values


def double_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """1. Scales by the root of the number of keys; 2. newest comes first."""
    x = newest + encoding[keys.shape[1]]
    K = torch.cat([x @ w_key, keys], dim=1)
    V = torch.cat([x @ w_value, values], dim=1)
    scores = (x @ w_query) @ K.transpose(1, 2) / math.sqrt(K.shape[1])
    return torch.softmax(scores, dim=-1) @ V, K, V


def double_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """1. Adds no position; 2. the token does not look at itself."""
    query = newest @ w_query
    new_keys = torch.cat([keys, newest @ w_key], dim=1)
    new_values = torch.cat([values, newest @ w_value], dim=1)
    scores = query @ keys.transpose(1, 2) / math.sqrt(query.shape[-1])
    attended = F.softmax(scores, dim=-1) @ values
    return attended, new_keys, new_values
