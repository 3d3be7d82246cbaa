import math

import torch


def right_1(length, d_model):
    """Fills the even columns with sines and the odd ones with cosines."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (two_i / d_model)
    table = torch.zeros(length, d_model)
    table[:, 0::2] = torch.sin(angle).float()
    table[:, 1::2] = torch.cos(angle).float()
    return table


def right_2(length, d_model):
    """Goes through places and pairs in two loops, number by number."""
    rows = torch.zeros(length, d_model, dtype=torch.float32)
    for p in range(length):
        for i in range(d_model // 2):
            angle = p / 10000 ** (2 * i / d_model)
            rows[p, 2 * i] = math.sin(angle)
            rows[p, 2 * i + 1] = math.cos(angle)
    return rows


def single_1(length, d_model):
    """Puts all sines in the first half and all cosines in the second."""
    position = torch.arange(length).float()[:, None]
    i = torch.arange(d_model // 2).float()
    angle = position / torch.pow(10000.0, 2 * i / d_model)
    return torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)


def single_2(length, d_model):
    """Steps i by two and doubles it once more in the exponent."""
    table = torch.zeros(length, d_model)
    for pos in range(length):
        for i in range(0, d_model, 2):
            denominator = 10000 ** (2 * i / d_model)
            table[pos, i] = math.sin(pos / denominator)
            table[pos, i + 1] = math.cos(pos / denominator)
    return table


def single_3(length, d_model):
    """Gives each column its own clock, the cosine's a step slower."""
    p = torch.arange(length, dtype=torch.float32).reshape(-1, 1)
    column = torch.arange(d_model, dtype=torch.float32).reshape(1, -1)
    angle_rads = p / torch.pow(10000.0, column / d_model)
    out = angle_rads.clone()
    out[:, 0::2] = torch.sin(angle_rads[:, 0::2])
    out[:, 1::2] = torch.cos(angle_rads[:, 1::2])
    return out


def single_4(length, d_model):
    """Counts the places from 1."""
    position = torch.arange(1, length + 1).unsqueeze(1)
    div_term = torch.exp(
        torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model)
    )
    pe = torch.zeros(length, d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def single_5(length, d_model):
    """Lets the slowest clock reach 10000: divides by d_model / 2 - 1."""
    half = d_model // 2
    step = math.log(10000.0) / (half - 1)
    speed = torch.exp(-step * torch.arange(half, dtype=torch.float32))
    angle = torch.arange(length, dtype=torch.float32)[:, None] * speed
    pairs = torch.stack((angle.sin(), angle.cos()), dim=-1)
    return pairs.reshape(length, d_model)


def double_1(length, d_model):
    """1. Counts the places from 1; 2. puts the cosine before the sine."""
    pe = torch.empty(length, d_model)
    for p in range(length):
        for i in range(d_model // 2):
            angle = (p + 1) / 10000 ** (2 * i / d_model)
            pe[p, 2 * i] = math.cos(angle)
            pe[p, 2 * i + 1] = math.sin(angle)
    return pe


def double_2(length, d_model):
    """1. The exponent is i / d_model; 2. sines and cosines in halves."""
    positions = torch.arange(length, dtype=torch.float32)
    i = torch.arange(d_model // 2, dtype=torch.float32)
    freqs = 1.0 / 10000 ** (i / d_model)
    angle = torch.einsum("p,i->pi", positions, freqs)
    return torch.cat((angle.sin(), angle.cos()), dim=1)
