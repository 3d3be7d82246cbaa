import torch


def right_1(x):
    """Swaps heads and length, then joins the last two axes."""
    batch, heads, length, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * d_head)


def right_2(x):
    """Lays one head after the other side by side."""
    return torch.cat([head for head in x.unbind(dim=1)], dim=-1)


def single_1(x):
    """Reshapes without swapping heads and length."""
    b, h, n, d = x.size()
    return x.contiguous().view(b, n, h * d)


def single_2(x):
    """Takes a number of each head in turn."""
    interleaved = torch.stack(list(x.unbind(1)), dim=-1)
    return interleaved.flatten(start_dim=2)


def single_3(x):
    """Averages the heads instead of keeping each one's numbers."""
    return x.mean(dim=1)


def single_4(x):
    """Lays the heads one below the other, along the length."""
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)


def single_5(x):
    """Swaps the heads with the last axis, where they are to end up."""
    batch, heads, length, d_head = x.shape
    swapped = x.transpose(1, 3)
    return swapped.reshape(batch, length, heads * d_head)


def double_1(x):
    """1. A number of each head in turn; 2. the length comes first."""
    batch, heads, length, d_head = x.shape
    return x.permute(2, 0, 3, 1).reshape(length, batch, d_head * heads)


def double_2(x):
    """1. Reshapes without a swap; 2. divides by the number of heads."""
    batch, n_heads, length, d_head = x.shape
    return (x / n_heads).reshape(batch, length, n_heads * d_head)
