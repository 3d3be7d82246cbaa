import torch


def right_1(ids, pad_id=0):
    """Compares, and puts two axes in the middle."""
    return (ids != pad_id)[:, None, None, :]


def right_2(ids, pad_id=0):
    """Asks where the padding is, turns it round, and views it."""
    batch, length = ids.shape
    is_padding = torch.eq(ids, pad_id)
    return torch.logical_not(is_padding).reshape(batch, 1, 1, length)


def single_1(ids, pad_id=0):
    """Marks the padding with True, as key_padding_mask does."""
    return ids.eq(pad_id).unsqueeze(1).unsqueeze(2)


def single_2(ids, pad_id=0):
    """Takes padding to be 0 always: whatever is not 0 is True."""
    return ids.bool().unsqueeze(1).unsqueeze(1)


def single_3(ids, pad_id=0):
    """Thinks that real tokens have numbers above the padding's."""
    mask = ids > pad_id
    return mask[:, None, None, :]


def single_4(ids, pad_id=0):
    """Puts the tokens on the queries' axis."""
    batch, length = ids.shape
    return (ids != pad_id).view(batch, 1, length, 1)


def single_5(ids, pad_id=0):
    """Makes a square: neither query nor key may be padding."""
    real = ids != pad_id
    square = real[:, :, None] & real[:, None, :]
    return square.unsqueeze(1)


def double_1(ids, pad_id=0):
    """1. Marks the padding with True; 2. one axis of size 1 only."""
    return (ids == pad_id).unsqueeze(1)


def double_2(ids, pad_id=0):
    """1. Takes padding to be 0 always; 2. gives ones and zeros."""
    mask = torch.where(ids == 0, 0.0, 1.0)
    return mask[:, None, None, :]
