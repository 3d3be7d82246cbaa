import math

import torch


def right_1(log_probs, tgt_out, pad_id=0):
    """Picks the real tokens, mean, exp."""
    real = log_probs[tgt_out != pad_id]
    return torch.exp(-real.mean())


def right_2(log_probs, tgt_out, pad_id=0):
    """Fills padding with zeros, sums, divides by the number of tokens."""
    padding = tgt_out == pad_id
    total = log_probs.masked_fill(padding, 0.0).sum()
    n_tokens = (~padding).sum()
    return (-total / n_tokens).exp()


def single_1(log_probs, tgt_out, pad_id=0):
    """Divides by all places, padding included."""
    mask = tgt_out != pad_id
    masked = torch.where(mask, log_probs, torch.zeros_like(log_probs))
    return torch.exp(-masked.mean())


def single_2(log_probs, tgt_out, pad_id=0):
    """The mean of the sentences' perplexities."""
    perplexities = []
    for row, ids in zip(log_probs, tgt_out):
        real = row[ids != pad_id]
        if len(real) > 0:
            perplexities.append(torch.exp(-real.mean()))
    return torch.stack(perplexities).mean()


def single_3(log_probs, tgt_out, pad_id=0):
    """Takes 2 to the power of the mean, though it is in nats."""
    real = tgt_out != pad_id
    entropy = -log_probs[real].sum() / real.sum()
    return 2**entropy


def single_4(log_probs, tgt_out, pad_id=0):
    """Multiplies by a mask of 0 and 1, which makes nan of -inf."""
    mask = (tgt_out != pad_id).to(log_probs.dtype)
    nll = -(log_probs * mask).sum() / mask.sum()
    return torch.exp(nll)


def single_5(log_probs, tgt_out, pad_id=0):
    """Means the probabilities, not their logarithms."""
    probs = log_probs[tgt_out != pad_id].exp()
    return 1 / probs.mean()


def double_1(log_probs, tgt_out, pad_id=0):
    """1. Leaves eos out of the count; 2. in bits: 2 to the mean of nats."""
    words = (tgt_out != pad_id) & (tgt_out != 2)
    mean = log_probs[words].mean()
    return torch.pow(2.0, -mean)


def double_2(log_probs, tgt_out, pad_id=0):
    """1. Mean of the sentences' means; 2. divides by ln 2, then exp."""
    means = []
    for i in range(log_probs.shape[0]):
        keep = tgt_out[i] != pad_id
        if keep.any():
            means.append(-log_probs[i][keep].mean())
    return torch.exp(torch.stack(means).mean() / math.log(2))
