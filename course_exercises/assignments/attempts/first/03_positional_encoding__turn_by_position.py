import torch


def _angles(length, d_head, device, first=0):
    """Gives the angle of each place and pair, in double precision."""
    p = torch.arange(length, dtype=torch.float64, device=device) + first
    two_i = torch.arange(0, d_head, 2, dtype=torch.float64, device=device)
    return p[:, None] / 10000 ** (two_i / d_head)


def right_1(x):
    """Turns even and odd numbers by the formula and stacks them again."""
    length, d_head = x.shape[-2:]
    angle = _angles(length, d_head, x.device)
    cos, sin = angle.cos(), angle.sin()
    first, second = x[..., 0::2], x[..., 1::2]
    turned_first = first * cos - second * sin
    turned_second = first * sin + second * cos
    out = torch.stack((turned_first, turned_second), dim=-1)
    return out.flatten(-2).to(x.dtype)


def right_2(x):
    """Multiplies each arrow by a 2 x 2 matrix of rotation."""
    batch, heads, length, d_head = x.shape
    angle = _angles(length, d_head, x.device)
    rows = [
        torch.stack((angle.cos(), -angle.sin()), dim=-1),
        torch.stack((angle.sin(), angle.cos()), dim=-1),
    ]
    matrix = torch.stack(rows, dim=-2)
    arrows = x.double().reshape(batch, heads, length, d_head // 2, 2)
    turned = torch.einsum("pirc,bhpic->bhpir", matrix, arrows)
    return turned.reshape(x.shape).to(x.dtype)


def single_1(x):
    """Pairs number i with number i + d_head / 2, as Llama's code does."""
    d_head = x.size(-1)
    angle = _angles(x.size(-2), d_head, x.device)
    angle = torch.cat((angle, angle), dim=-1)
    x1, x2 = x.chunk(2, dim=-1)
    rotated = torch.cat((-x2, x1), dim=-1)
    return (x * angle.cos() + rotated * angle.sin()).to(x.dtype)


def single_2(x):
    """Turns the other way, from the second number towards the first."""
    angle = _angles(x.shape[2], x.shape[3], x.device)
    c, s = torch.cos(angle), torch.sin(angle)
    a = x[..., ::2]
    b = x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = (a * c + b * s).to(x.dtype)
    out[..., 1::2] = (b * c - a * s).to(x.dtype)
    return out


def single_3(x):
    """Lays all the first numbers in front of all the second ones."""
    angle = _angles(x.shape[2], x.shape[3], x.device)
    even, odd = x[..., 0::2], x[..., 1::2]
    new_even = even * angle.cos() - odd * angle.sin()
    new_odd = even * angle.sin() + odd * angle.cos()
    return torch.cat([new_even, new_odd], dim=-1).to(x.dtype)


def single_4(x):
    """Takes i / d_head for the exponent, without the 2."""
    _, _, length, d_head = x.shape
    out = torch.zeros_like(x)
    place = torch.arange(length, dtype=torch.float64, device=x.device)
    for i in range(d_head // 2):
        angle = place / 10000 ** (i / d_head)
        cos, sin = angle.cos(), angle.sin()
        a, b = x[..., 2 * i], x[..., 2 * i + 1]
        out[..., 2 * i] = (a * cos - b * sin).to(x.dtype)
        out[..., 2 * i + 1] = (a * sin + b * cos).to(x.dtype)
    return out


def single_5(x):
    """Computes the second number from the first one already turned."""
    angle = _angles(x.shape[-2], x.shape[-1], x.device)
    first = x[..., 0::2]
    second = x[..., 1::2]
    first = first * angle.cos() - second * angle.sin()
    second = first * angle.sin() + second * angle.cos()
    return torch.stack([first, second], -1).reshape(x.shape).to(x.dtype)


def double_1(x):
    """1. Counts the places from 1; 2. turns the other way."""
    angle = _angles(x.shape[2], x.shape[3], x.device, first=1)
    cos, sin = angle.cos(), angle.sin()
    q0, q1 = x[..., 0::2], x[..., 1::2]
    out = torch.stack((q0 * cos + q1 * sin, q1 * cos - q0 * sin), dim=-1)
    return out.flatten(3).to(x.dtype)


def double_2(x):
    """1. Takes the heads for the places; 2. turns all pairs alike."""
    heads = x.shape[1]
    angle = torch.arange(heads, dtype=torch.float64, device=x.device)
    angle = angle.view(1, heads, 1, 1)
    a, b = x[..., 0::2], x[..., 1::2]
    new_a = a * angle.cos() - b * angle.sin()
    new_b = a * angle.sin() + b * angle.cos()
    return torch.stack([new_a, new_b], dim=-1).flatten(-2).to(x.dtype)
