import torch


def right_1(x):
    """Turns the even and odd numbers and lays them in turn again."""
    length, d = x.shape[-2:]
    p = torch.arange(length, dtype=torch.float64, device=x.device)
    two_i = torch.arange(0, d, 2, dtype=torch.float64, device=x.device)
    angle = p[:, None] / 10000 ** (two_i / d)
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., 0::2].double(), x[..., 1::2].double()
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


def right_2(x):
    """Goes through the pairs one by one."""
    length, d_head = x.size(2), x.size(3)
    pos = torch.arange(length, dtype=torch.float64, device=x.device)
    columns = []
    for i in range(d_head // 2):
        theta = pos / 10000.0 ** (2 * i / d_head)
        c, s = torch.cos(theta), torch.sin(theta)
        first, second = x[..., 2 * i], x[..., 2 * i + 1]
        columns.append((first * c - second * s).to(x.dtype))
        columns.append((first * s + second * c).to(x.dtype))
    return torch.stack(columns, dim=-1)


def single_1(x):
    """Pairs number i with number i + d_head / 2, as rotate_half does."""
    length, dim = x.shape[-2], x.shape[-1]
    inv_freq = 1.0 / 10000 ** (torch.arange(0, dim, 2).double() / dim)
    freqs = torch.outer(torch.arange(length).double(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    x1, x2 = x[..., : dim // 2], x[..., dim // 2 :]
    rotated = torch.cat((-x2, x1), dim=-1)
    return (x * emb.cos() + rotated * emb.sin()).to(x.dtype)


def single_2(x):
    """Turns the other way round, from the second towards the first."""
    d = x.shape[-1]
    rate = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    t = torch.arange(x.shape[-2], dtype=torch.float64).unsqueeze(-1) * rate
    even, odd = x[..., ::2], x[..., 1::2]
    new_even = even * t.cos() + odd * t.sin()
    new_odd = odd * t.cos() - even * t.sin()
    return torch.stack((new_even, new_odd), -1).reshape(x.shape).to(x.dtype)


def single_3(x):
    """Thinks axis 1 is the length, as in (batch, length, heads, d_head)."""
    _, seq_len, _, d = x.shape
    pos = torch.arange(seq_len, dtype=torch.float64)
    freq = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = (pos[:, None] * freq)[None, :, None, :]
    sin, cos = angles.sin(), angles.cos()
    x0, x1 = x[..., 0::2], x[..., 1::2]
    y = torch.empty_like(x)
    y[..., 0::2] = (x0 * cos - x1 * sin).to(x.dtype)
    y[..., 1::2] = (x0 * sin + x1 * cos).to(x.dtype)
    return y


def single_4(x):
    """Has i, not 2i, in the exponent."""
    d_head = x.size(-1)
    i = torch.arange(d_head // 2, dtype=torch.float64)
    theta = 10000 ** (-i / d_head)
    angle = torch.arange(x.size(-2), dtype=torch.float64)[:, None] * theta
    pairs = x.unflatten(-1, (d_head // 2, 2))
    a, b = pairs[..., 0], pairs[..., 1]
    first = a * angle.cos() - b * angle.sin()
    second = a * angle.sin() + b * angle.cos()
    return torch.stack([first, second], dim=-1).flatten(-2).to(x.dtype)


def single_5(x):
    """Swaps the neighbours for the sine's part, and forgets the minus."""
    d = x.shape[-1]
    pos = torch.arange(x.shape[-2], dtype=torch.float64)[:, None]
    freq = 10000 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = (pos * freq).repeat_interleave(2, dim=-1)
    swapped = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return (x * torch.cos(angle) + swapped * torch.sin(angle)).to(x.dtype)


def double_1(x):
    """1. Counts the places from 1; 2. lays the results down as halves."""
    length, d = x.shape[-2:]
    pos = torch.arange(1, length + 1, dtype=torch.float64)[:, None]
    angle = pos / 10000 ** (torch.arange(0, d, 2).double() / d)
    a, b = x[..., 0::2], x[..., 1::2]
    left = a * angle.cos() - b * angle.sin()
    right = a * angle.sin() + b * angle.cos()
    return torch.cat([left, right], dim=-1).to(x.dtype)


def double_2(x):
    """1. Turns the other way round; 2. takes the heads for the places."""
    batch, n, other, d = x.shape
    out = torch.zeros_like(x)
    for p in range(n):
        for i in range(d // 2):
            angle = torch.tensor(p / 10000 ** (2 * i / d), dtype=torch.float64)
            c, s = torch.cos(angle), torch.sin(angle)
            u, v = x[:, p, :, 2 * i], x[:, p, :, 2 * i + 1]
            out[:, p, :, 2 * i] = c * u + s * v
            out[:, p, :, 2 * i + 1] = c * v - s * u
    return out
