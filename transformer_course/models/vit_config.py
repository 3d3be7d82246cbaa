"""Configs of the image classifiers (chapter 19)."""

from dataclasses import dataclass
from typing import Annotated, Literal

from transformer_course.checks import (
    Constraint,
    Probability,
    Size,
    require,
)
from transformer_course.models.config import (
    Activation,
    AnyModelConfig,
    Layers,
    require_divisible,
)

Channels = Annotated[
    int,
    Constraint(
        lambda n: n > 0 and n % 8 == 0,
        "divisible by 8, since channels are normalised in 8 groups",
    ),
]


@dataclass(frozen=True)
class VisionConfig(AnyModelConfig):
    """A Vision Transformer; the defaults are for Fashion-MNIST.

    Raises:
        ConfigError: as :class:`~.config.ModelConfig`, or the patches do
            not tile the image.
    """

    d_model: Size = 64
    """Width of the residual stream."""
    n_heads: Size = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: Size = 256
    """Width inside the feed-forward network."""
    n_layers: Layers = 4
    """Layers of the encoder."""
    dropout: Probability = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = True
    """Biases on the projections of attention."""
    norm_first: bool = True
    """Pre-norm."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward network."""
    position: Literal["learned", "none"] = "learned"
    """Kind of positional encoding."""
    image_size: Size = 28
    """Pixels on each side of an image, which is square."""
    channels: Size = 1
    """Numbers per pixel: 1 for grey, 3 for red, green and blue."""
    patch_size: Size = 4
    """Pixels on each side of a patch; it divides ``image_size``."""
    n_classes: Size = 10
    """Number of classes."""

    def __post_init__(self):
        super().__post_init__()
        require_divisible(self.d_model, self.n_heads)
        require(
            self.image_size % self.patch_size == 0,
            f"patches of {self.patch_size} pixels do not tile an image of "
            f"{self.image_size}: choose a patch_size that divides it.",
        )

    @property
    def n_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2


@dataclass(frozen=True)
class ConvolutionalConfig(AnyModelConfig):
    """The baseline for images: a few convolutions.

    Raises:
        ConfigError: as :class:`~.checks.Config`, or the image cannot be
            halved ``n_blocks`` times.
    """

    width: Channels = 32
    """Channels of the first block; each further block has twice as many."""
    n_blocks: Size = 3
    """Pairs of convolutions; each halves the image's sides."""
    dropout: Probability = 0.1
    """Share of the pooled features dropped."""
    image_size: Size = 28
    """Pixels on each side of an image, which is square."""
    channels: Size = 1
    """Numbers per pixel: 1 for grey, 3 for red, green and blue."""
    n_classes: Size = 10
    """Number of classes."""

    def __post_init__(self):
        super().__post_init__()
        require(
            self.image_size >= 2**self.n_blocks,
            f"an image of {self.image_size} pixels cannot be halved "
            f"{self.n_blocks} times: choose fewer blocks.",
        )
