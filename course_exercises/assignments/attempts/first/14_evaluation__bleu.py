import math

import torch


def right_1(counts):
    """Sums the columns, then logarithms."""
    total = counts.sum(dim=0).tolist()
    h, r = total[0], total[1]
    matches, written = total[2:6], total[6:10]
    if min(matches) == 0:
        return 0.0
    logs = [math.log(m / w) for m, w in zip(matches, written)]
    brevity = 1.0 if h >= r else math.exp(1 - r / h)
    return 100 * brevity * math.exp(sum(logs) / 4)


def right_2(counts):
    """Product and fourth root, in double precision."""
    total = counts.double().sum(0)
    if (total[2:6] == 0).any():
        return 0.0
    precisions = total[2:6] / total[6:10]
    mean = precisions.prod() ** 0.25
    penalty = torch.exp(torch.clamp(1 - total[1] / total[0], max=0.0))
    return (100 * penalty * mean).item()


def single_1(counts):
    """The mean of the sentences' BLEU."""

    def sentence(row):
        h, r, *rest = row
        matches, written = rest[:4], rest[4:]
        if 0 in matches:
            return 0.0
        log = sum(math.log(m / w) for m, w in zip(matches, written)) / 4
        return math.exp(min(0.0, 1 - r / h) + log)

    scores = [sentence(row) for row in counts.tolist()]
    return 100 * sum(scores) / len(scores)


def single_2(counts):
    """The arithmetic mean of the four precisions."""
    t = counts.sum(dim=0).double()
    m, n = t[2:6], t[6:]
    if (m == 0).any():
        return 0.0
    bp = min(1.0, math.exp(1 - (t[1] / t[0]).item()))
    return 100 * bp * (m / n).mean().item()


def single_3(counts):
    """Leaves the brevity penalty out."""
    sums = counts.sum(dim=0)
    log_sum = 0.0
    for n in range(4):
        match = sums[2 + n].item()
        if match == 0:
            return 0.0
        log_sum += math.log(match / sums[6 + n].item())
    return 100 * math.exp(log_sum / 4)


def single_4(counts):
    """Punishes long translations: h and r the wrong way round."""
    h, r, m1, m2, m3, m4, n1, n2, n3, n4 = counts.sum(0).tolist()
    if m1 * m2 * m3 * m4 == 0:
        return 0.0
    geometric = (m1 / n1 * m2 / n2 * m3 / n3 * m4 / n4) ** (1 / 4)
    if h <= r:
        bp = 1
    else:
        bp = math.exp(1 - h / r)
    return 100 * bp * geometric


def single_5(counts):
    """Takes the plain ratio h/r as brevity penalty."""
    total = counts.sum(dim=0).double()
    if total[2:6].min() == 0:
        return 0.0
    log_p = torch.log(total[2:6] / total[6:10]).mean()
    penalty = torch.clamp(total[0] / total[1], max=1.0)
    return float(100 * penalty * torch.exp(log_p))


def double_1(counts):
    """1. Arithmetic mean; 2. the penalty also rewards longer texts."""
    t = counts.sum(0).tolist()
    matches, written = t[2:6], t[6:10]
    if min(matches) == 0:
        return 0.0
    mean = sum(m / w for m, w in zip(matches, written)) / 4
    return 100 * math.exp(1 - t[1] / t[0]) * mean


def double_2(counts):
    """1. Adds one to matches and numbers; 2. from 0 to 1."""
    t = counts.sum(dim=0).tolist()
    h, r = t[:2]
    log_p = 0.0
    for m, w in zip(t[2:6], t[6:10]):
        log_p += math.log((m + 1) / (w + 1)) / 4
    bp = 1.0 if h >= r else math.exp(1 - r / max(h, 1))
    return bp * math.exp(log_p)
