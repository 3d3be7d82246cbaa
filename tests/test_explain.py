"""Explanations equal their formulas and leave the model unchanged."""

import pytest
import torch
from tiny import close, random_ids, tiny_transformer

from transformer_course.checkpoints import checkpoint
from transformer_course.data.tokenizer import PAD
from transformer_course.errors import ConfigError
from transformer_course.interpretation.explain import (
    encoder_attention,
    grad_cam,
    gradient_attention,
    patch_map,
    rollout,
)
from transformer_course.interpretation.hooks import capture_attention, record
from transformer_course.models.masks import padding_mask
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)

VISION = VisionConfig(
    image_size=8,
    patch_size=4,
    d_model=16,
    n_heads=2,
    d_ff=32,
    n_layers=2,
    n_classes=3,
)
CONVOLUTIONAL = ConvolutionalConfig(
    width=8, n_blocks=2, image_size=8, n_classes=3
)
CLASSES = torch.tensor([0, 2])
each_model = pytest.mark.parametrize(
    "config", [VISION, CONVOLUTIONAL], ids=["vit", "cnn"]
)


def classifier(config=VISION):
    """Untrained, in training mode, with a last map that is not zero."""
    torch.manual_seed(0)
    model = checkpoint.build(config).train()
    torch.nn.init.normal_(model.to_logits.weight)
    return model


def two_images():
    return torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))


def state(model):
    """All that an explanation must leave as it was."""
    hooks = [(len(p._forward_hooks), p.training) for p in model.modules()]
    gradients = [p.grad for p in model.parameters()]
    return hooks, gradients, [p.clone() for p in model.parameters()]


@each_model
def test_an_explained_model_is_as_it_was(config):
    model = classifier(config)
    hooks, gradients, weights = state(model)
    explained = [grad_cam]
    if config is VISION:
        explained += [encoder_attention, gradient_attention]
    for explain in explained:
        explain(model, two_images())
        with pytest.raises(ConfigError):
            explain(model, torch.zeros(1, 1, 5, 5))
    after = state(model)
    assert after[:2] == (hooks, gradients)
    assert all(map(torch.equal, after[2], weights))


def test_the_encoder_s_attention_is_what_its_layers_used():
    model = classifier().eval()
    images = two_images()
    weights = encoder_attention(model, images)
    assert weights.shape == (2, 2, 2, 5, 5)
    close(weights.sum(dim=-1), torch.ones(2, 2, 2, 5))
    given, gave = record(model, images)
    for i, layer in enumerate(model.encoder.layers):
        name = f"encoder.layers.{i}.self_attention"
        attention, x = layer.self_attention, given[name][0]
        value = attention.to_value(x).view(2, 5, 2, 8)
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights[:, i], value)
        close(attention.to_output(mixed.flatten(2)), gave[name])


def test_an_encoder_of_words_is_blind_to_padding():
    model = tiny_transformer()
    src = random_ids(3, 5, seed=1)
    src[0, 3:] = PAD
    vectors = model.src_position(model.src_embedding(src))
    mask = padding_mask(src, PAD)
    weights = encoder_attention(model.encoder, vectors, mask)
    assert not weights[0, ..., 3:].any()
    close(rollout(weights).sum(dim=-1), torch.ones(3, 5))
    assert not rollout(weights)[0, :3, 3:].any()


def test_a_model_without_encoder_is_refused():
    with pytest.raises(ConfigError, match="has 0 encoders"):
        encoder_attention(classifier(CONVOLUTIONAL), two_images())


def test_rollout_by_hand():
    """Two layers whose heads differ: the mean, the half, the product."""
    lower = torch.tensor([[[1.0, 0.0], [0.4, 0.6]], [[0.0, 1.0], [0.4, 0.6]]])
    upper = torch.tensor([[[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    found = rollout(torch.stack([lower, upper])[None])
    below = torch.tensor([[0.75, 0.25], [0.2, 0.8]])
    above = torch.tensor([[0.5, 0.5], [0.25, 0.75]])
    close(found[0], above @ below)


def test_gradient_times_attention_adds_up_layer_by_layer():
    model = classifier()
    images = two_images()
    found = gradient_attention(model, images, classes=CLASSES)
    with capture_attention(model.eval()) as maps:
        logits = model(images)
    layers = list(maps.values())
    gradients = torch.autograd.grad(logits[0, 0] + logits[1, 2], layers)
    first, second = (
        (gradient * weights).clamp(min=0).mean(dim=1)
        for gradient, weights in zip(gradients, layers, strict=True)
    )
    close(found, torch.eye(5) + first + second + second @ first)


def test_the_likeliest_class_is_asked_about_when_none_is_named():
    model, images = classifier(), two_images()
    likeliest = model.eval()(images).argmax(dim=-1)
    for explain in (gradient_attention, grad_cam):
        named = explain(model, images, classes=likeliest)
        close(explain(model, images), named)


# --- maps over images --------------------------------------------------------


def test_grad_cam_of_convolutions_by_hand():
    model, images = classifier(CONVOLUTIONAL).eval(), two_images()
    found = grad_cam(model, images, CLASSES)
    features = model.blocks[-1].layers(model.blocks[0](images))
    features = features.detach().requires_grad_()
    pooled = model.blocks[-1].pool(features).mean(dim=(2, 3))
    logits = model.to_logits(pooled)
    (logits[0, 0] + logits[1, 2]).backward()
    alpha = features.grad.flatten(2).sum(dim=2) / 16  # 4 × 4 places
    total = torch.einsum("bk,bkij->bij", alpha, features.detach())
    close(found, total.clamp(min=0))


def test_grad_cam_of_patches_leaves_out_the_class_token():
    model, images = classifier().eval(), two_images()
    torch.nn.init.normal_(model.position.table)  # patches that differ
    found = grad_cam(model, images, CLASSES)
    assert found.shape == (2, 2, 2) and (found >= 0).all() and found.any()
    kept = []
    hook = model.last_features.register_forward_hook(
        lambda part, inputs, output: kept.append(output)
    )
    logits = model(images)
    hook.remove()
    [gradient] = torch.autograd.grad(logits[0, 0] + logits[1, 2], kept)
    patches, gradient = kept[0][:, 1:], gradient[:, 1:]
    weights = gradient.mean(dim=1, keepdim=True)
    close(found.flatten(1), (weights * patches).sum(dim=-1).clamp(min=0))


def test_a_map_has_the_patches_in_their_places():
    row = torch.arange(5.0)[None]
    assert patch_map(row).tolist() == [[[1, 2], [3, 4]]]
