import math

import torch
from torch import nn


class Right1(nn.Module):
    """Projects, scores, mixes."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        query = self.to_query(tgt)
        key = self.to_key(memory)
        value = self.to_value(memory)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        weights = scores.softmax(dim=-1)
        return weights @ value, weights


class Right2(nn.Module):
    """Sentence by sentence, with the projections' matrices."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        outputs, all_weights = [], []
        for t, m in zip(tgt, memory, strict=True):
            q = t @ self.to_query.weight.T
            k = m @ self.to_key.weight.T
            v = m @ self.to_value.weight.T
            scores = (q @ k.T) * k.shape[1] ** -0.5
            w = torch.softmax(scores, dim=1)
            outputs.append(w @ v)
            all_weights.append(w)
        return torch.stack(outputs), torch.stack(all_weights)


class Single1(nn.Module):
    """Lets the source ask: queries of memory, keys and values of tgt."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        q = self.to_query(memory)
        k = self.to_key(tgt)
        v = self.to_value(tgt)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights, v), weights


class Single2(nn.Module):
    """Hands over the keys: memory is keys and values in one."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        q = self.to_query(tgt)
        k = v = self.to_key(memory)
        scale = q.shape[-1] ** 0.5
        attn = ((q @ k.mT) / scale).softmax(-1)
        return attn @ v, attn


class Single3(nn.Module):
    """Divides by the root of d_model, the width of what comes in."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        d = tgt.size(-1)
        Q, K, V = (
            self.to_query(tgt),
            self.to_key(memory),
            self.to_value(memory),
        )
        scores = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(d)
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, V), weights


class Single4(nn.Module):
    """Hides later words, since a decoder must not look ahead."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        q, k = self.to_query(tgt), self.to_key(memory)
        scores = torch.einsum("btd,bsd->bts", q, k) / q.size(-1) ** 0.5
        t, s = scores.shape[1:]
        allowed = torch.ones(t, s, dtype=torch.bool, device=tgt.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ self.to_value(memory), weights


class Single5(nn.Module):
    """Attends within the target: keys and values of tgt as well."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        query, key, value = (
            self.to_query(tgt),
            self.to_key(tgt),
            self.to_value(tgt),
        )
        scores = query @ key.transpose(1, 2) / math.sqrt(key.shape[2])
        weights = nn.functional.softmax(scores, dim=2)
        return weights @ value, weights


class Double1(nn.Module):
    """1. No root at all; 2. the keys are handed over as values."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        q = self.to_query(tgt)
        memory_bank = self.to_key(memory)
        weights = torch.softmax(q @ memory_bank.transpose(1, 2), dim=-1)
        return weights @ memory_bank, weights


class Double2(nn.Module):
    """1. Softmax over the target; 2. adds the query as a residual."""

    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)

    def forward(self, tgt, memory):
        query = self.to_query(tgt)
        key = self.to_key(memory)
        value = self.to_value(memory)
        scores = torch.bmm(query, key.permute(0, 2, 1))
        weights = torch.softmax(scores / math.sqrt(key.size(-1)), dim=1)
        context = torch.bmm(weights, value)
        return query + context, weights
