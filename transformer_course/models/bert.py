"""Encoders of text: BERT, its pre-training, classifiers (ch. 17 and 18).

The layers are those of the translator's encoder. What is new stands before
and behind them: words, places and segments are added and normalised, and a
*head* reads all tokens (masked words) or the first one alone (classes).
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.bert_config import (
    BertConfig,
    TextClassifierConfig,
)
from transformer_course.models.layers import (
    HiddenStates,
    LayerNorm,
    check_ids,
)
from transformer_course.models.masks import padding_mask
from transformer_course.models.transformer import Encoder

Ids = Int[Tensor, "batch length"]
FIRST_STD = 0.02
"""Standard deviation of first embeddings (BERT's code)."""


class BertEmbeddings(nn.Module):
    """Word + place + segment, normalised (Devlin et al. 2019, figure 2).

    Unlike the paper of 2017 there is no factor √d_model: all three start
    equally small, and the norm brings their sum to size. Rotary positions,
    which turn queries and keys instead, have no place here.

    Args:
        config: all that varies.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        width = config.d_model
        self.words = nn.Embedding(
            config.vocab_size, width, padding_idx=config.pad_id
        )
        self.segments = nn.Embedding(config.n_segments, width)
        tables = [self.words, self.segments]
        if config.position == "learned":
            self.places = nn.Embedding(config.max_length, width)
            tables.append(self.places)
        self.norm = LayerNorm(width, config.norm_epsilon)
        self.dropout = nn.Dropout(config.dropout)
        for table in tables:
            nn.init.normal_(table.weight, std=FIRST_STD)
        with torch.no_grad():
            self.words.weight[config.pad_id].zero_()

    def forward(self, ids: Ids, segments: Ids | None = None) -> HiddenStates:
        """One vector for each token.

        Args:
            ids: of the tokens.
            segments: the number of each token's text; all 0 when None.

        Raises:
            ConfigError: an id or a segment out of range, or more tokens than
                there are places for.
        """
        check_ids(ids, self.config.vocab_size)
        length, most = ids.size(1), self.config.max_length
        if length > most:
            raise ConfigError(
                f"the text is {length} tokens long, but there are places for "
                f"{most}: shorten it, or train with a larger max_length."
            )
        if segments is None:
            segments = torch.zeros_like(ids)
        x = self.words(ids) + self.segments(segments)
        if self.config.position == "learned":
            x = x + self.places.weight[:length]
        return self.dropout(self.norm(x))


class Bert(nn.Module):
    """The body: embeddings and the encoder (Devlin et al. 2019, section 3).

    Args:
        config: all that varies.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        self.encoder = Encoder(config)
        for part in self.encoder.modules():
            if isinstance(part, LayerNorm):
                part.epsilon = config.norm_epsilon

    def forward(self, ids: Ids, segments: Ids | None = None) -> HiddenStates:
        """Encode each token; padding is masked.

        Args:
            ids: padded on the right.
            segments: the number of each token's text; all 0 when None.

        Raises:
            ConfigError: see :class:`BertEmbeddings`.
        """
        mask = padding_mask(ids, self.config.pad_id)
        return self.encoder(self.embeddings(ids, segments), mask)


def mean_of_tokens(
    x: HiddenStates, ids: Ids, pad_id: int = 0
) -> Float[Tensor, "batch d_model"]:
    """The mean of each row's vectors, [CLS] and [SEP] counted, padding not.

    Reimers and Gurevych 2019, section 3 ("MEAN").

    Args:
        x: what an encoder made of each token.
        ids: of the tokens; each row has one that is no padding.
        pad_id: what fills up a batch.
    """
    real = padding_mask(ids, pad_id)[:, 0, 0, :, None]  # (batch, length, 1)
    return (x * real).sum(dim=1) / real.sum(dim=1)


class Pooler(nn.Module):
    """tanh(W h + b) of the first token alone: BERT's "pooled output".

    Args:
        d_model: width of the stream.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.project = nn.Linear(d_model, d_model)

    def forward(self, x: HiddenStates) -> Float[Tensor, "batch d_model"]:
        """One vector for each row."""
        return torch.tanh(self.project(x[:, 0]))


class MaskedWordHead(nn.Module):
    """From the stream to logits over words, through the words' own vectors.

    A linear map, GELU and a norm; then the score of each word is the product
    with its embedding, plus a bias (Devlin et al. 2019, section 3.1, task 1,
    and its code).

    Args:
        config: of the body.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.project = nn.Linear(config.d_model, config.d_model)
        self.norm = LayerNorm(config.d_model, config.norm_epsilon)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self,
        x: Float[Tensor, "*tokens d_model"],
        words: Float[Tensor, "vocab d_model"],
    ) -> Float[Tensor, "*tokens vocab"]:
        """Logits of each word.

        Args:
            x: what the encoder made of some tokens.
            words: the embedding's matrix.
        """
        x = self.norm(F.gelu(self.project(x)))
        return F.linear(x, words, self.bias)


