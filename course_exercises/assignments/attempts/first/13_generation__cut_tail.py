import torch


def right_1(probabilities, p):
    """Sorts, keeps while the sum before a word is below p, scatters back."""
    ordered, index = probabilities.sort(dim=-1, descending=True)
    sums = ordered.cumsum(dim=-1)
    keep = torch.ones_like(ordered, dtype=torch.bool)
    keep[:, 1:] = sums[:, :-1] < p
    kept = torch.where(keep, ordered, torch.zeros_like(ordered))
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probabilities).scatter(-1, index, kept)


def right_2(probabilities, p):
    """Goes through each row from the most probable word on."""
    rows = []
    for row in probabilities:
        keep = torch.zeros_like(row, dtype=torch.bool)
        total = torch.zeros_like(row[0])
        for j in row.argsort(descending=True).tolist():
            keep[j] = True
            total = total + row[j]
            if total >= p:
                break
        kept = row.masked_fill(~keep, 0)
        rows.append(kept / kept.sum())
    return torch.stack(rows)


def single_1(probabilities, p):
    """Leaves out the word with which the sum reaches p."""
    ordered, index = probabilities.sort(dim=-1, descending=True)
    keep = ordered.cumsum(-1) <= p
    keep[:, 0] = True
    kept = ordered * keep
    kept = kept / kept.sum(-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, index, kept)


def single_2(probabilities, p):
    """Does not divide by the sum of those kept."""
    ordered, index = torch.sort(probabilities, descending=True)
    before = ordered.cumsum(-1).roll(1, dims=-1)
    before[:, 0] = 0
    ordered = ordered.masked_fill(before >= p, 0.0)
    return torch.zeros_like(ordered).scatter_(1, index, ordered)


def single_3(probabilities, p):
    """Leaves the words in sorted order."""
    ordered = probabilities.sort(dim=-1, descending=True).values
    sums = torch.cumsum(ordered, dim=-1)
    remove = sums >= p
    remove[:, 1:] = remove[:, :-1].clone()
    remove[:, 0] = False
    ordered = ordered.masked_fill(remove, 0)
    return ordered / ordered.sum(-1, keepdim=True)


def single_4(probabilities, p):
    """Normalises with a softmax over those kept."""
    ordered, index = probabilities.sort(descending=True)
    sums = ordered.cumsum(dim=-1)
    out = (sums - ordered) >= p
    ordered = ordered.masked_fill(out, float("-inf"))
    probs = torch.softmax(ordered, dim=-1)
    return torch.zeros_like(probs).scatter(-1, index, probs)


def single_5(probabilities, p):
    """Divides by p, the share kept, instead of by the sum."""
    result = torch.zeros_like(probabilities)
    for i in range(len(probabilities)):
        order = torch.argsort(probabilities[i], descending=True)
        total = 0.0
        for j in order:
            result[i, j] = probabilities[i, j] / p
            total += probabilities[i, j]
            if total >= p:
                break
    return result


def double_1(probabilities, p):
    """1. Keeps only while the sum is at most p; 2. does not normalise."""
    ordered, index = probabilities.sort(dim=-1, descending=True)
    keep = ordered.cumsum(-1) <= p
    keep[:, 0] = True
    kept = torch.where(keep, ordered, torch.zeros_like(ordered))
    return torch.zeros_like(kept).scatter(-1, index, kept)


def double_2(probabilities, p):
    """1. Starts with the least probable; 2. divides by the whole batch."""
    ordered, index = probabilities.sort(dim=-1)
    before = ordered.cumsum(-1) - ordered
    kept = ordered * (before < p)
    kept = kept / kept.sum()
    return torch.zeros_like(kept).scatter(-1, index, kept)
