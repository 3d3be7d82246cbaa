"""Attribution of a translation to its source tokens.

Maps of attention (weights, weights times the length of what is handed on,
rollout), gradients (× attention, × input), and leave-one-out (chapter 20).
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.interpretation.explain import rollout
from transformer_course.interpretation.hooks import (
    Maps,
    attention_layers,
    attention_maps,
    capture_attention,
    kind_of,
    record,
)
from transformer_course.models.masks import padding_mask
from transformer_course.models.mode import eval_mode
from transformer_course.models.transformer import Transformer

SourceMap = Float[Tensor, "batch target source"]
Source = Int[Tensor, "one source"]
Target = Int[Tensor, "one target"]


def by_kind(
    maps: Maps,
) -> dict[str, Float[Tensor, "batch layer head query key"]]:
    """Stack the maps of a Transformer's layers: encoder, decoder, cross.

    Args:
        maps: from :func:`~.hooks.attention_maps`.
    """
    kinds: dict[str, list[Tensor]] = {}
    for part, weights in maps.items():
        kinds.setdefault(kind_of(part), []).append(weights)
    return {kind: torch.stack(found, dim=1) for kind, found in kinds.items()}


def source_rollout(maps: Maps) -> SourceMap:
    """Attention rollout from source tokens to targets.

    In the encoder as in :func:`~.explain.rollout`. The decoder's stream
    begins without source; self-attention and cross-attention each make up
    half of what follows them, and the residual connection the other half.
    (Abnar and Zuidema 2020, section 3, which has an encoder alone.)

    Args:
        maps: of a Transformer, in the mean over heads.

    Returns:
        Row t belongs to the token that follows ``tgt_in[t]``. It sums to less
        than one: the rest is the target's prefix.
    """
    kinds = by_kind(maps)
    memory = rollout(kinds["encoder"])  # (batch, source, source)
    mean = {kind: kinds[kind].mean(dim=2) for kind in ("decoder", "cross")}
    flow = torch.zeros_like(mean["cross"][:, 0])
    for own, cross in zip(
        mean["decoder"].unbind(1), mean["cross"].unbind(1), strict=True
    ):
        flow = (flow + own @ flow) / 2
        flow = (flow + cross @ memory) / 2
    return flow


def source_relevance(
    model: Transformer, src: Source, tgt_in: Target, tgt_out: Target
) -> SourceMap:
    """Attention times its gradient: evidence of source tokens for targets.

    In each layer Ā is the heads' mean of max(0, ∂ log p / ∂A ⊙ A); relevance
    is propagated through Ā as through the layers. (After
    Chefer, Gur and Wolf 2021, who also normalise, and pass what the decoder
    sees of the source through its own relevance.) Dropout is off.

    Args:
        model: its weights require gradients.
        src: one sentence.
        tgt_in: the decoder's input at each step.
        tgt_out: the token explained at each step.

    Returns:
        Row t: the evidence of each source token for ``tgt_out[t]``.
    """
    steps = tgt_in.size(1)
    each = torch.arange(steps)
    with (
        eval_mode(model),
        torch.enable_grad(),
        capture_attention(model) as maps,
    ):
        logits = model(src.expand(steps, -1), tgt_in.expand(steps, -1))
        log_p = logits.log_softmax(dim=-1)[each, each, tgt_out[0]]
        slopes = torch.autograd.grad(log_p.sum(), list(maps.values()))
    evidence = {  # one row of the batch for each step
        part: (slope * weights.detach()).clamp(min=0).mean(dim=1)
        for (part, weights), slope in zip(maps.items(), slopes, strict=True)
    }
    memory = torch.eye(src.size(1), device=src.device)
    flow = torch.zeros(steps, steps, src.size(1), device=src.device)
    for part, layer in evidence.items():
        match kind_of(part):
            case "encoder":
                memory = memory + layer @ memory
            case "decoder":
                flow = flow + layer @ flow
            case "cross":
                flow = flow + layer @ memory
    return flow[each, each][None]


def source_gradient(
    model: Transformer, src: Source, tgt_in: Target, tgt_out: Target
) -> SourceMap:
    """Gradient × input: the embedding of each source token times its slope.

    The slope is that of each target's log-probability (Simonyan et al. 2013;
    Shrikumar et al. 2016). Arguments and result are those of
    :func:`source_relevance`, but for evidence against a target, which is
    negative.
    """
    steps = tgt_in.size(1)
    each = torch.arange(steps)
    kept = []

    def keep(part, inputs, output):
        kept.append(output.detach().requires_grad_())
        return kept[0]

    with eval_mode(model), torch.enable_grad():
        # removed at once, since the decoder may share this embedding
        with model.src_embedding.register_forward_hook(keep):
            memory = model.encode(src.expand(steps, -1))
        mask = padding_mask(src, model.config.pad_id)
        logits = model.decode(tgt_in.expand(steps, -1), memory, mask)
        log_p = logits.log_softmax(dim=-1)[each, each, tgt_out[0]]
        slopes = torch.autograd.grad(log_p.sum(), kept)[0]
    return (slopes * kept[0]).sum(dim=-1).detach()[None]


@torch.no_grad()
def weighted_lengths(
    model: Transformer, src: Source, tgt_in: Target
) -> SourceMap:
    """Last cross-attention: weight times length of the value handed on.

    Kobayashi et al. 2020. In the mean over heads; each value has gone through
    the head's rows of W^O.
    """
    maps = attention_maps(model, src, tgt_in)
    given, _ = record(model, src, tgt_in)
    name = list(maps)[-1]
    part = attention_layers(model)[name]
    by_head = (-1, part.d_head)
    values = part.to_value(given[name][1]).unflatten(-1, by_head)
    matrix = part.to_output.weight.unflatten(-1, by_head)
    lengths = torch.einsum("bshd,ohd->bhso", values, matrix).norm(dim=-1)
    return (maps[name] * lengths[:, :, None]).mean(dim=1)


@torch.no_grad()
def leave_one_out(
    model: Transformer, src: Source, tgt_in: Target, tgt_out: Target
) -> SourceMap:
    """Loss of each target's log-probability without each source token.

    A token is masked as padding is; the others keep their positions.
    Dropout is off.

    Args:
        model: with an encoder and a decoder.
        src: one sentence.
        tgt_in: the decoder's input at each step.
        tgt_out: the token explained at each step.

    Returns:
        Nats; below zero where the target becomes more probable.
    """
    tokens = src.size(1)
    each = torch.arange(tokens)
    variants = src.repeat(tokens + 1, 1)  # the last one is complete
    variants[each, each] = model.config.pad_id
    with eval_mode(model):
        logits = model(variants, tgt_in.expand(tokens + 1, -1))
    asked = tgt_out.expand(tokens + 1, -1)[..., None]
    log_p = logits.log_softmax(dim=-1).gather(-1, asked)[..., 0]
    return (log_p[-1] - log_p[:-1]).T[None]


def ranks(
    values: Float[Tensor, "row column"],
) -> Float[Tensor, "row column"]:
    """Rank of each number in its row, from 0; ties share their mean rank."""
    below = (values[:, None, :] < values[:, :, None]).sum(dim=-1)
    equal = (values[:, None, :] == values[:, :, None]).sum(dim=-1)
    return below + (equal - 1) / 2


def rank_correlation(
    one: Float[Tensor, "row column"], other: Float[Tensor, "row column"]
) -> Float[Tensor, " row"]:
    """Spearman's rank correlation of each row; 0 where a row is constant."""
    a, b = (
        r - r.mean(dim=1, keepdim=True) for r in (ranks(one), ranks(other))
    )
    sizes = a.norm(dim=1) * b.norm(dim=1)
    return (a * b).sum(dim=1) / sizes.clamp(min=1e-9)
