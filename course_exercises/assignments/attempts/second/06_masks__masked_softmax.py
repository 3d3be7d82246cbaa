import torch
import torch.nn.functional as F


def right_1(scores, mask):
    """Minus infinity for hidden keys; rows without a key get finite ones."""
    mask = mask.expand(scores.shape)
    nowhere = ~mask.any(dim=-1, keepdim=True)
    filled = scores.masked_fill(~mask, float("-inf"))
    filled = filled.masked_fill(nowhere, 0.0)
    return torch.softmax(filled, dim=-1).masked_fill(~mask, 0.0)


def right_2(scores, mask):
    """Powers and a sum by hand; a sum of nothing counts as 1."""
    hidden = torch.broadcast_to(~mask, scores.shape)
    s = scores.masked_fill(hidden, -torch.inf)
    top = s.detach().amax(dim=-1, keepdim=True)
    top = torch.where(torch.isinf(top), torch.zeros_like(top), top)
    powers = torch.exp(s - top)
    total = powers.sum(dim=-1, keepdim=True)
    total = torch.where(total == 0, torch.ones_like(total), total)
    return powers / total


def single_1(scores, mask):
    """Fills in the lowest number; a row without keys becomes uniform."""
    lowest = torch.finfo(scores.dtype).min
    return F.softmax(scores.masked_fill(~mask, lowest), dim=-1)


def single_2(scores, mask):
    """Takes the softmax of all and then sets hidden weights to 0."""
    weights = F.softmax(scores, dim=-1)
    return weights * mask.to(weights.dtype)


def single_3(scores, mask):
    """Takes True for 'hide this one', as with a padding mask of PyTorch."""
    mask = mask.expand(scores.shape)
    filled = scores.masked_fill(mask, float("-inf"))
    empty = mask.all(dim=-1, keepdim=True)
    weights = filled.masked_fill(empty, 0).softmax(dim=-1)
    return weights.masked_fill(mask, 0)


def single_4(scores, mask):
    """Fills in minus infinity and leaves the rest to the softmax."""
    scores = torch.where(mask, scores, float("-inf"))
    return torch.softmax(scores, dim=-1)


def single_5(scores, mask):
    """Multiplies the scores by the mask: a score of 0 counts for nothing."""
    mask = mask.expand_as(scores)
    weights = torch.softmax(scores * mask, dim=-1)
    somewhere = mask.any(dim=-1, keepdim=True)
    return weights * somewhere


def double_1(scores, mask):
    """1. Hidden scores become 0; 2. a row without keys is uniform."""
    scores = torch.where(mask, scores, torch.zeros_like(scores))
    scores = scores - scores.amax(dim=-1, keepdim=True)
    e = scores.exp()
    return e / e.sum(dim=-1, keepdim=True)


def double_2(scores, mask):
    """1. The softmax runs over the queries; 2. the mask comes after it."""
    weights = torch.softmax(scores, dim=-2)
    return weights.masked_fill(~mask, 0.0)
