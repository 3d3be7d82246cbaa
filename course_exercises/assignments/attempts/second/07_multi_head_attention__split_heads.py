import torch


def right_1(x, n_heads):
    """Cuts the last axis in two and swaps heads and length."""
    batch, length, d_model = x.shape
    d_head = d_model // n_heads
    return x.reshape(batch, length, n_heads, d_head).transpose(1, 2)


def right_2(x, n_heads):
    """Cuts sections off the width and stacks them on a new axis."""
    width = x.size(-1) // n_heads
    sections = [x[..., h * width : (h + 1) * width] for h in range(n_heads)]
    return torch.stack(sections, dim=1)


def single_1(x, n_heads):
    """Reshapes straight into the shape that is wanted."""
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


def single_2(x, n_heads):
    """Deals the numbers out in turn, like cards."""
    heads = [x[:, :, h::n_heads] for h in range(n_heads)]
    return torch.stack(heads, dim=1)


def single_3(x, n_heads):
    """Leaves the heads behind the length."""
    d_head = x.shape[-1] // n_heads
    return x.unflatten(-1, (n_heads, d_head))


def single_4(x, n_heads):
    """Piles the heads up along the batch, as an old TensorFlow blog does."""
    return torch.cat(torch.chunk(x, n_heads, dim=2), dim=0)


def single_5(x, n_heads):
    """Turns the last two axes too, so that the keys are ready for Q Kᵀ."""
    b, n, d = x.size()
    return x.reshape(b, n, n_heads, d // n_heads).permute(0, 2, 3, 1)


def double_1(x, n_heads):
    """1. Deals the numbers out in turn; 2. the heads stay behind."""
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, d_model // n_heads, n_heads)
    return x.transpose(-2, -1)


def double_2(x, n_heads):
    """1. Reshapes without a swap; 2. divides by the root of d_head."""
    batch, length, d_model = x.shape
    depth = d_model // n_heads
    return x.reshape(batch, n_heads, length, depth) * depth**-0.5
