import torch


def right_1(x, table, offset=0):
    """Slices the table from the offset on and broadcasts over the batch."""
    length = x.shape[1]
    return x + table[offset : offset + length]


def right_2(x, table, offset=0):
    """Looks the rows up by their place numbers."""
    batch, length, d_model = x.shape
    places = torch.arange(length, device=x.device) + offset
    rows = torch.index_select(table, 0, places)
    return x + rows.unsqueeze(0).expand(batch, length, d_model)


def single_1(x, table, offset=0):
    """Begins at row 0 always; thinks the caller cuts the table himself."""
    seq_len = x.size(1)
    return x + table[:seq_len, :].unsqueeze(0)


def single_2(x, table, offset=0):
    """Multiplies the words by the root of d_model once more."""
    d_model = x.size(-1)
    x = x * d_model**0.5
    return x + table[offset : offset + x.size(1)]


def single_3(x, table, offset=0):
    """Takes every table for a constant: no gradient goes to its rows."""
    pe = table[offset : offset + x.size(1)]
    return x + pe.detach()


def single_4(x, table, offset=0):
    """Has the length as the first axis, as the PyTorch tutorial has it."""
    pe = table.unsqueeze(1)
    return x + pe[offset : offset + x.size(0)]


def single_5(x, table, offset=0):
    """Adds the row of the offset to every word of the sentence."""
    position = table[offset]
    return x + position[None, None, :]


def double_1(x, table, offset=0):
    """1. Scales by the root of d_model again; 2. counts along the batch."""
    scale = x.shape[2] ** 0.5
    rows = table[offset : offset + x.shape[0]]
    return x * scale + rows[:, None, :]


def double_2(x, table, offset=0):
    """1. Multiplies words by positions; 2. begins at row 0 always."""
    out = []
    for sentence in x:
        words = [word * table[p] for p, word in enumerate(sentence)]
        out.append(torch.stack(words))
    return torch.stack(out)
