import math

import torch
import torch.nn.functional as F


def right_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Picks the real places, then mixes the right word's and the mean loss."""
    real = tgt_out != pad_id
    log_p = torch.log_softmax(logits[real], dim=-1)
    right = tgt_out[real].long()
    loss = -log_p.gather(-1, right[:, None]).squeeze(-1)
    if smoothing > 0:
        even = -log_p.mean(dim=-1)
        loss = (1 - smoothing) * loss + smoothing * even
    return loss.mean()


def right_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Sums F.cross_entropy row by row and divides by the real tokens."""
    total, count = 0.0, 0
    for row_logits, row in zip(logits, tgt_out):
        keep = row != pad_id
        if keep.any():
            total = total + F.cross_entropy(
                row_logits[keep],
                row[keep].long(),
                label_smoothing=smoothing,
                reduction="sum",
            )
            count += int(keep.sum())
    return total / count


def single_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Spreads ε over the wrong words only, ε/(V - 1) for each."""
    vocab = logits.shape[-1]
    real = tgt_out != pad_id
    log_p = F.log_softmax(logits[real], dim=-1)
    target = torch.full_like(log_p, smoothing / (vocab - 1))
    target.scatter_(1, tgt_out[real].long()[:, None], 1 - smoothing)
    return -(target * log_p).sum(-1).mean()


def single_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Divides by all places, padding included."""
    losses = F.cross_entropy(
        logits.flatten(0, 1),
        tgt_out.flatten().long(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
        reduction="none",
    )
    return losses.mean()


def single_3(logits, tgt_out, smoothing=0.0, pad_id=0):
    """The right word gets 1 - ε, without its own ε/V."""
    mask = tgt_out != pad_id
    logits, tgt = logits[mask], tgt_out[mask].long()
    q = torch.full_like(logits, smoothing / logits.size(-1))
    q[torch.arange(len(tgt)), tgt] = 1 - smoothing
    return -(q * logits.log_softmax(-1)).sum() / mask.sum()


def single_4(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Means within each sentence first, then over the sentences."""
    means = []
    for row, right in zip(logits, tgt_out):
        real = right != pad_id
        if real.any():
            loss = F.cross_entropy(
                row[real], right[real].long(), label_smoothing=smoothing
            )
            means.append(loss)
    return torch.stack(means).mean()


def single_5(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Takes KL divergence for cross entropy, as nn.KLDivLoss does."""
    mask = tgt_out != pad_id
    log_p = torch.log_softmax(logits[mask], dim=-1)
    n = log_p.shape[-1]
    q = F.one_hot(tgt_out[mask].long(), n).to(log_p.dtype)
    q = (1 - smoothing) * q + smoothing / n
    return F.kl_div(log_p, q, reduction="sum") / mask.sum()


def double_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """1. Counts padding like a word; 2. spreads ε over V - 1 words."""
    vocab = logits.shape[-1]
    log_p = torch.log_softmax(logits, dim=-1)
    hot = F.one_hot(tgt_out.long(), vocab).to(logits.dtype)
    q = hot * (1 - smoothing) + (1 - hot) * smoothing / (vocab - 1)
    return -(q * log_p).sum(-1).mean()


def double_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """1. In bits, not nats; 2. the sum over real tokens, not the mean."""
    real = tgt_out != pad_id
    log_p = torch.log_softmax(logits[real], dim=-1) / math.log(2)
    right = log_p.gather(1, tgt_out[real].long().unsqueeze(1)).squeeze(1)
    mixed = (1 - smoothing) * right + smoothing * log_p.mean(-1)
    return -mixed.sum()
