import math

import torch


def right_1(probabilities, p):
    """Sorts, keeps a word while the sum before it is below p, sorts back."""
    ordered, places = probabilities.sort(dim=-1, descending=True)
    sums = ordered.cumsum(dim=-1)
    before = torch.cat([torch.zeros_like(sums[:, :1]), sums[:, :-1]], dim=-1)
    kept = torch.where(before < p, ordered, torch.zeros_like(ordered))
    result = torch.zeros_like(probabilities).scatter(-1, places, kept)
    return result / result.sum(dim=-1, keepdim=True)


def right_2(probabilities, p):
    """Row by row: marks words from the top until the share is full."""
    keep = torch.zeros_like(probabilities, dtype=torch.bool)
    for i, row in enumerate(probabilities):
        total = torch.zeros_like(row[0])
        for word in torch.argsort(row, descending=True).tolist():
            keep[i, word] = True
            total = total + row[word]
            if total >= p:
                break
    cut = probabilities.masked_fill(~keep, 0.0)
    return cut / cut.sum(dim=1, keepdim=True)


def single_1(probabilities, p):
    """Keeps words as long as the sum stays within p, and at least one."""
    ordered, places = torch.sort(probabilities, dim=-1, descending=True)
    keep = ordered.cumsum(dim=-1) <= p
    keep[:, 0] = True
    kept = ordered * keep
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, places, kept)


def single_2(probabilities, p):
    """Sets the tail to 0 and leaves the rest as it was."""
    ordered, places = probabilities.sort(dim=-1, descending=True)
    sums = ordered.cumsum(dim=-1)
    before = torch.cat([torch.zeros_like(sums[:, :1]), sums[:, :-1]], dim=-1)
    remove = (before >= p).gather(-1, places.argsort(dim=-1))
    return probabilities.masked_fill(remove, 0.0)


def single_3(probabilities, p):
    """Leaves the words in the order of their probability."""
    ordered = probabilities.sort(dim=1, descending=True).values
    sums = torch.cumsum(ordered, dim=1)
    keep = torch.ones_like(ordered, dtype=torch.bool)
    keep[:, 1:] = sums[:, :-1] < p
    out = torch.where(keep, ordered, torch.zeros_like(ordered))
    return out / out.sum(dim=1, keepdim=True)


def single_4(probabilities, p):
    """Keeps the share p of the vocabulary: of the number of words."""
    k = math.ceil(p * probabilities.shape[-1])
    values, places = probabilities.topk(k, dim=-1)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, places, values)


def single_5(probabilities, p):
    """Makes distributions again by a softmax over the kept ones."""
    ordered, places = probabilities.sort(dim=-1, descending=True)
    sums = ordered.cumsum(dim=-1)
    tail = torch.zeros_like(ordered, dtype=torch.bool)
    tail[:, 1:] = sums[:, :-1] >= p
    ordered = ordered.masked_fill(tail, float("-inf"))
    ordered = torch.softmax(ordered, dim=-1)
    return torch.zeros_like(ordered).scatter(-1, places, ordered)


def double_1(probabilities, p):
    """1. Keeps what has at least p times the best; 2. does not divide."""
    best = probabilities.max(dim=-1, keepdim=True).values
    keep = probabilities >= p * best
    return probabilities * keep


def double_2(probabilities, p):
    """1. One more word than fills the share; 2. leaves them sorted."""
    ordered, _ = torch.sort(probabilities, descending=True, dim=-1)
    full = ordered.cumsum(dim=-1) >= p
    kept = ordered.clone()
    kept[:, 2:][full[:, :-2]] = 0
    return kept / kept.sum(dim=-1, keepdim=True)
