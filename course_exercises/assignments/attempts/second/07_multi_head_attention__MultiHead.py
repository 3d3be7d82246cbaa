import math

import torch
from torch import nn

from transformer_course.models.attention import scaled_dot_product_attention


def split(x, n_heads):
    """(batch, length, d_model) to (batch, heads, length, d_head)."""
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, n_heads, d_model // n_heads)
    return x.transpose(1, 2)


def merge(x):
    """The way back."""
    return x.transpose(1, 2).flatten(2)


class Right1(nn.Module):
    """Splits, attends with the course's function, merges."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(memory), self.n_heads)
        v = split(self.to_value(memory), self.n_heads)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(merge(out))


class Right2(nn.Module):
    """Head after head, each on its section of the columns."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        source = query if memory is None else memory
        Q, K, V = (
            self.to_query(query),
            self.to_key(source),
            self.to_value(source),
        )
        d_head = query.shape[-1] // self.n_heads
        answers = []
        for h in range(self.n_heads):
            part = slice(h * d_head, (h + 1) * d_head)
            scores = Q[..., part] @ K[..., part].transpose(1, 2)
            scores = scores / math.sqrt(d_head)
            if mask is not None:
                own = mask[:, h] if mask.shape[1] > 1 else mask[:, 0]
                scores = scores.masked_fill(~own, float("-inf"))
            answers.append(scores.softmax(dim=-1) @ V[..., part])
        return self.to_output(torch.cat(answers, dim=-1))


class Single1(nn.Module):
    """Divides by the root of d_model, not of one head's width."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(memory), self.n_heads)
        v = split(self.to_value(memory), self.n_heads)
        scores = q @ k.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.to_output(merge(scores.softmax(dim=-1) @ v))


class Single2(nn.Module):
    """Ends with the heads side by side, without the output matrix."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q, k, v = (
            split(linear(rows), self.n_heads)
            for linear, rows in (
                (self.to_query, query),
                (self.to_key, memory),
                (self.to_value, memory),
            )
        )
        heads, _ = scaled_dot_product_attention(q, k, v, mask)
        return merge(heads)


class Single3(nn.Module):
    """Reshapes into heads and back without swapping any axes."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        batch, length, d_model = query.shape
        d_head = d_model // self.n_heads
        q = self.to_query(query).reshape(batch, self.n_heads, -1, d_head)
        k = self.to_key(memory).reshape(batch, self.n_heads, -1, d_head)
        v = self.to_value(memory).reshape(batch, self.n_heads, -1, d_head)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(out.reshape(batch, length, d_model))


class Single4(nn.Module):
    """Takes True in the mask for 'hide it'."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        src = query if memory is None else memory
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(src), self.n_heads)
        v = split(self.to_value(src), self.n_heads)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = torch.einsum("bhqk,bhkd->bhqd", weights, v)
        return self.to_output(merge(out))


class Single5(nn.Module):
    """Masks the weights after the softmax, and not the scores."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(memory), self.n_heads)
        v = split(self.to_value(memory), self.n_heads)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        attention = torch.softmax(scores, dim=-1)
        if mask is not None:
            attention = attention.masked_fill(~mask, 0.0)
        context = torch.matmul(attention, v)
        return self.to_output(merge(context))


class Double1(nn.Module):
    """1. The scores are not scaled; 2. merges without a swap."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(memory), self.n_heads)
        v = split(self.to_value(memory), self.n_heads)
        scores = q @ k.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        return self.to_output(out.reshape(query.shape))


class Double2(nn.Module):
    """1. Values come from the key matrix; 2. the query is added."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = split(self.to_query(query), self.n_heads)
        k = split(self.to_key(memory), self.n_heads)
        out, _ = scaled_dot_product_attention(q, k, k, mask)
        return query + self.to_output(merge(out))
