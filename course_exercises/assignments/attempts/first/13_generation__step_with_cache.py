import math

import torch
import torch.nn.functional as F


def right_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """The position is what is held; appends, then attends."""
    x = newest + encoding[keys.shape[1]]
    query = x @ w_query
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = query @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])
    return torch.softmax(scores, dim=-1) @ values, keys, values


def right_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """One vector per sentence, with einsum."""
    held = keys.size(1)
    d = newest.size(-1)
    x = newest[:, 0] + encoding[held]
    q = torch.einsum("bd,de->be", x, w_query)
    k = torch.einsum("bd,de->be", x, w_key)
    v = torch.einsum("bd,de->be", x, w_value)
    all_keys = torch.cat((keys, k.unsqueeze(1)), 1)
    all_values = torch.cat((values, v.unsqueeze(1)), 1)
    scores = torch.einsum("be,ble->bl", q, all_keys) * d**-0.5
    weights = F.softmax(scores, dim=1)
    out = torch.einsum("bl,ble->be", weights, all_values)
    return out.unsqueeze(1), all_keys, all_values


def single_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """Gives each newest token row 0, as it is the only one in its step."""
    x = newest + encoding[: newest.shape[1]]
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    keys = torch.cat([keys, k], dim=1)
    values = torch.cat([values, v], dim=1)
    scores = q @ keys.mT / math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ values, keys, values


def single_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """Forgets to divide by the root of d."""
    position = keys.shape[1]
    x = newest + encoding[position]
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = torch.bmm(x @ w_query, keys.transpose(1, 2))
    weights = torch.softmax(scores, dim=-1)
    return torch.bmm(weights, values), keys, values


def single_3(newest, encoding, keys, values, w_query, w_key, w_value):
    """Adds the position for query and key, not for the value."""
    here = newest + encoding[keys.shape[1]]
    query = here @ w_query
    key = here @ w_key
    value = newest @ w_value
    keys = torch.cat([keys, key], dim=1)
    values = torch.cat([values, value], dim=1)
    out = F.scaled_dot_product_attention(query, keys, values)
    return out, keys, values


def single_4(newest, encoding, keys, values, w_query, w_key, w_value):
    """Puts the newest key and value in front of the others."""
    x = newest + encoding[keys.shape[1]].view(1, 1, -1)
    q = torch.matmul(x, w_query)
    keys = torch.cat([torch.matmul(x, w_key), keys], dim=1)
    values = torch.cat([torch.matmul(x, w_value), values], dim=1)
    scores = torch.matmul(q, keys.transpose(-2, -1)) / q.shape[-1] ** 0.5
    return torch.matmul(F.softmax(scores, dim=-1), values), keys, values


def single_5(newest, encoding, keys, values, w_query, w_key, w_value):
    """Counts the newest as well, so takes the encoding one row too far."""
    all_tokens = keys.shape[1] + 1
    x = newest + encoding[all_tokens]
    q = x @ w_query
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    weights = torch.softmax(q @ keys.mT / math.sqrt(q.size(-1)), dim=-1)
    return weights @ values, keys, values


def double_1(newest, encoding, keys, values, w_query, w_key, w_value):
    """1. Adds no position; 2. divides by d, not its root."""
    q = newest @ w_query
    keys = torch.cat([keys, newest @ w_key], dim=1)
    values = torch.cat([values, newest @ w_value], dim=1)
    scores = q @ keys.transpose(1, 2) / q.shape[-1]
    return torch.softmax(scores, dim=-1) @ values, keys, values


def double_2(newest, encoding, keys, values, w_query, w_key, w_value):
    """1. Projects the cached keys again; 2. adds the residual."""
    x = newest + encoding[keys.shape[1]]
    query = x @ w_query
    keys = torch.cat([keys @ w_key, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = query @ keys.mT / math.sqrt(x.shape[-1])
    out = x + torch.softmax(scores, dim=-1) @ values
    return out, keys, values
