"""Config of a decoder of today (chapter 22)."""

from dataclasses import dataclass
from typing import Literal

from transformer_course.checks import Positive, Probability, Size, require
from transformer_course.models.config import LanguageModelConfig

Norm = Literal["layer", "rms"]
ModernActivation = Literal["relu", "gelu", "silu", "squared_relu"]
ModernPosition = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]


@dataclass(frozen=True)
class ModernConfig(LanguageModelConfig):
    """A decoder-only Transformer with what has changed since 2017.

    Every default is today's choice. ``PLAIN`` switches all of them off:
    what is left is the language model of 2017, in pre-norm.

    Raises:
        ConfigError: sizes that do not go together, or post-norm.
    """

    norm_first: bool = True
    """Pre-norm; post-norm is refused."""
    dropout: Probability = 0.0
    """Share of the sub-layers' outputs and embedding sums dropped."""
    norm: Norm = "rms"
    """RMSNorm in place of LayerNorm."""
    activation: ModernActivation = "squared_relu"
    """Non-linearity of the feed-forward network."""
    gated: bool = False
    """A gate in the feed-forward network; with silu, it is SwiGLU."""
    position: ModernPosition = "rotary"
    """Kind of positional encoding."""
    n_kv_heads: Size | None = None
    """Heads of keys and values, shared by groups of query heads; as many as
    there are queries when None."""
    qk_norm: bool = True
    """Normalise queries and keys before their product."""
    value_residual: bool = True
    """Mix the first layer's values into those of the others."""
    window: Size | None = None
    """Tokens that most layers see; each fourth and the last see all."""
    soft_cap: Positive | None = 15.0
    """Logits stay between minus and plus this."""
    zero_start: bool = True
    """Initialise each sub-layer's output projection with zeros."""

    def __post_init__(self):
        super().__post_init__()
        require(
            self.norm_first,
            "norm_first is False, but this model is in pre-norm only: take a "
            "LanguageModelConfig for post-norm.",
        )
        require(
            self.n_heads % self.groups == 0,
            f"n_kv_heads is {self.n_kv_heads}, but {self.n_heads} heads "
            "cannot share so many evenly: choose a number that divides them.",
        )
        require(
            not self.bias,
            "bias is True, but the projections of this model have none: leave "
            "it out.",
        )

    @property
    def groups(self) -> int:
        """Heads of keys and values."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads


PLAIN = {
    "norm": "layer",
    "activation": "relu",
    "position": "sinusoidal",
    "qk_norm": False,
    "value_residual": False,
    "soft_cap": None,
    "zero_start": False,
}
"""Settings with which a ModernConfig is the decoder of 2017."""