class BertPreTraining(nn.Module):
    """BERT with both heads that it is pre-trained by (section 3.1).

    Args:
        config: all that varies.
    """

    def __init__(self, config: BertConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        self.masked_words = MaskedWordHead(config)
        self.pooler = Pooler(config.d_model)
        self.to_next = nn.Linear(config.d_model, 2)
        _draw_heads(self)
        if not config.next_sentence:  # no loss reaches these
            self.pooler.requires_grad_(False)
            self.to_next.requires_grad_(False)

    def forward(
        self,
        ids: Ids,
        segments: Ids | None = None,
        chosen: Bool[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "*tokens vocab"], Float[Tensor, "batch 2"]]:
        """Logits over words, and logits of "no" and "yes, B follows A".

        Args:
            ids: [CLS] A [SEP], or [CLS] A [SEP] B [SEP], padded.
            segments: 0 for A, 1 for B; all 0 when None.
            chosen: the tokens whose words are asked for. Logits are made
                for these alone, row by row; for every token when None.

        Raises:
            ConfigError: see :class:`BertEmbeddings`.
        """
        x = self.bert(ids, segments)
        asked = x if chosen is None else x[chosen]  # (tokens, d_model)
        logits = self.masked_words(asked, self.bert.embeddings.words.weight)
        return logits, self.to_next(self.pooler(x))


class TextClassifier(nn.Module):
    """BERT's body, one vector of a text, and a linear map to classes.

    The vector is BERT's pooled output (Devlin et al. 2019, section 4.1: what
    fine-tuning adds is the last map) or, with ``pooling="mean"``, the mean of
    all tokens, as in a model of sentences.

    Args:
        config: all that varies.
    """

    def __init__(self, config: TextClassifierConfig):
        super().__init__()
        self.config = config
        self.bert = Bert(config)
        if config.pooling == "cls":
            self.pooler = Pooler(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.to_logits = nn.Linear(config.d_model, config.n_classes)
        _draw_heads(self)

    def forward(
        self, ids: Ids, segments: Ids | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Logits of each class, for each text.

        Args:
            ids: [CLS] text [SEP], padded.
            segments: all 0 when None.

        Raises:
            ConfigError: see :class:`BertEmbeddings`.
        """
        x = self.bert(ids, segments)
        if self.config.pooling == "mean":
            x = mean_of_tokens(x, ids, self.config.pad_id)
        else:
            x = self.pooler(x)
        return self.to_logits(self.dropout(x))


def _draw_heads(model: nn.Module) -> None:
    """First weights: Glorot's in the layers, BERT's N(0, 0.02²) in heads."""
    for name, part in model.named_modules():
        if not isinstance(part, nn.Linear):
            continue
        if name.startswith("bert."):
            nn.init.xavier_uniform_(part.weight)
        else:
            nn.init.normal_(part.weight, std=FIRST_STD)
        if part.bias is not None:
            nn.init.zeros_(part.bias)
