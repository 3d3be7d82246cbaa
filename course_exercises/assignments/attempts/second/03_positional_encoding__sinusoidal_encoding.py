import math

import torch


def right_1(length, d_model):
    """Computes all angles at once and lays sines and cosines in turn."""
    p = torch.arange(length, dtype=torch.float64)[:, None]
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = p / 10000 ** (two_i / d_model)
    both = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return both.reshape(length, d_model).float()


def right_2(length, d_model):
    """Fills the table with two loops."""
    pe = torch.zeros(length, d_model, dtype=torch.float32)
    for pos in range(length):
        for i in range(d_model // 2):
            angle = pos / math.pow(10000.0, 2 * i / d_model)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe


def single_1(length, d_model):
    """Puts all sines into the left half, all cosines into the right."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    i = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = position / torch.pow(10000.0, i / d_model)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1).float()


def single_2(length, d_model):
    """Takes the even column number for i and doubles it once more."""
    pe = torch.zeros(length, d_model)
    pos = torch.arange(length, dtype=torch.float64)
    for i in range(0, d_model, 2):
        angle = pos / 10000 ** (2 * i / d_model)
        pe[:, i] = torch.sin(angle)
        pe[:, i + 1] = torch.cos(angle)
    return pe


def single_3(length, d_model):
    """Lets the last clock reach 1 / 10000: divides by d_model / 2 - 1."""
    n = d_model // 2
    step = math.log(10000) / (n - 1)
    rates = torch.exp(-step * torch.arange(n, dtype=torch.float64))
    angles = torch.outer(torch.arange(length, dtype=torch.float64), rates)
    table = torch.empty(length, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


def single_4(length, d_model):
    """Counts the places from 1."""
    p = torch.arange(1, length + 1, dtype=torch.float64).reshape(-1, 1)
    div = torch.exp(
        torch.arange(0, d_model, 2, dtype=torch.float64)
        * (-math.log(10000.0) / d_model)
    )
    pe = torch.zeros(length, d_model)
    pe[:, 0::2] = torch.sin(p * div)
    pe[:, 1::2] = torch.cos(p * div)
    return pe


def single_5(length, d_model):
    """Gives each column its own angle; the cosine has 2i + 1 for 2i."""
    rows = []
    for p in range(length):
        row = []
        for column in range(d_model):
            angle = p / 10000 ** (column / d_model)
            wave = math.sin if column % 2 == 0 else math.cos
            row.append(wave(angle))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float32)


def double_1(length, d_model):
    """1. Counts the places from 1; 2. has i / d_model for 2i / d_model."""
    pos = torch.arange(length, dtype=torch.float64)[:, None] + 1
    i = torch.arange(d_model // 2, dtype=torch.float64)[None, :]
    angle = pos / 10000 ** (i / d_model)
    out = torch.stack((angle.sin(), angle.cos()), dim=2)
    return out.flatten(1).float()


def double_2(length, d_model):
    """1. Sines left, cosines right; 2. divides by d_model / 2 - 1."""
    half = d_model // 2
    timescales = 10000 ** (torch.arange(half).double() / (half - 1))
    scaled_time = torch.arange(length).double()[:, None] / timescales
    signal = torch.cat([scaled_time.sin(), scaled_time.cos()], dim=-1)
    return signal.to(torch.float32)
