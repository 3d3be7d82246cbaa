import math

import torch
from torch import nn


class _Base(nn.Module):
    def __init__(self, d_model, d_head):
        super().__init__()
        self.to_query = nn.Linear(d_model, d_head, bias=False)
        self.to_key = nn.Linear(d_model, d_head, bias=False)
        self.to_value = nn.Linear(d_model, d_head, bias=False)


class Right1(_Base):
    """Projects, then the formula with a transpose and a softmax."""

    def forward(self, tgt, memory):
        q = self.to_query(tgt)
        k = self.to_key(memory)
        v = self.to_value(memory)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.size(-1))
        weights = torch.softmax(scores, dim=-1)
        return weights @ v, weights


class Right2(_Base):
    """Goes sentence by sentence and word by word."""

    def forward(self, tgt, memory):
        outputs, all_weights = [], []
        for target, source in zip(tgt, memory, strict=True):
            keys = self.to_key(source)
            values = self.to_value(source)
            rows, weights = [], []
            for word in target:
                query = self.to_query(word)
                scores = keys @ query / len(query) ** 0.5
                share = torch.softmax(scores, dim=0)
                weights.append(share)
                rows.append(share @ values)
            outputs.append(torch.stack(rows))
            all_weights.append(torch.stack(weights))
        return torch.stack(outputs), torch.stack(all_weights)


class Single1(_Base):
    """Divides by the root of d_model, the width that comes in."""

    def forward(self, tgt, memory):
        d_model = tgt.size(-1)
        query, key = self.to_query(tgt), self.to_key(memory)
        scores = torch.bmm(query, key.transpose(1, 2)) / d_model**0.5
        weights = scores.softmax(dim=-1)
        return torch.bmm(weights, self.to_value(memory)), weights


class Single2(_Base):
    """Takes the softmax over the words of the target."""

    def forward(self, tgt, memory):
        q, k = self.to_query(tgt), self.to_key(memory)
        v = self.to_value(memory)
        scores = torch.einsum("btd,bsd->bts", q, k) / math.sqrt(k.size(-1))
        weights = torch.softmax(scores, dim=1)
        return torch.einsum("bts,bsd->btd", weights, v), weights


class Single3(_Base):
    """Hands over the keys: holds keys and values for the same."""

    def forward(self, tgt, memory):
        query = self.to_query(tgt)
        key = value = self.to_key(memory)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights


class Single4(_Base):
    """Lets the source ask: queries of the memory, the rest of the target."""

    def forward(self, tgt, memory):
        Q = self.to_query(memory)
        K = self.to_key(tgt)
        V = self.to_value(tgt)
        d_k = Q.size(-1)
        A = torch.softmax(Q @ K.transpose(1, 2) / math.sqrt(d_k), dim=-1)
        return A @ V, A


class Single5(_Base):
    """Hides later words of the source, as a decoder is causal."""

    def forward(self, tgt, memory):
        q = self.to_query(tgt)
        k = self.to_key(memory)
        v = self.to_value(memory)
        scores = q @ k.transpose(1, 2) / math.sqrt(q.size(-1))
        seen = torch.ones_like(scores, dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ v, weights


class Double1(_Base):
    """1. Divides by nothing; 2. takes the softmax over the target's words."""

    def forward(self, tgt, memory):
        scores = self.to_query(tgt) @ self.to_key(memory).transpose(1, 2)
        attn = torch.softmax(scores, dim=1)
        return attn @ self.to_value(memory), attn


class Double2(_Base):
    """1. Divides by d_head, not its root; 2. hands the scores back."""

    def forward(self, tgt, memory):
        q, k = self.to_query(tgt), self.to_key(memory)
        scores = torch.matmul(q, k.mT) / q.shape[-1]
        output = torch.softmax(scores, dim=-1) @ self.to_value(memory)
        return output, scores
