"""What varies in a decoder of today (chapter 22)."""

from dataclasses import dataclass
from typing import Literal

from transformer_course.checks import require
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
    """Pre-norm; there is no other here."""
    dropout: float = 0.0
    """Share of the sub-layers' outputs and embedding sums dropped."""
    norm: Norm = "rms"
    """RMSNorm in place of LayerNorm."""
    activation: ModernActivation = "squared_relu"
    """Non-linearity of the feed-forward part."""
    gated: bool = False
    """A gate in the feed-forward part; with silu, it is SwiGLU."""
    position: ModernPosition = "rotary"
    """How a token's place is told to the model."""
    n_kv_heads: int | None = None
    """Heads of keys and values, shared by groups of query heads; as many as
    there are queries when None."""
    qk_norm: bool = True
    """Bring queries and keys to one length, before their product."""
    value_residual: bool = True
    """Mix the first layer's values into those of the others."""
    window: int | None = None
    """Tokens that most layers see; each fourth and the last see all."""
    soft_cap: float | None = 15.0
    """Logits stay between minus and plus this."""
    zero_start: bool = True
    """Each sub-layer begins by adding nothing to the stream."""

    def __post_init__(self):
        super().__post_init__()
        require(
            self.norm_first,
            "norm_first is False, but this model is in pre-norm only: take a "
            "LanguageModelConfig for post-norm.",
        )
        require(
            self.groups >= 1 and self.n_heads % self.groups == 0,
            f"n_kv_heads is {self.n_kv_heads}, but {self.n_heads} heads "
            "cannot share so many evenly: choose a number that divides them.",
        )
        require(
            not self.bias,
            "bias is True, but the projections of this model have none: leave "
            "it out.",
        )
        require(
            self.window is None or self.window >= 1,
            f"window is {self.window}: a token sees itself at least, so give "
            "1 or more, or None for no window.",
        )
        require(
            self.soft_cap is None or self.soft_cap > 0,
            f"soft_cap is {self.soft_cap}: it must be positive, or None.",
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
