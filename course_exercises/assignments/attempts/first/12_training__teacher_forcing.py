import torch


def right_1(tgt):
    """Two slices."""
    return tgt[:, :-1], tgt[:, 1:]


def right_2(tgt):
    """Walks through the places and stacks the columns."""
    read, asked = [], []
    for t in range(tgt.shape[1] - 1):
        read.append(tgt[:, t])
        asked.append(tgt[:, t + 1])
    return torch.stack(read, dim=1), torch.stack(asked, dim=1)


def single_1(tgt):
    """Forgets to shift: each place is asked for the token it reads."""
    read = tgt[:, :-1]
    asked = tgt[:, :-1]
    return read, asked


def single_2(tgt):
    """Takes eos out of what is read, in shorter rows too."""
    read = tgt[:, :-1].clone()
    read[read == 2] = 0
    return read, tgt[:, 1:]


def single_3(tgt):
    """Returns what is asked first, then what is read."""
    return tgt[:, 1:], tgt[:, :-1]


def single_4(tgt):
    """Writes -100 over the padding that is asked for."""
    read = tgt[:, :-1]
    asked = tgt[:, 1:].clone()
    asked[asked == 0] = -100
    return read, asked


def single_5(tgt):
    """Leaves what is read whole, cuts only bos off what is asked."""
    decoder_input = tgt
    labels = tgt[:, 1:]
    return decoder_input, labels


def double_1(tgt):
    """1. Clears eos from what is read; 2. rolls, so asked is not cut."""
    read = tgt[:, :-1]
    read = torch.where(read == 2, torch.zeros_like(read), read)
    asked = torch.roll(tgt, shifts=-1, dims=1)
    return read, asked


def double_2(tgt):
    """1. Shifts what is asked by two; 2. asks for eos in place of pad."""
    read = tgt[:, :-1]
    asked = torch.full_like(read, 2)
    asked[:, :-1] = tgt[:, 2:]
    asked[asked == 0] = 2
    return read, asked
