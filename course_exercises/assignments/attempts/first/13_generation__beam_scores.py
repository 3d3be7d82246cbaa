import torch


def right_1(tgt, log_probs, alpha):
    """Counts what is neither bos nor pad, and divides."""
    written = (tgt != 0) & (tgt != 1)
    length = written.sum(dim=1).to(log_probs.dtype)
    return log_probs / ((5 + length) / 6) ** alpha


def right_2(tgt, log_probs, alpha):
    """A loop over the hypotheses with Python numbers."""
    penalties = []
    for row in tgt.tolist():
        length = len([token for token in row[1:] if token != 0])
        penalties.append(((5 + length) / 6) ** alpha)
    return log_probs / torch.tensor(penalties).to(log_probs)


def single_1(tgt, log_probs, alpha):
    """Counts bos as well."""
    length = (tgt != 0).sum(dim=-1).to(log_probs.dtype)
    return log_probs / ((5 + length) / 6).pow(alpha)


def single_2(tgt, log_probs, alpha):
    """Does not count eos: only words are written."""
    words = (tgt > 2).sum(dim=1).to(log_probs.dtype)
    return log_probs / torch.pow((5 + words) / 6, alpha)


def single_3(tgt, log_probs, alpha):
    """Takes the width of tgt for the length of all, so counts padding."""
    length = tgt.shape[1] - 1
    penalty = ((5 + length) / 6) ** alpha
    return log_probs / penalty


def single_4(tgt, log_probs, alpha):
    """Divides by length^alpha, the plain mean."""
    length = (tgt[:, 1:] != 0).sum(1).to(log_probs.dtype)
    length = length.clamp(min=1)
    return log_probs / length**alpha


def single_5(tgt, log_probs, alpha):
    """The exponent is on the upper part only: (5 + length)^alpha / 6."""
    n = torch.count_nonzero(tgt[:, 1:], dim=1).to(log_probs.dtype)
    lp = (5 + n) ** alpha / 6
    return log_probs / lp


def double_1(tgt, log_probs, alpha):
    """1. Counts bos too; 2. multiplies by the penalty."""
    length = (tgt != 0).sum(1).to(log_probs.dtype)
    penalty = ((5 + length) / 6) ** alpha
    return log_probs * penalty


def double_2(tgt, log_probs, alpha):
    """1. Leaves eos out of the length; 2. sorts, the best one first."""
    n = ((tgt != 0) & (tgt != 1) & (tgt != 2)).sum(1).to(log_probs.dtype)
    scores = log_probs / ((5 + n) / 6) ** alpha
    return scores.sort(descending=True).values
