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

Stem = Literal["patches", "convolutions"]
"""How an image becomes vectors: one linear map of each patch, or a few
convolutions."""
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
        ConfigError: as :class:`~.config.ModelConfig`, the patches do not
            tile the image, or a stem of convolutions cannot reach their size
            by halving.
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
    stem: Stem = "patches"
    """How the image becomes vectors."""

    def __post_init__(self):
        super().__post_init__()
        require_divisible(self)
        require(
            self.image_size % self.patch_size == 0,
            f"patches of {self.patch_size} pixels do not tile an image of "
            f"{self.image_size}: choose a patch_size that divides it.",
        )
        if self.stem == "convolutions":
            self._check_stem()

    @property
    def n_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2

    @property
    def n_halvings(self) -> int:
        """Number of halvings that turn a patch into a pixel."""
        return self.patch_size.bit_length() - 1

    def _check_stem(self) -> None:
        """Raise a ConfigError unless convolutions can halve a patch to 1."""
        require(
            self.n_halvings > 0 and self.patch_size == 2**self.n_halvings,
            f"patch_size is {self.patch_size}, but each convolution of the "
            "stem halves the image: choose 2, 4, 8 or the like.",
        )
        least = 8 * 2 ** (self.n_halvings - 1)
        require(
            self.d_model % least == 0,
            f"d_model is {self.d_model}, but the stem's {self.n_halvings} "
            "convolutions double their channels, which are normalised in 8 "
            f"groups: choose a multiple of {least}.",
        )


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
