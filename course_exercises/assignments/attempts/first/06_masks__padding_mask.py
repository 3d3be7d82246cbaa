import torch


def right_1(ids, pad_id=0):
    """Compares, and puts two axes between."""
    return (ids != pad_id)[:, None, None, :]


def right_2(ids, pad_id=0):
    """Begins with True everywhere and strikes the padding out."""
    batch, length = ids.shape
    mask = torch.ones(batch, 1, 1, length, dtype=torch.bool, device=ids.device)
    for b in range(batch):
        for k in range(length):
            if ids[b, k].item() == pad_id:
                mask[b, 0, 0, k] = False
    return mask


def single_1(ids, pad_id=0):
    """True where there is padding, as in key_padding_mask."""
    return ids.eq(pad_id).unsqueeze(1).unsqueeze(2)


def single_2(ids, pad_id=0):
    """Holds 0 for the padding, whatever pad_id is."""
    mask = ids != 0
    return mask.unsqueeze(1).unsqueeze(1)


def single_3(ids, pad_id=0):
    """Puts the tokens on the axis of the queries."""
    real = ids != pad_id
    return real[:, None, :, None]


def single_4(ids, pad_id=0):
    """Real tokens are those above pad_id."""
    batch, length = ids.shape
    return torch.gt(ids, pad_id).reshape(batch, 1, 1, length)


def single_5(ids, pad_id=0):
    """Gives ones and zeros, as Keras masks are multiplied."""
    return (ids != pad_id).float()[:, None, None, :]


def double_1(ids, pad_id=0):
    """1. True where there is padding; 2. has no axes for heads, queries."""
    mask = ids == pad_id
    return mask


def double_2(ids, pad_id=0):
    """1. Holds 0 for the padding; 2. has no axis for the heads."""
    return ids.bool().unsqueeze(1)
