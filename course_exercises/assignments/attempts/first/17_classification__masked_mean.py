import torch


def right_1(x, ids, pad_id=0):
    """Writes zeros over the padding, adds, and divides by how many are real."""
    real = ids != pad_id
    total = x.masked_fill(~real.unsqueeze(-1), 0.0).sum(dim=1)
    return total / real.sum(dim=1, keepdim=True).clamp(min=1)


def right_2(x, ids, pad_id=0):
    """Picks each text's own vectors out, one text after another."""
    means = x.new_zeros(x.size(0), x.size(2))
    for b in range(x.size(0)):
        vectors = x[b][ids[b] != pad_id]
        if len(vectors) > 0:
            means[b] = vectors.mean(dim=0)
    return means


def single_1(x, ids, pad_id=0):
    """Believes that padding is gone once it is multiplied by 0."""
    real = (ids != pad_id).unsqueeze(-1).to(x.dtype)
    return (x * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)


def single_2(x, ids, pad_id=0):
    """Sets padding to 0 and then takes the mean over all places."""
    return torch.where((ids != pad_id)[:, :, None], x, 0.0).mean(dim=1)


def single_3(x, ids, pad_id=0):
    """Never thinks of a text without any word, and divides 0 by 0."""
    real = ids.ne(pad_id)
    kept = torch.where(real[..., None], x, torch.zeros_like(x))
    return kept.sum(1) / real.sum(1)[:, None]


def single_4(x, ids, pad_id=0):
    """Divides by real.sum(), as the chapter does: that of the whole batch."""
    real = ids != pad_id
    kept = x.masked_fill(~real[:, :, None], 0)
    return kept.sum(dim=1) / real.sum().clamp(min=1)


def single_5(x, ids, pad_id=0):
    """Leaves out the first token too, since [CLS] is not a word."""
    words = ids != pad_id
    words[:, 0] = False
    kept = x.masked_fill(~words[:, :, None], 0)
    return kept.sum(dim=1) / words.sum(dim=1).clamp(min=1)[:, None]


def double_1(x, ids, pad_id=0):
    """1. Holds 0 for the padding, whatever pad_id is; 2. divides by the length."""
    x = x.masked_fill((ids == 0)[:, :, None], 0.0)
    return x.sum(dim=1) / ids.shape[1]


def double_2(x, ids, pad_id=0):
    """1. Multiplies padding by 0; 2. divides 0 by 0 for a text of padding."""
    real = (ids != pad_id)[:, :, None]
    return (x * real).sum(dim=1) / real.sum(dim=1)
