"""The Vision Transformer reads patches; a convolutional network beside it."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from tiny import close, gradients

from transformer_course.checkpoints import checkpoint
from transformer_course.errors import ConfigError
from transformer_course.models.vit import PatchEmbedding, cut_patches
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 2}
VISION = VisionConfig(image_size=8, patch_size=4, dropout=0.0, **SIZES)
CONVOLUTIONAL = ConvolutionalConfig(
    width=8, n_blocks=2, image_size=8, dropout=0.0
)
both = pytest.mark.parametrize(
    "config", [VISION, CONVOLUTIONAL], ids=["vit", "cnn"]
)


def drawn(config, seed: int = 0):
    """A model whose last map is not zero."""
    torch.manual_seed(seed)
    model = checkpoint.build(config)
    torch.nn.init.normal_(model.to_logits.weight)
    return model.eval()


def images(count: int = 3, channels: int = 1, size: int = 8):
    generator = torch.Generator().manual_seed(1)
    return torch.rand(count, channels, size, size, generator=generator)


# --- patches -----------------------------------------------------------------


def test_a_strided_convolution_is_a_linear_map_of_patches():
    torch.manual_seed(0)
    embed, given = PatchEmbedding(3, 4, 5), images(channels=3)
    flat = embed.project.weight.flatten(1)  # (5, channels × patch × patch)
    by_hand = F.linear(cut_patches(given, 4), flat, embed.project.bias)
    close(embed(given), by_hand)


def test_patches_that_do_not_tile_an_image_are_refused():
    with pytest.raises(ConfigError, match="3 pixels do not tile.*8 × 8"):
        cut_patches(images(), 3)


# --- the models --------------------------------------------------------------


def test_no_class_is_preferred_at_first_by_the_vision_transformer():
    logits = checkpoint.build(VISION)(images())
    assert torch.equal(logits, torch.zeros(3, 10))


def test_positions_begin_small_and_the_class_token_at_zero():
    """Large first positions would hide what is learned (chapter 19)."""
    model = checkpoint.build(dataclasses.replace(VISION, d_model=256))
    assert not model.class_token.any()
    assert 0.018 < model.position.table.std() < 0.022


@both
def test_no_image_depends_on_the_others_of_its_batch(config):
    model, given = drawn(config), images(4)
    together = model(given)
    close(model(given[:1]), together[:1])
    changed = torch.cat([given[:3], torch.zeros(1, 1, 8, 8)])
    close(model(changed)[:3], together[:3])


@both
def test_every_weight_gets_a_gradient(config):
    model = drawn(config)
    F.cross_entropy(model(images()), torch.tensor([0, 1, 2])).backward()
    for name, gradient in gradients(model).items():
        # adding one number to all scores of a row changes no weight
        assert gradient.any() or name.endswith("to_key.bias"), name


@both
@pytest.mark.parametrize("shape", [(1, 3, 8, 8), (1, 1, 8, 4)])
def test_images_of_another_shape_are_refused(config, shape):
    given = " × ".join(map(str, shape[1:]))
    with pytest.raises(ConfigError, match=f"are {given} .*reads 1 × 8 × 8"):
        drawn(config)(torch.zeros(shape))


@pytest.mark.parametrize(
    ("config", "changes", "said"),
    [
        (VISION, {"patch_size": 3}, "do not tile an image of 8"),
        (CONVOLUTIONAL, {"n_blocks": 4}, "cannot be halved 4 times"),
        (CONVOLUTIONAL, {"width": 12}, "divisible by 8"),
    ],
)
def test_settings_that_cannot_work_are_refused(config, changes, said):
    with pytest.raises(ConfigError, match=said):
        dataclasses.replace(config, **changes)
