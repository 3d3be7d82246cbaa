import torch


def right_1(x, ids, pad_id=0):
    """Puts zeros in place of padding, adds up, divides by the count."""
    real = ids != pad_id
    kept = torch.where(real[:, :, None], x, 0.0)
    count = real.sum(dim=1, keepdim=True).clamp(min=1)
    return kept.sum(dim=1) / count


def right_2(x, ids, pad_id=0):
    """Goes through the texts, picks the vectors of each, and averages."""
    batch, _, d_model = x.shape
    out = x.new_zeros(batch, d_model)
    for b in range(batch):
        vectors = x[b][ids[b] != pad_id]
        if len(vectors) > 0:
            out[b] = vectors.mean(0)
    return out


def single_1(x, ids, pad_id=0):
    """Leaves padding out of the sum, but divides by the whole length."""
    kept = x.masked_fill((ids == pad_id).unsqueeze(-1), 0)
    return kept.mean(dim=1)


def single_2(x, ids, pad_id=0):
    """Believes that times zero takes away whatever stands at padding."""
    mask = (ids != pad_id).to(x.dtype)
    total = torch.einsum("bld,bl->bd", x, mask)
    return total / mask.sum(1).clamp(min=1)[:, None]


def single_3(x, ids, pad_id=0):
    """Takes padding to be 0 always."""
    padding = ~ids.bool()
    total = x.masked_fill(padding[..., None], 0).sum(1)
    count = (~padding).sum(1).clamp_min(1)
    return total / count.unsqueeze(1)


def single_4(x, ids, pad_id=0):
    """Does not think of rows of nothing but padding: 0 / 0."""
    rows = [row[keep].mean(dim=0) for row, keep in zip(x, ids != pad_id)]
    return torch.stack(rows)


def single_5(x, ids, pad_id=0):
    """Believes that padding stands at the end always: first n tokens."""
    out = torch.zeros_like(x[:, 0])
    lengths = (ids != pad_id).sum(1).tolist()
    for i, n in enumerate(lengths):
        if n:
            out[i] = x[i, :n].mean(0)
    return out


def double_1(x, ids, pad_id=0):
    """1. Times zero takes padding away; 2. divides by the longest text."""
    mask = (ids != pad_id).unsqueeze(-1)
    longest = mask.sum(1).max().clamp(min=1)
    return (x * mask).sum(1) / longest


def double_2(x, ids, pad_id=0):
    """1. The first token is [CLS] and no word, so it does not count; 2. 0 / 0
    for an empty row."""
    words = ids != pad_id
    words[:, 0] = False
    total = torch.where(words.unsqueeze(2), x, torch.zeros_like(x)).sum(1)
    return total / words.sum(1, keepdim=True)
