import torch


def right_1(scores, mask):
    """Hides with minus infinity; rows without a key are set apart before."""
    mask = mask.broadcast_to(scores.shape)
    empty = ~mask.any(dim=-1, keepdim=True)
    filled = scores.masked_fill(~mask, float("-inf"))
    filled = filled.masked_fill(empty, 0.0)
    weights = torch.softmax(filled, dim=-1)
    return weights.masked_fill(empty, 0.0)


def right_2(scores, mask):
    """Powers by hand, in double precision, with the sum made safe."""
    s = scores.double().masked_fill(~mask, -torch.inf)
    top = s.detach().amax(dim=-1, keepdim=True)
    top = torch.where(torch.isfinite(top), top, torch.zeros_like(top))
    powers = torch.exp(s - top)
    total = powers.sum(dim=-1, keepdim=True)
    total = torch.where(total == 0, torch.ones_like(total), total)
    return (powers / total).to(scores.dtype)


def single_1(scores, mask):
    """Hides with minus infinity, and does not think of empty rows."""
    scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


def single_2(scores, mask):
    """Adds minus infinity; mends NaN in the weights, not the gradient."""
    bias = torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores + bias, dim=-1)
    return torch.nan_to_num(weights, nan=0.0)


def single_3(scores, mask):
    """Hides with the smallest number, so an empty row is shared equally."""
    lowest = torch.finfo(scores.dtype).min
    return torch.softmax(scores.masked_fill(~mask, lowest), dim=-1)


def single_4(scores, mask):
    """Strikes weights out after the softmax; the rest sum to less than 1."""
    weights = torch.softmax(scores, dim=-1)
    return weights * mask


def single_5(scores, mask):
    """Strikes out after the softmax and shares out again: underflow."""
    w = torch.softmax(scores, dim=-1)
    w = torch.where(mask, w, torch.zeros_like(w))
    total = w.sum(dim=-1, keepdim=True)
    return w / total.masked_fill(total == 0, 1.0)


def double_1(scores, mask):
    """1. Holds True for hidden; 2. an empty row is shared equally."""
    big = torch.finfo(scores.dtype).min
    scores = scores.masked_fill(mask, big)
    return scores.softmax(dim=-1)


def double_2(scores, mask):
    """1. Gives hidden keys the score 0; 2. returns float32."""
    scores = scores.float() * mask.float()
    scores = scores - scores.amax(-1, keepdim=True)
    e = scores.exp()
    return e / e.sum(-1, keepdim=True)
