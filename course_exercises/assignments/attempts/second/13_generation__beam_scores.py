import torch


def right_1(tgt, log_probs, alpha):
    """Counts what is neither bos nor pad, and divides."""
    written = (tgt != 0) & (tgt != 1)
    length = written.sum(dim=1).to(log_probs.dtype)
    return log_probs / ((5 + length) / 6) ** alpha


def right_2(tgt, log_probs, alpha):
    """Goes through the rows as lists, in Python numbers."""
    penalties = []
    for row in tgt.tolist():
        length = 0
        for token in row[1:]:
            if token == 0:
                break
            length += 1
        penalties.append(((5 + length) / 6) ** alpha)
    return log_probs / log_probs.new_tensor(penalties)


def single_1(tgt, log_probs, alpha):
    """Counts bos too: all that is not padding."""
    length = (tgt != 0).sum(-1).to(log_probs.dtype)
    penalty = torch.pow((5 + length) / 6, alpha)
    return log_probs / penalty


def single_2(tgt, log_probs, alpha):
    """A word is not eos: counts only real words."""
    is_word = tgt > 2
    length = is_word.sum(dim=-1).to(log_probs.dtype)
    lp = ((5.0 + length) / 6.0) ** alpha
    return log_probs / lp


def single_3(tgt, log_probs, alpha):
    """Takes the plain length for the penalty, as many toolkits do."""
    length = (tgt != 0).sum(dim=1) - 1
    length = length.clamp(min=1).to(log_probs.dtype)
    return log_probs / length**alpha


def single_4(tgt, log_probs, alpha):
    """All rows are as long as the tensor is, but for bos."""
    length = tgt.shape[1] - 1
    penalty = ((5 + length) / 6) ** alpha
    return log_probs / penalty


def single_5(tgt, log_probs, alpha):
    """Rewards length by a factor: multiplies with the penalty."""
    length = ((tgt != 0).sum(dim=1) - 1).to(log_probs.dtype)
    return log_probs * ((5 + length) / 6).pow(alpha)


def double_1(tgt, log_probs, alpha):
    """1. The exponent is for 5 + length alone; 2. gives the best one first."""
    length = ((tgt != 0).sum(dim=1) - 1).to(log_probs.dtype)
    scores = log_probs / ((5 + length) ** alpha / 6)
    return scores.sort(descending=True).values


def double_2(tgt, log_probs, alpha):
    """1. Scores are probabilities, so exp; 2. bos belongs to the length."""
    n = torch.count_nonzero(tgt, dim=1).to(log_probs.dtype)
    p = torch.exp(log_probs)
    return p / ((5 + n) / 6) ** alpha
