"""Settings of the models: frozen dataclasses, checked when they are made.

The command line is made from these classes: ``--model.d-model 128`` sets
``ModelConfig.d_model``. What a task makes of them is checked by the task.
"""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from transformer_course.checks import (
    require,
    require_between,
    require_positive,
    require_share,
)

Position = Literal["sinusoidal", "learned", "rotary", "none"]
Activation = Literal["relu", "gelu"]
MOST_LAYERS = 1000
"""Of a stack: the deepest ones ever trained had as many."""


@dataclass(frozen=True)
class AnyModelConfig:
    """What every model is made from: the class of its config names its kind.

    Plain values alone. The package's table of models
    (``checkpoint.KINDS``) says which class is built from which config.
    """


@runtime_checkable
class StackConfig(Protocol):
    """What a stack of layers asks of a config, whatever it reads."""

    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    dropout: float
    bias: bool
    norm_first: bool
    activation: Activation
    position: Position


def require_stack(config: StackConfig) -> None:
    """Raise a ConfigError unless layers can be made from these settings."""
    require_positive(config, "d_model", "n_heads", "d_ff", "n_layers")
    require_between("n_layers", config.n_layers, 1, MOST_LAYERS)
    require_share(config, "dropout")
    require(
        config.d_model % config.n_heads == 0,
        f"d_model {config.d_model} cannot be split over {config.n_heads} "
        "heads: choose a number of heads that divides it.",
    )


@dataclass(frozen=True)
class ModelConfig(AnyModelConfig):
    """A Transformer; the defaults are the course's translation model.

    Raises:
        ConfigError: a size is not positive, a share is not in [0, 1), or
            ``n_heads`` does not divide ``d_model``.
    """

    vocab_size: int = 6000
    """Number of pieces, the special ones included."""
    d_model: int = 256
    """Width of the stream that layers read and add to."""
    n_heads: int = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: int = 1024
    """Width inside the feed-forward part."""
    n_layers: int = 3
    """Layers of each stack."""
    max_length: int = 128
    """Tokens per sequence, in training and in use: longer ones are cut off."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = False
    """Biases on the projections of attention; the paper has none."""
    norm_first: bool = False
    """Pre-norm in place of the paper's post-norm."""
    activation: Activation = "relu"
    """Non-linearity of the feed-forward part."""
    position: Position = "sinusoidal"
    """How a token's place is told to the model."""
    tied: bool = True
    """One matrix for all embeddings and the output, as in the paper."""

    def __post_init__(self):
        require_positive(self, "vocab_size", "max_length")
        require_stack(self)


@dataclass(frozen=True)
class LanguageModelConfig(ModelConfig):
    """A decoder-only Transformer: one stack, no cross-attention."""


@dataclass(frozen=True)
class RecurrentConfig(AnyModelConfig):
    """The baseline: a GRU encoder–decoder with additive attention."""

    vocab_size: int = 6000
    """Number of pieces, the special ones included."""
    d_model: int = 256
    """Width of the embeddings."""
    d_hidden: int = 512
    """Width of the decoder's state; each direction of the encoder has half."""
    max_length: int = 128
    """Tokens per sequence kept from the data."""
    pad_id: int = 0
    """The id that fills up a batch."""
    dropout: float = 0.3
    """Share of embeddings and read-outs dropped."""
    attention: bool = True
    """Look back at each step; else read one summary of the source only."""

    def __post_init__(self):
        require_positive(
            self, "vocab_size", "d_model", "d_hidden", "max_length"
        )
        require_share(self, "dropout")
        require(
            self.d_hidden % 2 == 0,
            f"d_hidden is {self.d_hidden}, but the encoder's two directions "
            "share it: choose an even number.",
        )
