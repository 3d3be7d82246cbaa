import torch


def right_1(length):
    """The lower triangle of ones, as bool."""
    ones = torch.ones(1, 1, length, length, dtype=torch.bool)
    return torch.tril(ones)


def right_2(length):
    """Compares the places of keys and queries."""
    place = torch.arange(length)
    mask = place.unsqueeze(0) <= place.unsqueeze(1)
    return mask.view(1, 1, length, length)


def single_1(length):
    """Hides the token itself too."""
    mask = torch.tril(torch.ones(length, length), diagonal=-1)
    return mask.bool()[None, None]


def single_2(length):
    """True where a key must be hidden, as in nn.Transformer."""
    mask = torch.triu(torch.ones(length, length), diagonal=1)
    return mask.to(torch.bool).unsqueeze(0).unsqueeze(0)


def single_3(length):
    """Takes rows for keys: the upper triangle."""
    mask = torch.zeros(1, 1, length, length, dtype=torch.bool)
    for query in range(length):
        for key in range(query + 1):
            mask[0, 0, key, query] = True
    return mask


def single_4(length):
    """Gives ones and zeros instead of bool."""
    return torch.tril(torch.ones(length, length)).view(1, 1, length, length)


def single_5(length):
    """Leaves the axes for sentences and heads to broadcasting."""
    i = torch.arange(length)[:, None]
    j = torch.arange(length)[None, :]
    return j <= i


def double_1(length):
    """1. Hides the token itself too; 2. has one axis of size 1 only."""
    place = torch.arange(length)
    return (place[None, :] < place[:, None]).unsqueeze(0)


def double_2(length):
    """1. Ones for what is to be hidden; 2. numbers instead of bool."""
    ones = torch.ones((1, 1, length, length))
    return 1 - torch.tril(ones)
