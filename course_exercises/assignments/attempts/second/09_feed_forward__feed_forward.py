import torch
import torch.nn.functional as F


def right_1(x, W_1, b_1, W_2, b_2):
    """Writes the formula of the paper."""
    return torch.relu(x @ W_1 + b_1) @ W_2 + b_2


def right_2(x, W_1, b_1, W_2, b_2):
    """Lets each unit speak in turn and sums up what they say."""
    batch, length, _ = x.shape
    out = b_2.expand(batch, length, -1)
    for unit in range(W_1.shape[1]):
        strength = F.relu(x @ W_1[:, unit] + b_1[unit])
        out = out + strength.unsqueeze(-1) * W_2[unit]
    return out


def single_1(x, W_1, b_1, W_2, b_2):
    """Takes the GELU of BERT and GPT for the kink."""
    hidden = F.gelu(torch.matmul(x, W_1) + b_1)
    return torch.matmul(hidden, W_2) + b_2


def single_2(x, W_1, b_1, W_2, b_2):
    """Adds the stream to the answer, as the figure of the layer shows."""
    h = torch.relu(x @ W_1 + b_1)
    return x + h @ W_2 + b_2


def single_3(x, W_1, b_1, W_2, b_2):
    """Believes that the bias is added after the ReLU."""
    a = torch.einsum("bld,df->blf", x, W_1)
    a = torch.maximum(a, torch.zeros_like(a)) + b_1
    return torch.einsum("blf,fd->bld", a, W_2) + b_2


def single_4(x, W_1, b_1, W_2, b_2):
    """Puts the ReLU before the first map, like a pre-activation block."""
    h = F.linear(F.relu(x), W_1.T, b_1)
    return F.linear(h, W_2.T, b_2)


def single_5(x, W_1, b_1, W_2, b_2):
    """Believes units are a memory: softmax over them in place of ReLU."""
    scores = x @ W_1 + b_1
    weights = torch.softmax(scores, dim=-1)
    return weights @ W_2 + b_2


def double_1(x, W_1, b_1, W_2, b_2):
    """1. Leaky ReLU, so that no unit dies; 2. no bias on the way out."""
    pre = x @ W_1 + b_1
    act = torch.where(pre > 0, pre, 0.01 * pre)
    return act @ W_2


def double_2(x, W_1, b_1, W_2, b_2):
    """1. No kink between the maps; 2. a ReLU on the result, as in Keras."""
    wide = x @ W_1 + b_1
    narrow = wide @ W_2 + b_2
    return F.relu(narrow)
