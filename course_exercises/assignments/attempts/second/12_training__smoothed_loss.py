import torch
import torch.nn.functional as F


def right_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Takes the real places out and gives them to F.cross_entropy."""
    real = tgt_out != pad_id
    return F.cross_entropy(
        logits[real], tgt_out[real].long(), label_smoothing=smoothing
    )


def right_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """By hand: surprise at the right word, and the mean surprise at all."""
    vocab = logits.shape[-1]
    flat = logits.reshape(-1, vocab)
    answer = tgt_out.reshape(-1).long()
    places = torch.nonzero(answer != pad_id).squeeze(1)
    flat, answer = flat[places], answer[places]
    surprise = torch.logsumexp(flat, dim=1, keepdim=True) - flat
    loss = surprise.gather(1, answer[:, None])[:, 0]
    if smoothing > 0:
        loss = (1 - smoothing) * loss + smoothing * surprise.mean(dim=1)
    return loss.mean()


def single_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Sums over real tokens, but divides by the number of all places."""
    keep = tgt_out != pad_id
    total = F.cross_entropy(
        logits[keep],
        tgt_out[keep].long(),
        label_smoothing=smoothing,
        reduction="sum",
    )
    return total / tgt_out.numel()


def single_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Spreads epsilon over the other V - 1 words; the right one gets 1 - e."""
    keep = tgt_out != pad_id
    log_p = F.log_softmax(logits[keep], dim=-1)
    y = tgt_out[keep].long().unsqueeze(1)
    right = log_p.gather(1, y).squeeze(1)
    loss = -(1 - smoothing) * right
    if smoothing > 0:
        others = log_p.sum(dim=1) - right
        loss = loss - smoothing / (log_p.shape[1] - 1) * others
    return loss.mean()


def single_3(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Takes the mean of each sentence, then the mean of the sentences."""
    per_sentence = []
    for row_logits, row in zip(logits, tgt_out):
        real = row != pad_id
        if real.any():
            loss = F.cross_entropy(
                row_logits[real],
                row[real].long(),
                label_smoothing=smoothing,
            )
            per_sentence.append(loss)
    return torch.stack(per_sentence).mean()


def single_4(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Gives padding no share of epsilon, the other V - 1 words all of it."""
    real = tgt_out != pad_id
    log_p = torch.log_softmax(logits[real], dim=-1)
    y = tgt_out[real].long()
    nll = -log_p[torch.arange(len(y)), y]
    if smoothing == 0:
        return nll.mean()
    words = torch.arange(log_p.shape[-1]) != pad_id
    uniform = -log_p[:, words].mean(dim=-1)
    return ((1 - smoothing) * nll + smoothing * uniform).mean()


def single_5(logits, tgt_out, smoothing=0.0, pad_id=0):
    """Makes probabilities first, which F.cross_entropy takes for logits."""
    real = tgt_out != pad_id
    probabilities = torch.softmax(logits[real], dim=-1)
    return F.cross_entropy(
        probabilities, tgt_out[real].long(), label_smoothing=smoothing
    )


def double_1(logits, tgt_out, smoothing=0.0, pad_id=0):
    """1. Divides by the number of sentences; 2. the right one gets 1 - e."""
    real = tgt_out != pad_id
    log_p = F.log_softmax(logits[real], dim=-1)
    y = tgt_out[real].long()
    target = torch.full_like(log_p, smoothing / log_p.shape[-1])
    target[torch.arange(len(y)), y] = 1 - smoothing
    return -(target * log_p).sum() / tgt_out.shape[0]


def double_2(logits, tgt_out, smoothing=0.0, pad_id=0):
    """1. Padding counts like any word; 2. the even part is not over V."""
    log_p = logits.log_softmax(dim=-1)
    nll = -log_p.gather(-1, tgt_out.long().unsqueeze(-1)).squeeze(-1)
    loss = (1 - smoothing) * nll
    if smoothing > 0:
        loss = loss - smoothing * log_p.sum(dim=-1)
    return loss.mean()
