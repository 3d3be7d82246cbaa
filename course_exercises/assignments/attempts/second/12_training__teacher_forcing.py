import torch


def right_1(tgt):
    """Two slices: all but the last column, all but the first."""
    return tgt[:, :-1], tgt[:, 1:]


def right_2(tgt):
    """Collects the columns pair by pair."""
    columns = list(tgt.unbind(dim=1))
    read, asked = [], []
    for now, following in zip(columns, columns[1:]):
        read.append(now)
        asked.append(following)
    return torch.stack(read, dim=1), torch.stack(asked, dim=1)


def single_1(tgt):
    """The decoder must not read eos: makes padding of it in the input."""
    tgt_in = tgt[:, :-1].clone()
    tgt_in[tgt_in == 2] = 0
    return tgt_in, tgt[:, 1:]


def single_2(tgt):
    """Marks padding in the answers with -100, which PyTorch ignores."""
    labels = tgt[:, 1:].clone()
    labels = labels.masked_fill(labels == 0, -100)
    return tgt[:, :-1], labels


def single_3(tgt):
    """The answer is the token that is read at the same place."""
    tgt_in = tgt[:, :-1]
    tgt_out = tgt_in.clone()
    return tgt_in, tgt_out


def single_4(tgt):
    """The decoder reads the words without bos, and says them one earlier."""
    tgt_in = tgt[:, 1:]
    tgt_out = tgt[:, :-1]
    return tgt_in, tgt_out


def single_5(tgt):
    """Reads the whole target; answers are shifted and filled up with pad."""
    fill = torch.zeros_like(tgt[:, :1])
    shifted = torch.cat([tgt[:, 1:], fill], dim=1)
    return tgt, shifted


def double_1(tgt):
    """1. No eos in what is read; 2. no eos in what is asked."""
    without_eos = torch.where(tgt == 2, torch.zeros_like(tgt), tgt)
    read = without_eos[:, :-1]
    asked = without_eos[:, 1:]
    return read, asked


def double_2(tgt):
    """1. Asks for the token after the next; 2. padding becomes -100."""
    after_next = tgt[:, 2:]
    fill = torch.zeros_like(tgt[:, :1])
    tgt_out = torch.cat((after_next, fill), dim=1)
    tgt_out = torch.where(
        tgt_out == 0, torch.full_like(tgt_out, -100), tgt_out
    )
    return tgt[:, :-1], tgt_out
