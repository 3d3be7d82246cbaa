import torch


def right_1(log_probs, tgt_out, pad_id=0):
    """Exp of the mean surprise of the real tokens."""
    return torch.exp(-log_probs[tgt_out != pad_id].mean())


def right_2(log_probs, tgt_out, pad_id=0):
    """Sets padding to 0, sums sentence by sentence, divides once."""
    real = tgt_out != pad_id
    surprise = torch.where(real, -log_probs, torch.zeros_like(log_probs))
    per_sentence = surprise.sum(dim=1)
    tokens = real.sum(dim=1)
    return (per_sentence.sum() / tokens.sum()).exp()


def single_1(log_probs, tgt_out, pad_id=0):
    """Divides by all places, padding included."""
    masked = log_probs.masked_fill(tgt_out == pad_id, 0.0)
    return torch.exp(-masked.mean())


def single_2(log_probs, tgt_out, pad_id=0):
    """Perplexity of each sentence, and then their mean."""
    perplexities = []
    for row, answers in zip(log_probs, tgt_out):
        real = row[answers != pad_id]
        if len(real) > 0:
            perplexities.append(torch.exp(-real.mean()))
    return torch.stack(perplexities).mean()


def single_3(log_probs, tgt_out, pad_id=0):
    """Two to the power of the mean: takes nats for bits."""
    real = tgt_out != pad_id
    entropy = -log_probs[real].mean()
    return 2**entropy


def single_4(log_probs, tgt_out, pad_id=0):
    """One over the mean probability of the right tokens."""
    mask = tgt_out.ne(pad_id)
    p = log_probs.masked_select(mask).exp()
    return 1 / p.mean()


def single_5(log_probs, tgt_out, pad_id=0):
    """Divides by the number of sentences: the surprise of a whole one."""
    kept = torch.where(
        tgt_out != pad_id, log_probs, torch.zeros_like(log_probs)
    )
    return torch.exp(-kept.sum(dim=1).mean())


def double_1(log_probs, tgt_out, pad_id=0):
    """1. Leaves eos out, which is no word; 2. two to the power."""
    words = (tgt_out != pad_id) & (tgt_out != 2)
    mean = -log_probs[words].sum() / words.sum()
    return torch.exp2(mean)


def double_2(log_probs, tgt_out, pad_id=0):
    """1. Means of sentences count alike; 2. no exp: gives the loss."""
    losses = []
    for i in range(tgt_out.shape[0]):
        real = tgt_out[i] != pad_id
        if real.any():
            losses.append(-log_probs[i][real].mean())
    return sum(losses) / len(losses)
