import torch


def right_1(length):
    """A lower triangle of ones, with two axes in front."""
    square = torch.ones(length, length, dtype=torch.bool)
    return square.tril()[None, None]


def right_2(length):
    """Compares the number of the key with that of the query."""
    place = torch.arange(length)
    query = place.reshape(1, 1, length, 1)
    key = place.reshape(1, 1, 1, length)
    return key <= query


def single_1(length):
    """Has the keys as rows and the queries as columns."""
    i = torch.arange(length)
    mask = i.unsqueeze(1) <= i.unsqueeze(0)
    return mask.view(1, 1, length, length)


def single_2(length):
    """Lets a token see only what came before, not itself."""
    mask = torch.tril(torch.ones(length, length), diagonal=-1)
    return mask.bool().unsqueeze(0).unsqueeze(0)


def single_3(length):
    """Marks what is hidden with True, as nn.MultiheadAttention wants it."""
    return torch.triu(torch.ones(1, 1, length, length), diagonal=1).bool()


def single_4(length):
    """Makes a mask to be added to the scores: 0 and minus infinity."""
    mask = torch.full((length, length), float("-inf"))
    return torch.triu(mask, diagonal=1)[None, None, :, :]


def single_5(length):
    """Lets a token see itself and the one just before it."""
    mask = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for q in range(length):
        mask[0, 0, q, q] = True
        if q > 0:
            mask[0, 0, q, q - 1] = True
    return mask


def double_1(length):
    """1. A token does not see itself; 2. leaves the two axes away."""
    rows = [[k < q for k in range(length)] for q in range(length)]
    return torch.tensor(rows, dtype=torch.bool).reshape(length, length)


def double_2(length):
    """1. Sees the next token too, to predict it; 2. ones and zeros."""
    mask = torch.ones(length, length).tril(diagonal=1)
    return mask.reshape(1, 1, length, length)
