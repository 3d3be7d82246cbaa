"""What varies between encoders that read text: frozen dataclasses."""

from dataclasses import dataclass
from typing import Literal

from transformer_course.checks import require, require_positive, require_share
from transformer_course.models.config import (
    Activation,
    AnyModelConfig,
    Position,
    require_stack,
)

Pooling = Literal["cls", "mean"]
"""What of a text's vectors tells its class: that of [CLS], or their mean."""


@dataclass(frozen=True)
class BertConfig(AnyModelConfig):
    """BERT with what it is pre-trained by; the defaults are a small one.

    BERT-Base has 30,522 pieces, width 768, 12 heads, 12 layers and 512
    positions (Devlin et al. 2019, section 3). Chapter 18.

    Raises:
        ConfigError: a size is not positive, a share is not in [0, 1),
            ``n_heads`` does not divide ``d_model``, or the positions are
            neither learned nor rotary.
    """

    vocab_size: int = 8000
    """Number of pieces, the special ones included."""
    d_model: int = 128
    """Width of the stream that layers read and add to."""
    n_heads: int = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: int = 512
    """Width inside the feed-forward part."""
    n_layers: int = 4
    """Layers of the encoder."""
    max_length: int = 128
    """Tokens per text, the special ones counted: longer ones are cut off."""
    n_segments: int = 2
    """Texts in one sequence that segment vectors tell apart."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = True
    """Biases on the projections of attention."""
    norm_first: bool = False
    """Pre-norm in place of BERT's post-norm."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward part."""
    position: Position = "learned"
    """How a token's place is told to the model: learned, as in BERT, or
    rotary, which is learned from sooner (chapter 18)."""
    norm_epsilon: float = 1e-12
    """Added to the variance in every layer norm."""
    next_sentence: bool = True
    """Pre-train on pairs of passages, and on whether the second follows; else
    on one longer passage, and its hidden words alone."""

    def __post_init__(self):
        require_stack(self)
        require_positive(self, "vocab_size", "max_length", "n_segments")
        require(
            self.position in ("learned", "rotary"),
            f"position is {self.position!r}, but a token's place is learned "
            "here, as in BERT, or turned: choose learned, or rotary.",
        )
        require(
            self.norm_epsilon > 0,
            f"norm_epsilon is {self.norm_epsilon}: it must be above 0.",
        )


@dataclass(frozen=True)
class TextClassifierConfig(BertConfig):
    """The same encoder under a map to classes (chapter 17).

    Raises:
        ConfigError: as :class:`BertConfig`, or there is no class.
    """

    n_classes: int = 2
    """What a text may be."""
    pooling: Pooling = "cls"
    """The pooler reads [CLS], as in BERT, or the mean of all tokens."""

    def __post_init__(self):
        super().__post_init__()
        require_positive(self, "n_classes")


@dataclass(frozen=True)
class RecurrentClassifierConfig(AnyModelConfig):
    """The baseline: a GRU that reads both ways (chapter 17).

    Raises:
        ConfigError: a size is not positive, ``d_hidden`` is odd, or a share
            is not in [0, 1).
    """

    vocab_size: int = 8000
    """Number of pieces, the special ones included."""
    d_model: int = 128
    """Width of the embeddings."""
    d_hidden: int = 256
    """Width of the states; each direction has half."""
    max_length: int = 128
    """Tokens per text, the special ones counted: longer ones are cut off."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.3
    """Share of the embeddings and of what is read out dropped."""
    n_classes: int = 2
    """What a text may be."""

    def __post_init__(self):
        require_positive(
            self, "vocab_size", "d_model", "d_hidden", "max_length"
        )
        require_positive(self, "n_classes")
        require_share(self, "dropout")
        require(
            self.d_hidden % 2 == 0,
            f"d_hidden is {self.d_hidden}, but two directions share it: "
            "choose an even number.",
        )
