"""What happens inside a model, written down while it happens (chapter 10).

And what an answer was made of: the attention of an encoder that reads words
or patches, rolled out or weighed by gradients, and Grad-CAM (chapter 19). No
model is changed: all is seen by hooks, which are gone afterwards.
"""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_course.errors import ConfigError
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.bert_config import Pooling
from transformer_course.models.masks import padding_mask
from transformer_course.models.mode import evaluating
from transformer_course.models.transformer import Encoder, Transformer

Record = dict[str, Any]

EncoderAttention = Float[Tensor, "batch layer head query key"]
"""Weights of every head; rows sum to one, or to zero where all is masked."""

TokenMap = Float[Tensor, "batch query key"]
"""How much of each input there is in each output; row 0 is the class token."""

Classes = Int[Tensor, " batch"] | None
"""What is asked about: a class for each input, or the likeliest when None."""


def record(model: nn.Module, *inputs: Any) -> tuple[Record, Record]:
    """What each part of a model is given, and what it gives, in one call.

    PyTorch calls a *hook* whenever a part has done its work, and shows it
    what went in and what came out. Gradients are off; training or evaluation
    mode stays as it is. Chapter 10.

    Args:
        model: any module.
        inputs: what to call it with.

    Returns:
        Two dictionaries by the names of ``model.named_modules()``: each
        part's inputs (those given by position, as a tuple), and its output.
        The whole model's name is "". A part that is called more than once
        has its last call here.
    """
    given: Record = {}
    gave: Record = {}

    def hook_for(name):
        def keep(part, inputs, output):
            given[name], gave[name] = inputs, output

        return keep

    hooks = [
        part.register_forward_hook(hook_for(name))
        for name, part in model.named_modules()
    ]
    try:
        with torch.no_grad():
            model(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return given, gave


def cross_attention(
    model: Transformer,
    src: Int[Tensor, "batch source"],
    tgt_in: Int[Tensor, "batch target"],
) -> Float[Tensor, "batch layer head target source"]:
    """How much each step of writing looks at each source token, everywhere.

    Row t is the step that reads ``tgt_in[t]`` and predicts the token after
    it. Chapter 15.

    Args:
        model: with an encoder; training or evaluation mode stays as it is.
        src: source ids.
        tgt_in: target ids, from bos on.
    """
    given, _ = record(model, src, tgt_in)
    mask = padding_mask(src, model.config.pad_id)
    found = []
    for i, layer in enumerate(model.decoder.layers):
        query, memory = given[f"decoder.layers.{i}.cross_attention"]
        with torch.no_grad():
            _, weights = layer.cross_attention(
                query, memory, mask=mask, return_weights=True
            )
        found.append(weights)
    return torch.stack(found, dim=1)


@contextlib.contextmanager
def weights_told(
    parts: Iterable[MultiHeadAttention],
    tell: Callable[[MultiHeadAttention, Tensor], object],
) -> Iterator[None]:
    """Meanwhile, ``tell`` is called with each part's weights when it works.

    Args:
        parts: whose weights are asked for. They compute their outputs by the
            explicit path then, from these weights, so that gradients reach
            them.
        tell: is handed the part and (batch, heads, query, key).
    """

    def ask(part, inputs, options):
        return inputs, options | {"return_weights": True}

    def keep(part, inputs, output):
        output, weights = output
        tell(part, weights)
        return output

    hooks = []
    for part in parts:
        hooks.append(part.register_forward_pre_hook(ask, with_kwargs=True))
        hooks.append(part.register_forward_hook(keep))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


# --- an encoder that reads words or patches ----------------------------------


def encoder_of(model: nn.Module) -> Encoder:
    """The one encoder in a model, or the model itself if it is one.

    Raises:
        ConfigError: it has none, or several.
    """
    found = [part for part in model.modules() if isinstance(part, Encoder)]
    if len(found) != 1:
        raise ConfigError(
            f"{type(model).__name__} has {len(found)} encoders, and the "
            "attention of one was asked for: give a model with one, or an "
            "Encoder."
        )
    return found[0]


@contextlib.contextmanager
def attention_kept(model: nn.Module) -> Iterator[list[Tensor]]:
    """Meanwhile, each layer of the model's encoder leaves its weights here.

    The list has (batch, heads, query, key) for each layer, in order, as soon
    as the model has been called, and gradients reach them.

    Raises:
        ConfigError: as :func:`encoder_of`.
    """
    kept: list[Tensor] = []
    parts = [layer.self_attention for layer in encoder_of(model).layers]
    with weights_told(parts, lambda part, weights: kept.append(weights)):
        yield kept


def encoder_attention(model: nn.Module, *inputs: Any) -> EncoderAttention:
    """How much each position looks at each other, in every head and layer.

    Dropout is off meanwhile. Chapter 19.

    Args:
        model: with one encoder: a Vision Transformer, a text classifier, an
            :class:`~.transformer.Encoder` itself.
        inputs: what to call the model with.

    Raises:
        ConfigError: as :func:`encoder_of`.
    """
    with evaluating(model), torch.no_grad(), attention_kept(model) as kept:
        model(*inputs)
    return torch.stack(kept, dim=1)


def rollout(attention: EncoderAttention) -> TokenMap:
    """Attention of all layers, multiplied: which inputs reach which outputs.

    In each layer the heads' mean, half of it attention and half the residual
    connection, rows brought to sum 1; then Ã(l) = A(l) Ã(l - 1). (Abnar and
    Zuidema 2020, section 3, "attention rollout".) It knows no class: what it
    shows is the same whichever is asked about.

    Args:
        attention: from :func:`encoder_attention`.

    Returns:
        Rows that sum to one. Row 0 is what a class token is made of.
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
    """Attention times its gradient: which inputs speak for a class.

    In each layer Ā is the heads' mean of (∂y/∂A ⊙ A), without what is below
    zero, and R, which begins as the identity, becomes R + Ā R. (Chefer, Gur
    and Wolf 2021, "Generic Attention-model Explainability", equations 5 and
    6.) Dropout is off meanwhile, and no weight keeps a gradient.

    Args:
        model: gives logits (batch, classes); its weights require gradients.
        inputs: what to call it with.
        classes: whose logits y are asked about.

    Returns:
        R. Row 0 is how much each input, through the class token, speaks for
        the class; the row's first entry also holds the identity's one.

    Raises:
        ConfigError: as :func:`encoder_of`, or a class that there is not.
    """
    with evaluating(model), torch.enable_grad(), attention_kept(model) as kept:
        score = chosen_logits(model(*inputs), classes).sum()
        gradients = torch.autograd.grad(score, kept)
    relevance = torch.eye(kept[0].size(-1), device=score.device)
    for weights, gradient in zip(kept, gradients, strict=True):
        layer = (gradient * weights.detach()).clamp(min=0).mean(dim=1)
        relevance = relevance + layer @ relevance
    return relevance


def row_of(
    rows: Float[Tensor, "query key"], pooling: Pooling
) -> Float[Tensor, " key"]:
    """What belongs to the vector that a classifier reads: [CLS], or the mean.

    Args:
        rows: of a map, one for each token.
        pooling: of a text classifier.
    """
    return rows.mean(dim=0) if pooling == "mean" else rows[0]


def chosen_logits(
    logits: Float[Tensor, "batch classes"], classes: Classes = None
) -> Float[Tensor, " batch"]:
    """The logit of each input's class; of the likeliest when None.

    Raises:
        ConfigError: a class that there is not.
    """
    if classes is None:
        return logits.max(dim=-1).values
    count = logits.size(-1)
    if not ((classes >= 0) & (classes < count)).all():
        raise ConfigError(
            f"the classes asked about are {classes.tolist()}, but there are "
            f"{count}, numbered from 0."
        )
    return logits.gather(1, classes[:, None])[:, 0]


# --- maps over images --------------------------------------------------------

HeatMap = Float[Tensor, "batch rows columns"]


def patch_map(row: Float[Tensor, "batch one_plus_patches"]) -> HeatMap:
    """What belongs to an image's patches, as a square; the class token goes.

    Args:
        row: of a class token, as in ``rollout(…)[:, 0]``.

    Raises:
        ConfigError: the patches make no square.
    """
    side = math.isqrt(row.size(-1) - 1)
    if row.size(-1) != 1 + side**2:
        raise ConfigError(
            f"{row.size(-1)} positions are not a class token and a square of "
            "patches: give a row of a Vision Transformer."
        )
    return row[:, 1:].unflatten(-1, (side, side))


def grad_cam(
    model: nn.Module,
    images: Float[Tensor, "batch channels height width"],
    classes: Classes = None,
    part: nn.Module | None = None,
) -> HeatMap:
    """Where a model saw what speaks for a class.

    The weight of a channel k of features A is the mean, over places, of its
    gradient: α = (1/Z) Σᵢⱼ ∂y/∂Aₖ(i, j); the map is ReLU(Σₖ αₖ Aₖ). (Selvaraju
    et al. 2017, equations 1 and 2.) Dropout is off meanwhile, and no weight
    keeps a gradient. Chapter 19.

    Args:
        model: a classifier of images; its weights require gradients.
        images: as the model reads them.
        classes: whose logits y are asked about.
        part: gives the features, maps (batch, channels, rows, columns) or a
            class token and patches (batch, 1 + patches, channels); the
            model's own ``last_features`` when None.

    Returns:
        One number, zero or more, for each place of the features.

    Raises:
        ConfigError: a class that there is not.
    """
    part = part or model.last_features
    kept: list[Tensor] = []
    hook = part.register_forward_hook(
        lambda part, inputs, output: kept.append(output)
    )
    try:
        with evaluating(model), torch.enable_grad():
            score = chosen_logits(model(images), classes).sum()
    finally:
        hook.remove()
    [gradient] = torch.autograd.grad(score, kept)
    gradient, features = _as_maps(gradient), _as_maps(kept[0].detach())
    weights = gradient.mean(dim=(2, 3), keepdim=True)  # equation 1
    return (weights * features).sum(dim=1).relu()  # equation 2


def class_map(
    model: nn.Module,
    images: Float[Tensor, "batch channels height width"],
    classes: Classes = None,
) -> HeatMap:
    """Where images speak for a class, by what suits the model.

    :func:`gradient_attention` where there is an encoder, else
    :func:`grad_cam`.

    Args:
        model: a classifier of images.
        images: as the model reads them.
        classes: that are asked about.
    """
    if any(isinstance(part, Encoder) for part in model.modules()):
        relevance = gradient_attention(model, images, classes=classes)
        return patch_map(relevance[:, 0])
    return grad_cam(model, images, classes)


def _as_maps(features: Tensor) -> Float[Tensor, "batch channels rows columns"]:
    """Features by their places; those of a class token and patches, too."""
    if features.dim() == 4:
        return features
    each = features.transpose(1, 2)  # (batch, channels, 1 + patches)
    return patch_map(each.flatten(0, 1)).unflatten(0, each.shape[:2])
