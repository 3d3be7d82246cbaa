import torch


def right_1(query, key, U_q, U_k, v):
    """Broadcasts (batch, query, 1, hidden) against (batch, 1, key, hidden)."""
    q = (query @ U_q).unsqueeze(2)
    k = (key @ U_k).unsqueeze(1)
    return torch.tanh(q + k) @ v


def right_2(query, key, U_q, U_k, v):
    """One query after the other."""
    projected_keys = torch.einsum("bkd,dh->bkh", key, U_k)
    columns = []
    for i in range(query.shape[1]):
        q = query[:, i] @ U_q
        hidden = torch.tanh(q[:, None, :] + projected_keys)
        columns.append((hidden * v).sum(dim=-1))
    return torch.stack(columns, dim=1)


def single_1(query, key, U_q, U_k, v):
    """Takes a tanh of each projection and adds up afterwards."""
    hq = torch.tanh(query @ U_q)
    hk = torch.tanh(key @ U_k)
    hidden = hq[:, :, None, :] + hk[:, None, :, :]
    return torch.einsum("bqkh,h->bqk", hidden, v)


def single_2(query, key, U_q, U_k, v):
    """Divides by the root of the hidden width, as for dot products."""
    hidden = torch.tanh((query @ U_q)[:, :, None] + (key @ U_k)[:, None])
    scores = hidden @ v
    return scores / v.numel() ** 0.5


def single_3(query, key, U_q, U_k, v):
    """Reads off the sum itself; the tanh, he thinks, is only for training."""
    from_query = (query @ U_q) @ v
    from_key = (key @ U_k) @ v
    return from_query.unsqueeze(-1) + from_key.unsqueeze(-2)


def single_4(query, key, U_q, U_k, v):
    """Goes on to the weights: a softmax over the keys, as Bahdanau's alpha."""
    q = torch.matmul(query, U_q).unsqueeze(-2)
    k = torch.matmul(key, U_k).unsqueeze(-3)
    energy = torch.matmul(torch.tanh(q + k), v)
    return torch.softmax(energy, dim=-1)


def single_5(query, key, U_q, U_k, v):
    """Reads the number off first and takes the tanh of it."""
    hidden = (query @ U_q)[:, :, None, :] + (key @ U_k)[:, None, :, :]
    return torch.tanh((hidden * v).sum(-1))


def double_1(query, key, U_q, U_k, v):
    """1. Multiplies the projections; 2. divides by the root of the width."""
    d_hidden = U_q.shape[1]
    q = torch.einsum("bqd,dh->bqh", query, U_q)
    k = torch.einsum("bkd,dh->bkh", key, U_k)
    hidden = torch.tanh(torch.einsum("bqh,bkh->bqkh", q, k))
    return hidden @ v / d_hidden**0.5


def double_2(query, key, U_q, U_k, v):
    """1. A sigmoid for the tanh; 2. averages over the hidden units."""
    q = query @ U_q
    k = key @ U_k
    hidden = torch.sigmoid(q[:, :, None, :] + k[:, None, :, :])
    return (hidden * v).mean(dim=-1)
