import math

import torch
import torch.nn.functional as F


def right_1(x, table, offset=0):
    """Cuts the needed rows out of the table and adds them by broadcasting."""
    length = x.shape[1]
    return x + table[offset : offset + length]


def right_2(x, table, offset=0):
    """Looks the places up like words, for every sentence."""
    batch, length, _ = x.shape
    places = torch.arange(length, device=x.device) + offset
    places = places.unsqueeze(0).expand(batch, length)
    return x + F.embedding(places, table)


def single_1(x, table, offset=0):
    """Always begins at place 0, the offset is not used."""
    batch, length, d_model = x.shape
    positions = table[:length, :].unsqueeze(0)
    return x + positions


def single_2(x, table, offset=0):
    """Multiplies the words by the root of d_model, as the paper says."""
    d_model = x.size(-1)
    x = x * math.sqrt(d_model)
    return x + table[offset : offset + x.size(1)]


def single_3(x, table, offset=0):
    """Takes the first axis for the words, as in PyTorch's tutorial."""
    return x + table[offset : offset + x.size(0)].unsqueeze(1)


def single_4(x, table, offset=0):
    """Adds the row at the offset to every word."""
    if offset > 0:
        return x + table[offset]
    return x + table[: x.size(1)]


def single_5(x, table, offset=0):
    """Holds the table for constants and lets no gradient into it."""
    end = offset + x.size(1)
    pe = table[offset:end].detach()
    return x + pe[None]


def double_1(x, table, offset=0):
    """1. Multiplies by the root of d_model again; 2. ignores the offset."""
    seq_len, d_model = x.shape[1], x.shape[2]
    out = x * d_model**0.5
    out = out + table[:seq_len]
    return out


def double_2(x, table, offset=0):
    """1. Counts the offset from 1; 2. lets no gradient into the table."""
    start = max(offset - 1, 0)
    rows = [table[start + p].detach() for p in range(x.shape[1])]
    return x + torch.stack(rows)
