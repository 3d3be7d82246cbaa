import math

import torch
from torch import nn
from transformer_course.models.attention import scaled_dot_product_attention


def _split(x, n_heads):
    batch, length, d_model = x.shape
    x = x.reshape(batch, length, n_heads, d_model // n_heads)
    return x.transpose(1, 2)


def _merge(x):
    return x.transpose(1, 2).flatten(2)


class _Base(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=False)
        self.to_key = nn.Linear(d_model, d_model, bias=False)
        self.to_value = nn.Linear(d_model, d_model, bias=False)
        self.to_output = nn.Linear(d_model, d_model, bias=False)


class Right1(_Base):
    """Splits, calls chapter 04's attention, merges and mixes."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = _split(self.to_query(query), self.n_heads)
        k = _split(self.to_key(memory), self.n_heads)
        v = _split(self.to_value(memory), self.n_heads)
        output, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_output(_merge(output))


class Right2(_Base):
    """Goes through the heads in a loop, each with its slice of columns."""

    def forward(self, query, memory=None, mask=None):
        memory = query if memory is None else memory
        q, k = self.to_query(query), self.to_key(memory)
        v = self.to_value(memory)
        batch, n_query, d_model = q.shape
        d_head = d_model // self.n_heads
        if mask is not None:
            size = (batch, self.n_heads, n_query, k.size(1))
            mask = mask.expand(size)
        answers = []
        for h in range(self.n_heads):
            part = slice(h * d_head, (h + 1) * d_head)
            scores = q[..., part] @ k[..., part].mT / d_head**0.5
            if mask is not None:
                scores = scores.masked_fill(~mask[:, h], float("-inf"))
            answers.append(torch.softmax(scores, dim=-1) @ v[..., part])
        return self.to_output(torch.cat(answers, dim=-1))


class Single1(_Base):
    """Divides the scores by the root of d_model."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        d_model = query.size(-1)
        q = _split(self.to_query(query), self.n_heads)
        k = _split(self.to_key(memory), self.n_heads)
        v = _split(self.to_value(memory), self.n_heads)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d_model)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return self.to_output(_merge(weights @ v))


class Single2(_Base):
    """Splits by a view alone, without a swap of heads and length."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        b, _, d = query.shape
        h = self.n_heads
        q = self.to_query(query).view(b, h, -1, d // h)
        k = self.to_key(memory).view(b, h, -1, d // h)
        v = self.to_value(memory).view(b, h, -1, d // h)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(1, 2).contiguous().view(b, -1, d)
        return self.to_output(out)


class Single3(_Base):
    """Stops when the heads are side by side, without the output matrix."""

    def forward(self, query, memory=None, mask=None):
        source = query if memory is None else memory
        heads, _ = scaled_dot_product_attention(
            _split(self.to_query(query), self.n_heads),
            _split(self.to_key(source), self.n_heads),
            _split(self.to_value(source), self.n_heads),
            mask,
        )
        return _merge(heads)


class Single4(_Base):
    """Hides where the mask is True, as nn.MultiheadAttention does."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = _split(self.to_query(query), self.n_heads)
        k = _split(self.to_key(memory), self.n_heads)
        v = _split(self.to_value(memory), self.n_heads)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = scores / math.sqrt(q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        out = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)
        return self.to_output(_merge(out))


class Single5(_Base):
    """Deals the columns out in turn to the heads, and back so."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        n = self.n_heads

        def deal(x):
            return torch.stack([x[..., h::n] for h in range(n)], dim=1)

        q = deal(self.to_query(query))
        k = deal(self.to_key(memory))
        v = deal(self.to_value(memory))
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        out = out.permute(0, 2, 3, 1).flatten(2)
        return self.to_output(out)


class Double1(_Base):
    """1. Does not divide the scores; 2. merges without a swap of axes."""

    def forward(self, query, memory=None, mask=None):
        if memory is None:
            memory = query
        q = _split(self.to_query(query), self.n_heads)
        k = _split(self.to_key(memory), self.n_heads)
        v = _split(self.to_value(memory), self.n_heads)
        scores = q @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        out = torch.softmax(scores, dim=-1) @ v
        return self.to_output(out.reshape(query.shape))


class Double2(_Base):
    """1. Hands over the keys as values; 2. adds the input to the output."""

    def forward(self, query, memory=None, mask=None):
        context = query if memory is None else memory
        q = _split(self.to_query(query), self.n_heads)
        k = _split(self.to_key(context), self.n_heads)
        out, _ = scaled_dot_product_attention(q, k, k, mask)
        return query + self.to_output(_merge(out))
