"""Explanations of classifiers: attention rollout, gradients, Grad-CAM.

For encoders of words or patches, and for convolutional networks (chapters 17
and 19).
"""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.interpretation.hooks import capture_attention
from transformer_course.models.bert_config import Pooling
from transformer_course.models.mode import eval_mode
from transformer_course.models.transformer import Encoder

EncoderAttention = Float[Tensor, "batch layer head query key"]
"""Weights of every head; rows sum to one, or to zero where all is masked."""

TokenMap = Float[Tensor, "batch query key"]
"""Share of each input in each output; row 0 is the class token."""

Classes = Int[Tensor, " batch"] | None
"""The class to explain, for each input; the likeliest when None."""


def encoder_of(model: nn.Module) -> Encoder:
    """The one encoder in a model, or the model itself if it is one.

    Raises:
        ConfigError: it has none, or several.
    """
    found = [part for part in model.modules() if isinstance(part, Encoder)]
    if len(found) != 1:
        raise ConfigError(
            f"{type(model).__name__} has {len(found)} encoders, and an "
            "explanation shows the attention of one: take a model with one "
            "encoder, or leave out the explanation (--explain)."
        )
    return found[0]


def encoder_attention(model: nn.Module, *inputs: Any) -> EncoderAttention:
    """Attention weights of a model's encoder, without dropout (chapter 19).

    Args:
        model: with one encoder: a Vision Transformer, a text classifier, an
            :class:`~.transformer.Encoder` itself.
        inputs: what to call the model with.

    Returns:
        (batch, layer, head, query, key).

    Raises:
        ConfigError: as :func:`encoder_of`.
    """
    encoder = encoder_of(model)
    with eval_mode(model), torch.no_grad(), capture_attention(encoder) as maps:
        model(*inputs)
    return torch.stack(list(maps.values()), dim=1)


def rollout(attention: EncoderAttention) -> TokenMap:
    """Attention rollout: the product of the layers' attention maps.

    In each layer the heads' mean, half of it attention and half the residual
    connection, rows normalised to sum 1; then Ã(l) = A(l) Ã(l - 1). (Abnar and
    Zuidema 2020, section 3.) The map is the same for every class.

    Args:
        attention: from :func:`encoder_attention`.

    Returns:
        Rows that sum to one; row 0 belongs to the class token.
    """
    identity = torch.eye(attention.size(-1), device=attention.device)
    flow = identity.expand(len(attention), -1, -1)
    for layer in attention.mean(dim=2).unbind(dim=1):
        mixed = (layer + identity) / 2
        flow = mixed / mixed.sum(dim=-1, keepdim=True) @ flow
    return flow


def gradient_attention(
    model: nn.Module, *inputs: Any, classes: Classes = None
) -> TokenMap:
    """Attention times its gradient: the evidence of each input for a class.

    In each layer Ā is the heads' mean of max(0, ∂y/∂A ⊙ A), and R, at first
    the identity, becomes R + Ā R. (Chefer, Gur
    and Wolf 2021, "Generic Attention-model Explainability", equations 5 and
    6.) Dropout is off, and no parameter keeps a gradient.

    Args:
        model: gives logits (batch, classes); its weights require gradients.
        inputs: what to call it with.
        classes: whose logits y are explained.

    Returns:
        R. Row 0 is the evidence of each input, through the class token; its
        first entry also holds the identity's one.

    Raises:
        ConfigError: as :func:`encoder_of`, or an unknown class.
    """
    encoder = encoder_of(model)
    with (
        eval_mode(model),
        torch.enable_grad(),
        capture_attention(encoder) as maps,
    ):
        score = chosen_logits(model(*inputs), classes).sum()
        layers = list(maps.values())
        gradients = torch.autograd.grad(score, layers)
    relevance = torch.eye(layers[0].size(-1), device=score.device)
    for weights, gradient in zip(layers, gradients, strict=True):
        layer = (gradient * weights.detach()).clamp(min=0).mean(dim=1)
        relevance = relevance + layer @ relevance
    return relevance


def pooled_row(
    rows: Float[Tensor, "query key"], pooling: Pooling
) -> Float[Tensor, " key"]:
    """Row of a map for the classifier's input: that of [CLS], or the mean.

    Args:
        rows: of a map, one for each token.
        pooling: of a text classifier.
    """
    return rows.mean(dim=0) if pooling == "mean" else rows[0]


def chosen_logits(
    logits: Float[Tensor, "batch classes"], classes: Classes = None
) -> Float[Tensor, " batch"]:
    """Logit of each input's class; of the likeliest when None."""
    if classes is None:
        return logits.max(dim=-1).values
    return logits.gather(1, classes[:, None])[:, 0]


# --- maps over images --------------------------------------------------------

HeatMap = Float[Tensor, "batch rows columns"]


def patch_map(row: Float[Tensor, "batch one_plus_patches"]) -> HeatMap:
    """A class token's row as a square of patches, without the class token.

    Args:
        row: of a class token, as in ``rollout(…)[:, 0]``.
    """
    side = math.isqrt(row.size(-1) - 1)
    return row[:, 1:].unflatten(-1, (side, side))


def grad_cam(
    model: nn.Module,
    images: Float[Tensor, "batch channels height width"],
    classes: Classes = None,
) -> HeatMap:
    """Grad-CAM: a heat map of the evidence for a class.

    The weight of a channel k of features A is the mean, over places, of its
    gradient: α = (1/Z) Σᵢⱼ ∂y/∂Aₖ(i, j); the map is ReLU(Σₖ αₖ Aₖ). (Selvaraju
    et al. 2017, equations 1 and 2.) Dropout is off meanwhile, and no weight
    keeps a gradient. Chapter 19.

    Args:
        model: a classifier of images; its weights require gradients. Its
            ``last_features`` gives the features: maps (batch, channels, rows,
            columns), or a class token and patches (batch, 1 + patches,
            channels).
        images: as the model reads them.
        classes: whose logits y are explained.

    Returns:
        One number, zero or more, for each place of the features.

    Raises:
        ConfigError: an unknown class.
    """
    kept: list[Tensor] = []
    hook = model.last_features.register_forward_hook(
        lambda part, inputs, output: kept.append(output)
    )
    with hook, eval_mode(model), torch.enable_grad():
        score = chosen_logits(model(images), classes).sum()
    [gradient] = torch.autograd.grad(score, kept)
    gradient, features = _as_maps(gradient), _as_maps(kept[0].detach())
    weights = gradient.mean(dim=(2, 3), keepdim=True)  # equation 1
    return (weights * features).sum(dim=1).relu()  # equation 2


def class_map(
    model: nn.Module,
    images: Float[Tensor, "batch channels height width"],
) -> HeatMap:
    """Heat map of the evidence for the likeliest class.

    By :func:`gradient_attention` if the model has an encoder, else by
    :func:`grad_cam`.

    Args:
        model: a classifier of images.
        images: as the model reads them.
    """
    if any(isinstance(part, Encoder) for part in model.modules()):
        relevance = gradient_attention(model, images)
        return patch_map(relevance[:, 0])
    return grad_cam(model, images)


def _as_maps(features: Tensor) -> Float[Tensor, "batch channels rows columns"]:
    """Features as maps; those of patches lose their class token."""
    if features.dim() == 4:
        return features
    each = features.transpose(1, 2)  # (batch, channels, 1 + patches)
    return patch_map(each.flatten(0, 1)).unflatten(0, each.shape[:2])
