import torch


def right_1(x, n_heads):
    """Cuts the last axis by a view, then swaps heads and length."""
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, n_heads, d_model // n_heads)
    return x.transpose(1, 2)


def right_2(x, n_heads):
    """Slices a section for each head and stacks them."""
    d_head = x.size(-1) // n_heads
    heads = []
    for h in range(n_heads):
        heads.append(x[:, :, h * d_head : (h + 1) * d_head])
    return torch.stack(heads, dim=1)


def single_1(x, n_heads):
    """Asks for the right shape at once, without a swap of axes."""
    batch, length, d_model = x.size()
    return x.reshape(batch, n_heads, length, d_model // n_heads)


def single_2(x, n_heads):
    """Deals the numbers out in turn: head h has h, h + n_heads, ..."""
    return torch.stack([x[..., h::n_heads] for h in range(n_heads)], dim=1)


def single_3(x, n_heads):
    """Leaves the heads behind the length."""
    d_head = x.shape[-1] // n_heads
    return x.reshape(*x.shape[:-1], n_heads, d_head)


def single_4(x, n_heads):
    """Takes n_heads for the width of a head."""
    batch, length, d_model = x.shape
    out = x.reshape(batch, length, d_model // n_heads, n_heads)
    return out.permute(0, 2, 1, 3)


def single_5(x, n_heads):
    """Puts the heads ahead of the batch."""
    return torch.stack(x.chunk(n_heads, dim=-1), dim=0)


def double_1(x, n_heads):
    """1. Deals the numbers out in turn; 2. leaves heads behind length."""
    b, n, d = x.shape
    x = x.reshape(b, n, d // n_heads, n_heads)
    return x.transpose(2, 3)


def double_2(x, n_heads):
    """1. Takes n_heads for the width; 2. puts the heads ahead of the batch."""
    parts = torch.split(x, n_heads, dim=2)
    return torch.stack(parts, dim=0)
