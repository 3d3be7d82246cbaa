import torch
import torch.nn.functional as F


def right_1(x, W_1, b_1, W_2, b_2):
    """The paper's formula, with matrix products."""
    hidden = torch.relu(x @ W_1 + b_1)
    return hidden @ W_2 + b_2


def right_2(x, W_1, b_1, W_2, b_2):
    """F.linear, which wants the weights transposed."""
    h = F.linear(x, W_1.T, b_1)
    h = F.relu(h)
    return F.linear(h, W_2.T, b_2)


def single_1(x, W_1, b_1, W_2, b_2):
    """Believes that each of the two maps is followed by a ReLU."""
    h = torch.relu(x @ W_1 + b_1)
    return torch.relu(h @ W_2 + b_2)


def single_2(x, W_1, b_1, W_2, b_2):
    """Uses GELU, as in BERT."""
    h = F.gelu(x @ W_1 + b_1)
    return h @ W_2 + b_2


def single_3(x, W_1, b_1, W_2, b_2):
    """Adds the bias after the ReLU."""
    hidden = torch.einsum("bld,df->blf", x, W_1)
    hidden = hidden.clamp(min=0) + b_1
    return torch.einsum("blf,fd->bld", hidden, W_2) + b_2


def single_4(x, W_1, b_1, W_2, b_2):
    """Adds the residual at the end."""
    hidden = torch.maximum(x @ W_1 + b_1, torch.zeros(()).to(x))
    return x + hidden @ W_2 + b_2


def single_5(x, W_1, b_1, W_2, b_2):
    """Puts the ReLU in front of the first map instead of behind it."""
    x = F.relu(x)
    x = torch.matmul(x, W_1) + b_1
    x = torch.matmul(x, W_2) + b_2
    return x


def double_1(x, W_1, b_1, W_2, b_2):
    """1. No ReLU between the maps; 2. forgets the second bias."""
    wide = x @ W_1 + b_1
    return wide @ W_2


def double_2(x, W_1, b_1, W_2, b_2):
    """1. Leaky ReLU for ReLU; 2. norms the answer over the last axis."""
    h = F.leaky_relu(x @ W_1 + b_1, 0.1)
    out = h @ W_2 + b_2
    return F.layer_norm(out, out.shape[-1:])
