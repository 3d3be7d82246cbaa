"""What varies between models of images: frozen dataclasses (chapter 19)."""

from dataclasses import dataclass
from typing import Literal, get_args

from transformer_course.checks import require, require_positive, require_share
from transformer_course.models.config import (
    Activation,
    AnyModelConfig,
    Position,
    require_stack,
)

Stem = Literal["patches", "convolutions"]
"""What makes vectors of an image: one linear map of each patch, or a few
convolutions."""


@dataclass(frozen=True)
class VisionConfig(AnyModelConfig):
    """A Vision Transformer; the defaults are for Fashion-MNIST.

    Raises:
        ConfigError: a size is not positive, a share is not in [0, 1),
            ``n_heads`` does not divide ``d_model``, the patches do not tile
            the image, the positions are not learned, or a stem of
            convolutions cannot come down to the patches by halving.
    """

    d_model: int = 64
    """Width of the stream that layers read and add to."""
    n_heads: int = 4
    """Heads per attention layer; each is d_model / n_heads wide."""
    d_ff: int = 256
    """Width inside the feed-forward part."""
    n_layers: int = 4
    """Layers of the encoder."""
    dropout: float = 0.1
    """Share of the sub-layers' outputs and embedding sums dropped."""
    bias: bool = True
    """Biases on the projections of attention."""
    norm_first: bool = True
    """Pre-norm."""
    activation: Activation = "gelu"
    """Non-linearity of the feed-forward part."""
    position: Position = "learned"
    """How a patch's place is told to the model: learned, or none."""
    image_size: int = 28
    """Pixels on each side of an image, which is square."""
    channels: int = 1
    """Numbers per pixel: 1 for grey, 3 for red, green and blue."""
    patch_size: int = 4
    """Pixels on each side of a patch; it divides ``image_size``."""
    n_classes: int = 10
    """What an image may show."""
    stem: Stem = "patches"
    """What makes vectors of the image: patches, or convolutions."""

    def __post_init__(self):
        require_stack(self)
        require_positive(
            self, "image_size", "channels", "patch_size", "n_classes"
        )
        require(
            self.image_size % self.patch_size == 0,
            f"patches of {self.patch_size} pixels do not tile an image of "
            f"{self.image_size}: choose a patch_size that divides it.",
        )
        require(
            self.position in ("learned", "none"),
            f"position is {self.position!r}, but a patch's place is learned: "
            "choose learned, or none.",
        )
        require(
            self.stem in get_args(Stem),
            f"stem is {self.stem!r}: choose patches, or convolutions.",
        )
        if self.stem == "convolutions":
            self._check_stem()

    @property
    def n_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2

    @property
    def n_halvings(self) -> int:
        """How often an image is halved until a patch is a pixel."""
        return self.patch_size.bit_length() - 1

    def _check_stem(self) -> None:
        """See that convolutions can come down to the patches."""
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
        ConfigError: a size is not positive, the image cannot be halved
            ``n_blocks`` times, or a share is not in [0, 1).
    """

    width: int = 32
    """Channels of the first block, a multiple of 8, since they are normalised
    in 8 groups; each further block has twice as many."""
    n_blocks: int = 3
    """Pairs of convolutions; each halves the image's sides."""
    dropout: float = 0.1
    """Share of the pooled features dropped."""
    image_size: int = 28
    """Pixels on each side of an image, which is square."""
    channels: int = 1
    """Numbers per pixel: 1 for grey, 3 for red, green and blue."""
    n_classes: int = 10
    """What an image may show."""

    def __post_init__(self):
        require_positive(
            self, "width", "n_blocks", "image_size", "channels", "n_classes"
        )
        require_share(self, "dropout")
        require(
            self.image_size >= 2**self.n_blocks,
            f"an image of {self.image_size} pixels cannot be halved "
            f"{self.n_blocks} times: choose fewer blocks.",
        )
        require(
            self.width % 8 == 0,
            f"width is {self.width}, but channels are normalised in 8 groups: "
            "choose a multiple of 8.",
        )
