"""The Vision Transformer, and a convolutional network beside it (chapter 19).

An image is cut into patches; each becomes a vector, and from there on the
encoder is the one that reads words. A class token stands before the patches;
what becomes of it says what the image shows.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.positional_encoding import position_module
from transformer_course.models.transformer import Encoder
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)

Images = Float[Tensor, "batch channels height width"]

Features = Float[Tensor, "batch features rows columns"]

NORM_GROUPS = 8
"""Groups of channels that are normalised together."""


def check_images(images: Images, channels: int, size: int) -> None:
    """Make sure that a model can read these images.

    Raises:
        ConfigError: another number of channels, or another size.
    """
    given, expected = tuple(images.shape[1:]), (channels, size, size)
    if given != expected:
        raise ConfigError(
            f"the images are {_size(given)} (channels × height × width), but "
            f"this model reads {_size(expected)}: scale them, or convert "
            "their colours, first."
        )


def _size(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


def cut_patches(
    images: Images, patch_size: int
) -> Float[Tensor, "batch patches numbers"]:
    """Cut images into square patches, row by row, each laid out as a vector.

    A patch's numbers stand in the order channel, row, column. (Dosovitskiy et
    al. 2021, section 3.1.)

    Args:
        images: whose sides are multiples of ``patch_size``.
        patch_size: pixels on each side of a patch.

    Raises:
        ConfigError: the patches do not tile the images.
    """
    batch, channels, height, width = images.shape
    if height % patch_size or width % patch_size:
        raise ConfigError(
            f"patches of {patch_size} pixels do not tile images of {height} × "
            f"{width}: choose a size that divides both."
        )
    rows, columns = height // patch_size, width // patch_size
    tiles = images.reshape(
        batch, channels, rows, patch_size, columns, patch_size
    )
    return tiles.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class PatchEmbedding(nn.Module):
    """A vector for each patch: one linear map of its numbers.

    Written as a convolution whose step is as long as its kernel, which is the
    same (Dosovitskiy et al. 2021, equation 1; chapter 19 asserts it).

    Args:
        channels: of the images.
        patch_size: pixels on each side of a patch.
        d_model: width of a vector.
    """

    def __init__(self, channels: int, patch_size: int, d_model: int):
        super().__init__()
        self.project = nn.Conv2d(
            channels, d_model, kernel_size=patch_size, stride=patch_size
        )

    def forward(self, images: Images) -> Float[Tensor, "batch patches d"]:
        """The vectors of all patches, row by row."""
        return self.project(images).flatten(2).transpose(1, 2)


class VisionTransformer(nn.Module):
    """From images to logits over classes (Dosovitskiy et al. 2021, 3.1).

    First values are those of the authors' code: zeros for the class token
    and the last map, so that no class is preferred, and positions drawn from
    N(0, 0.02²).

    Args:
        config: all that varies.
    """

    def __init__(self, config: VisionConfig):
        super().__init__()
        self.config = config
        self.patches = PatchEmbedding(
            config.channels, config.patch_size, config.d_model
        )
        self.class_token = nn.Parameter(torch.zeros(config.d_model))
        self.position = position_module(
            config.position, 1 + config.n_patches, config.d_model
        )
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.to_logits = nn.Linear(config.d_model, config.n_classes)
        for table in self.position.parameters():
            nn.init.normal_(table, std=0.02)
        nn.init.zeros_(self.to_logits.weight)
        nn.init.zeros_(self.to_logits.bias)

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        """Logits of each class, for each image.

        Raises:
            ConfigError: images of another size or number of channels.
        """
        return self.to_logits(self.encode(images)[:, 0])

    @property
    def last_features(self) -> nn.Module:
        """Features for Grad-CAM: the norm before the last attention.

        Later changes of a patch do not reach the class token.
        """
        return self.encoder.layers[-1].add_norm_1.norm

    def encode(
        self, images: Images
    ) -> Float[Tensor, "batch one_plus_patches d_model"]:
        """Encode the class token and the patches."""
        config = self.config
        check_images(images, config.channels, config.image_size)
        patches = self.patches(images)
        first = self.class_token.expand(len(images), 1, -1)
        x = self.position(torch.cat([first, patches], dim=1))
        return self.encoder(self.dropout(x))


class ConvolutionBlock(nn.Module):
    """Two 3 × 3 convolutions with group norm, and the sides halved.

    Args:
        inside: channels of what comes in.
        outside: channels of what goes out.
    """

    def __init__(self, inside: int, outside: int):
        super().__init__()
        self.layers = nn.Sequential(
            *_convolution(inside, outside), *_convolution(outside, outside)
        )
        self.pool = nn.MaxPool2d(2)

    def forward(self, images: Images) -> Features:
        """The features of half as many rows and columns."""
        return self.pool(self.layers(images))


def _convolution(
    inside: int, outside: int, stride: int = 1
) -> list[nn.Module]:
    return [
        nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False),
        nn.GroupNorm(NORM_GROUPS, outside),
        nn.ReLU(),
    ]


class ConvolutionalNetwork(nn.Module):
    """Blocks of convolutions, the mean over places, and a linear map.

    In the manner of VGG (Simonyan and Zisserman 2015), with a mean in place
    of its wide linear maps (Lin et al. 2014, section 3.2), so that Grad-CAM
    has a last map of features to weigh. The norm is over groups of channels
    (Wu and He 2018), as in the convolutional networks that the Vision
    Transformer was compared with: no image depends on the others of its
    batch.

    Args:
        config: all that varies.
    """

    def __init__(self, config: ConvolutionalConfig):
        super().__init__()
        self.config = config
        widths = [config.width * 2**i for i in range(config.n_blocks)]
        self.blocks = nn.Sequential(
            *map(ConvolutionBlock, [config.channels, *widths], widths)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.to_logits = nn.Linear(widths[-1], config.n_classes)

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        """Logits of each class, for each image.

        Raises:
            ConfigError: images of another size or number of channels.
        """
        features = self.features(images).mean(dim=(2, 3))
        return self.to_logits(self.dropout(features))

    @property
    def last_features(self) -> nn.Module:
        """Features for Grad-CAM: the last convolution, before its pooling."""
        return self.blocks[-1].layers

    def features(self, images: Images) -> Features:
        """The last block's map of features."""
        config = self.config
        check_images(images, config.channels, config.image_size)
        return self.blocks(images)
