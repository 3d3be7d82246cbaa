"""The baseline: a GRU encoder–decoder with additive attention.

Bahdanau et al. 2015, sections 3.1 and 3.2; chapter 01. Without attention it
is the encoder–decoder of Cho et al. 2014. It has the same ``encode`` and
``decode`` as the Transformer, so that the same training and the same search
serve both.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.models.attention import (
    AdditiveScore,
    masked_softmax,
    rows_per_source,
)
from transformer_course.models.bert_config import RecurrentClassifierConfig
from transformer_course.models.config import RecurrentConfig
from transformer_course.models.layers import check_ids
from transformer_course.models.masks import padding_mask


class RecurrentCache:
    """The decoder's state, and the memory's keys, projected once.

    Without attention there are no keys.
    """

    def __init__(self) -> None:
        self.state: Tensor | None = None  # (rows, d_hidden)
        self.key: Tensor | None = None  # (sources, source, d_hidden)
        self.length = 0

    def select(
        self,
        rows: Int[Tensor, " rows"],
        sources: Int[Tensor, " sources"] | None = None,
    ) -> None:
        """Keep these hypotheses, and these source sentences if named."""
        self.state = self.state.index_select(0, rows)
        if sources is not None and self.key is not None:
            self.key = self.key.index_select(0, sources)


class RecurrentTranslator(nn.Module):
    """A bidirectional GRU encoder and a GRU decoder with attention.

    At each step the state asks, the encoder's states answer, and their
    weighted sum, the context, goes into the next state and into the read-out.
    Without attention the context is the same at every step: the last state of
    each direction.

    Args:
        config: all that varies.
    """

    def __init__(self, config: RecurrentConfig):
        super().__init__()
        self.config = config
        width, hidden = config.d_model, config.d_hidden
        self.src_embedding = _embedding(config)
        self.tgt_embedding = _embedding(config)
        self.encoder = nn.GRU(
            width, hidden // 2, batch_first=True, bidirectional=True
        )
        self.first_state = nn.Linear(hidden // 2, hidden)
        if config.attention:
            self.score = AdditiveScore(hidden, hidden, hidden)
        self.cell = nn.GRUCell(width + hidden, hidden)
        self.read_out = nn.Linear(width + 2 * hidden, width)
        self.to_logits = nn.Linear(width, config.vocab_size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt_in: Int[Tensor, "rows target"],
    ) -> Float[Tensor, "rows target vocab"]:
        """Logits for the token after each token of ``tgt_in``.

        Raises:
            ConfigError: an id outside the vocabulary (on the CPU).
        """
        src_mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt_in, self.encode(src), src_mask)

    def encode(
        self, src: Int[Tensor, "batch source"]
    ) -> Float[Tensor, "batch source d_hidden"]:
        """The memory: the states of both directions, side by side.

        Padding is packed away: see :func:`read_both_ways`.
        """
        check_ids(src, self.config.vocab_size)
        x = self.dropout(self.src_embedding(src))
        return read_both_ways(self.encoder, x, src != self.config.pad_id)

    def decode(
        self,
        tgt_in: Int[Tensor, "rows target"],
        memory: Float[Tensor, "sources source d_hidden"],
        src_mask: Bool[Tensor, "sources 1 1 source"],
        cache: RecurrentCache | None = None,
    ) -> Float[Tensor, "rows _ vocab"]:
        """Logits from target ids and the memory, one step after another.

        Args:
            tgt_in: target ids; with a cache only those not yet in it, and no
                padding in front of a token to come, whose state would have
                read it.
            memory: from :meth:`encode`; successive rows of ``tgt_in`` may
                share one row of it.
            src_mask: ``padding_mask(src)``.
            cache: from :meth:`new_cache`; extended in place.
        """
        check_ids(tgt_in, self.config.vocab_size)
        cache = self.new_cache() if cache is None else cache
        if cache.state is None:
            self._start(cache, memory, tgt_in.size(0))
        embedded = self.dropout(self.tgt_embedding(tgt_in))
        mask = src_mask[:, 0]  # (sources, 1, source)
        steps = [
            self._step(x, memory, mask, cache) for x in embedded.unbind(dim=1)
        ]
        cache.length += len(steps)
        read = torch.stack(steps, dim=1)  # (rows, target, width + 2 hidden)
        return self.to_logits(self.dropout(self.read_out(read).tanh()))

    def new_cache(self) -> RecurrentCache:
        """An empty cache for :meth:`decode`."""
        return RecurrentCache()

    def _start(self, cache: RecurrentCache, memory: Tensor, rows: int):
        """First state from the backward direction's last, at word 0."""
        backward = memory[:, 0, self.config.d_hidden // 2 :]
        state = self.first_state(backward).tanh()
        beams = rows_per_source(rows, memory.size(0))
        cache.state = state.repeat_interleave(beams, dim=0)
        if self.config.attention:
            cache.key = self.score.of_key(memory)

    def _step(
        self, x: Tensor, memory: Tensor, mask: Tensor, cache: RecurrentCache
    ) -> Tensor:
        """One step: attend, update the state, return the read-out's input."""
        fetch = self._attend if self.config.attention else self._summary
        context = fetch(memory, mask, cache).reshape(x.size(0), -1)
        cache.state = self.cell(torch.cat([x, context], -1), cache.state)
        return torch.cat([x, context, cache.state], dim=-1)

    def _attend(
        self, memory: Tensor, mask: Tensor, cache: RecurrentCache
    ) -> Tensor:
        """A weighted sum of the memory for each row's state."""
        asking = cache.state.view(memory.size(0), -1, cache.state.size(-1))
        scores = self.score.score_projected(asking, cache.key)
        return masked_softmax(scores.float(), mask) @ memory.float()

    def _summary(
        self, memory: Tensor, mask: Tensor, cache: RecurrentCache
    ) -> Tensor:
        """Last state of each direction, the same at every step."""
        half = self.config.d_hidden // 2
        last = mask.sum(dim=-1, keepdim=True).clamp(min=1) - 1
        forward = memory.gather(1, last.expand(-1, -1, half))
        ends = torch.cat([forward, memory[:, :1, half:]], dim=-1)
        beams = cache.state.size(0) // memory.size(0)
        return ends.expand(-1, beams, -1)  # (sources, beams, d_hidden)


class RecurrentClassifier(nn.Module):
    """A bidirectional GRU with max pooling over its states.

    The maximum over all places, as a classifier of sentences by convolutions
    has it (Kim 2014, section 2): a sign of a class may stand anywhere.

    Args:
        config: all that varies.
    """

    def __init__(self, config: RecurrentClassifierConfig):
        super().__init__()
        self.config = config
        self.embedding = _embedding(config)
        self.encoder = nn.GRU(
            config.d_model,
            config.d_hidden // 2,
            batch_first=True,
            bidirectional=True,
        )
        self.to_logits = nn.Linear(config.d_hidden, config.n_classes)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch classes"]:
        """Logits of each class, for each text.

        Args:
            ids: padded on the right.

        Raises:
            ConfigError: an id outside the vocabulary (on the CPU).
        """
        check_ids(ids, self.config.vocab_size)
        real = ids != self.config.pad_id
        x = self.dropout(self.embedding(ids))
        states = read_both_ways(self.encoder, x, real)
        states = states.masked_fill(~real[:, :, None], -torch.inf)
        return self.to_logits(self.dropout(states.amax(dim=1)))


def read_both_ways(
    gru: nn.GRU,
    x: Float[Tensor, "batch length d_model"],
    real: Bool[Tensor, "batch length"],
) -> Float[Tensor, "batch length d_hidden"]:
    """The states of both directions, side by side.

    Padding is packed away, so that the backward direction starts at the
    text's own last word; its states are zeros. A row of nothing but padding
    is read as one padding token.

    Args:
        gru: two-way.
        x: the embeddings.
        real: where there is no padding.

    Raises:
        ConfigError: the batch is empty.
    """
    lengths = real.sum(dim=1).clamp(min=1)
    packed = nn.utils.rnn.pack_padded_sequence(
        x, lengths.cpu(), batch_first=True, enforce_sorted=False
    )
    states, _ = gru(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(
        states, batch_first=True, total_length=x.size(1)
    )
    return states


def _embedding(
    config: RecurrentConfig | RecurrentClassifierConfig,
) -> nn.Embedding:
    return nn.Embedding(
        config.vocab_size, config.d_model, padding_idx=config.pad_id
    )
