"""Configs of the encoders that read text (chapters 17 and 18)."""

from dataclasses import dataclass
from typing import Literal

from transformer_course.checks import Count, Positive, Probability, Size
from transformer_course.models.config import (
    Activation,
    AnyModelConfig,
    Layers,
    require_divisible,
    require_even_width,
)

Pooling = Literal["cls", "mean"]
"""What a text is classified by: its [CLS] vector, or the mean of all."""


@dataclass(frozen=True)
class BertConfig(AnyModelConfig):
    """BERT with what it is pre-trained by; the defaults are a small one.

    BERT-Base has 30,522 pieces, width 768, 12 heads, 12 layers and 512
    positions (Devlin et al. 2019, section 3). Chapter 18.

    Raises:
        ConfigError: as :class:`~.config.ModelConfig`.
    """

    vocab_size: Size = 8000
    """Number of pieces, the special ones included."""
    d_model: Size = 128
    """Width of the residual stream."""
    n_heads: Size = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: Size = 512
    """Width inside the feed-forward network."""
    n_layers: Layers = 4
    """Layers of the encoder."""
    max_length: Size = 128
    """Tokens per text, the special ones counted: longer ones are cut off."""
    n_segments: Size = 2
    """Texts in one sequence that segment embeddings distinguish."""
    pad_id: Count = 0
    """The id of padding."""
    dropout: Probability = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = True
    """Biases on the projections of attention."""
    norm_first: bool = False
    """Pre-norm in place of BERT's post-norm."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward network."""
    position: Literal["learned", "rotary"] = "learned"
    """Kind of positional encoding: learned, as in BERT, or rotary, which
    trains faster (chapter 18)."""
    norm_epsilon: Positive = 1e-12
    """Added to the variance in every layer norm."""
    next_sentence: bool = True
    """Pre-train on pairs of passages, and on whether the second follows; else
    on one longer passage, and its hidden words alone."""

    def __post_init__(self):
        super().__post_init__()
        require_divisible(self.d_model, self.n_heads)


@dataclass(frozen=True)
class TextClassifierConfig(BertConfig):
    """The same encoder under a classification layer (chapter 17)."""

    n_classes: Size = 2
    """Number of classes."""
    pooling: Pooling = "cls"
    """Classify by [CLS] after the pooler, as BERT does, or by the mean of all
    tokens."""


@dataclass(frozen=True)
class RecurrentClassifierConfig(AnyModelConfig):
    """The baseline: a bidirectional GRU (chapter 17)."""

    vocab_size: Size = 8000
    """Number of pieces, the special ones included."""
    d_model: Size = 128
    """Width of the embeddings."""
    d_hidden: Size = 256
    """Width of the states; each direction has half."""
    max_length: Size = 128
    """Tokens per text, the special ones counted: longer ones are cut off."""
    pad_id: Count = 0
    """The id of padding."""
    dropout: Probability = 0.3
    """Share of the embeddings and of what is read out dropped."""
    n_classes: Size = 2
    """Number of classes."""

    def __post_init__(self):
        super().__post_init__()
        require_even_width(self.d_hidden)
