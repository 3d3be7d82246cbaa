"""Configs of the models: frozen dataclasses that check their values.

The command line is made from these classes: ``--model.d-model 128`` sets
``ModelConfig.d_model``.
"""

from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    runtime_checkable,
)

from transformer_course.checks import (
    Config,
    Count,
    Probability,
    Size,
    between,
    require,
)

Position = Literal["sinusoidal", "learned", "rotary", "none"]
Activation = Literal["relu", "gelu"]
RopeScaling = Literal["none", "linear", "ntk", "yarn"]
"""How rotary positions are made to reach beyond the trained length."""
Layers = Annotated[int, between(1, 1000)]
"""Depths of a stack; the deepest ones ever trained had 1,000 layers."""


@dataclass(frozen=True)
class AnyModelConfig(Config):
    """Base class of all model configs.

    A config's class decides which model is built from it: see
    ``kinds.MODEL_KINDS``.
    """

    if TYPE_CHECKING:  # dataclasses.replace: the fields are the subclass's

        def __replace__(self, **changes: Any) -> Self: ...


@runtime_checkable
class StackConfig(Protocol):
    """The config fields that encoder and decoder stacks use."""

    d_model: Size
    n_heads: Size
    d_ff: Size
    n_layers: Layers
    dropout: Probability
    bias: bool
    norm_first: bool
    activation: Activation
    position: Position


def require_divisible(d_model: int, n_heads: int) -> None:
    """Raise a ConfigError unless ``n_heads`` divides ``d_model``."""
    require(
        d_model % n_heads == 0,
        f"d_model {d_model} cannot be split over {n_heads} heads: choose a "
        "number of heads that divides it.",
    )


@dataclass(frozen=True)
class SizesConfig(AnyModelConfig):
    """The sizes of a Transformer; the defaults are those of the course's.

    Raises:
        ConfigError: as :class:`~.checks.Config`, or ``n_heads`` does not
            divide ``d_model``.
    """

    vocab_size: Size = 6000
    """Number of pieces, the special ones included."""
    d_model: Size = 256
    """Width of the residual stream."""
    n_heads: Size = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: Size = 1024
    """Width inside the feed-forward network."""
    n_layers: Layers = 3
    """Layers of each stack."""
    max_length: Size = 128
    """Tokens per sequence, in training and in use: longer ones are cut off."""

    def __post_init__(self):
        super().__post_init__()
        require_divisible(self.d_model, self.n_heads)


@dataclass(frozen=True)
class ModelConfig(SizesConfig):
    """A Transformer; the defaults are the course's translation model."""

    pad_id: Count = 0
    """The id of padding."""
    dropout: Probability = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = False
    """Biases on the projections of attention; the paper has none."""
    norm_first: bool = False
    """Pre-norm in place of the paper's post-norm."""
    activation: Activation = "relu"
    """Non-linearity of the feed-forward network."""
    position: Position = "sinusoidal"
    """Kind of positional encoding."""
    tied: bool = True
    """One matrix for all embeddings and the output, as in the paper."""


@dataclass(frozen=True)
class LanguageModelConfig(ModelConfig):
    """A decoder-only Transformer: one stack, no cross-attention."""


@dataclass(frozen=True)
class CustomConfig(SizesConfig):
    """A Transformer from the user's own file (:mod:`~.models.custom`)."""

    code: str = ""
    """The text of the file."""
    file: str = ""
    """Where the file was."""
    pad_id: ClassVar[int] = 0
    """The id of padding."""


@dataclass(frozen=True)
class RecurrentConfig(AnyModelConfig):
    """The baseline: a GRU encoder–decoder with additive attention."""

    vocab_size: Size = 6000
    """Number of pieces, the special ones included."""
    d_model: Size = 256
    """Width of the embeddings."""
    d_hidden: Size = 512
    """Width of the decoder's state; each direction of the encoder has half."""
    max_length: Size = 128
    """Tokens per sequence kept from the data."""
    pad_id: Count = 0
    """The id of padding."""
    dropout: Probability = 0.3
    """Share of embeddings and read-outs dropped."""
    attention: bool = True
    """Attend at each step; else read one summary of the source only."""

    def __post_init__(self):
        super().__post_init__()
        require_even_width(self.d_hidden)


def require_even_width(d_hidden: int) -> None:
    """Raise a ConfigError unless a bidirectional GRU can share this width."""
    require(
        d_hidden % 2 == 0,
        f"d_hidden is {d_hidden}, but the two directions of the encoder share "
        "it: choose an even number.",
    )
