import torch


def right_1(x):
    """Swaps heads and length back, then joins the last two axes."""
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * d_head)


def right_2(x):
    """Concatenates the heads one after the other."""
    return torch.cat([x[:, h] for h in range(x.size(1))], dim=-1)


def single_1(x):
    """Asks for the right shape at once, without a swap of axes."""
    b, h, n, d = x.shape
    return x.reshape(b, n, h * d)


def single_2(x):
    """Lays the first numbers of all heads first, then the second ones."""
    return torch.stack([head for head in x.unbind(1)], dim=-1).flatten(2)


def single_3(x):
    """Averages the heads' answers."""
    return x.mean(dim=1)


def single_4(x):
    """Lays the heads one below the other, along the sentence."""
    return torch.cat(x.unbind(dim=1), dim=1)


def single_5(x):
    """Joins the last two axes without a swap: a row for each head."""
    batch, heads = x.shape[:2]
    return x.reshape(batch, heads, -1)


def double_1(x):
    """1. Interleaves the heads' numbers; 2. gives (d_model, length)."""
    batch, heads, length, d_head = x.shape
    x = x.permute(0, 3, 1, 2)
    return x.reshape(batch, d_head * heads, length)


def double_2(x):
    """1. No swap of axes before; 2. lays all sentences into one axis."""
    heads, d_head = x.shape[1], x.shape[3]
    return x.reshape(-1, heads * d_head)
