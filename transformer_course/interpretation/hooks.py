"""Hooks: record what a model computes, and patch its heads.

Chapters 10 and 20. A head is named by the attention layer that it belongs to,
as in ``model.named_modules()``, and by its number there. Hooks are removed
afterwards; the model itself is not changed.
"""

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer_course.data.tokenizer import EOS
from transformer_course.errors import ConfigError
from transformer_course.models.attention import (
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from transformer_course.models.masks import causal_mask
from transformer_course.models.mode import eval_mode
from transformer_course.models.modern import Attention

Weights = Float[Tensor, "batch heads query key"]
Maps = dict[str, Weights]
"""The weights of each attention layer, by its name."""
Record = dict[str, Any]
"""Inputs, or outputs, by the name of the part."""


def record(model: nn.Module, *inputs: Any) -> tuple[Record, Record]:
    """Record the inputs and outputs of each part of a model in one call.

    PyTorch calls a *hook* whenever a part has done its work, and shows it
    what went in and what came out. Gradients are off; training or evaluation
    mode stays as it is. Chapter 10.

    Args:
        model: any module.
        inputs: what to call it with.

    Returns:
        Two dictionaries by the names of ``model.named_modules()``: each
        part's inputs (those given by position, as a tuple), and its output.
        The model's own name is "". A part that is called more than once
        has its last call here.
    """
    given: Record = {}
    gave: Record = {}

    def hook_for(name):
        def keep(part, inputs, output):
            given[name], gave[name] = inputs, output

        return keep

    with torch.no_grad(), contextlib.ExitStack() as hooks:
        for name, part in model.named_modules():
            hooks.enter_context(part.register_forward_hook(hook_for(name)))
        model(*inputs)
    return given, gave


# --- heads -------------------------------------------------------------------


class Head(NamedTuple):
    """One head of a model."""

    part: str
    """Its layer's name, ``decoder.layers.1.cross_attention`` for instance."""
    number: int
    """Its place there, from 0."""

    def __str__(self) -> str:
        layer = re.search(r"\d+", self.part)
        place = int(layer[0]) + 1 if layer else 1
        return f"{kind_of(self.part)} {place}.{self.number + 1}"


def kind_of(part: str) -> str:
    """Kind of an attention layer, by its name.

    Returns:
        ``cross`` for cross-attention, else the name's first part: ``encoder``
        or ``decoder``.
    """
    return "cross" if "cross" in part else part.partition(".")[0]


def attention_layers(
    model: nn.Module,
) -> dict[str, MultiHeadAttention | Attention]:
    """The attention layers of a model by name, those of an encoder first.

    Raises:
        ConfigError: it has none.
    """
    found = {
        name: part
        for name, part in model.named_modules()
        if isinstance(part, MultiHeadAttention | Attention)
    }
    if not found:
        raise ConfigError(
            f"{type(model).__name__} has no attention layer, and its heads "
            "were asked for: give a model that has some."
        )
    names = sorted(found, key=lambda name: not name.startswith("encoder"))
    return {name: found[name] for name in names}


def heads_of(model: nn.Module) -> list[Head]:
    """Every head of a model, layer by layer.

    Raises:
        ConfigError: it has no attention layer.
    """
    return [
        Head(name, number)
        for name, part in attention_layers(model).items()
        for number in range(part.to_output.in_features // part.d_head)
    ]


# --- attention weights -------------------------------------------------------


@contextlib.contextmanager
def capture_attention(model: nn.Module) -> Iterator[Maps]:
    """Context manager: the attention weights of the model's next call.

    The dictionary is filled, layer by layer, while the model works. Outputs
    are computed from these weights by the explicit path, so that gradients
    reach them.

    Args:
        model: any module with attention layers, or with an encoder alone.

    Raises:
        ConfigError: the model has no attention layer.
    """
    maps: Maps = {}

    def request(layer, inputs, options):
        return inputs, options | {"return_weights": True}

    def store_as(name):
        def store(layer, inputs, output):
            output, maps[name] = output
            return output

        return store

    fused = _Explicit(maps)
    with contextlib.ExitStack() as hooks:
        for name, layer in attention_layers(model).items():
            if isinstance(layer, Attention):
                named = layer.register_forward_pre_hook(fused.named(name))
                hooks.enter_context(named)
                continue
            before = layer.register_forward_pre_hook(request, with_kwargs=True)
            after = layer.register_forward_hook(store_as(name))
            hooks.enter_context(before)
            hooks.enter_context(after)
        hooks.enter_context(fused)
        yield maps


class _Explicit(TorchFunctionMode):
    """Computes PyTorch's fused attention step by step; keeps its weights.

    Where a layer has sinks, the last key is the sink.
    """

    def __init__(self, maps: Maps):
        super().__init__()
        self.maps, self.name = maps, ""

    def named(self, name: str) -> Callable:
        """A hook that says which layer computes from here on."""
        return lambda *_: setattr(self, "name", name)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is not F.scaled_dot_product_attention or not self.name:
            return func(*args, **kwargs)
        query, key, value, mask = args
        shared = query.size(1) // key.size(1)
        key, value = (x.repeat_interleave(shared, dim=1) for x in (key, value))
        if kwargs.get("is_causal"):
            mask = causal_mask(key.size(2), key.device)
        if scale := kwargs.get("scale"):
            query = query * scale * query.size(-1) ** 0.5
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        self.maps[self.name] = weights
        return output


def attention_maps(model: nn.Module, *inputs: Tensor) -> Maps:
    """Attention weights of every layer in one call, without dropout.

    Args:
        model: with attention layers.
        inputs: what to call it with.

    Raises:
        ConfigError: the model has no attention layer.
    """
    with eval_mode(model), torch.no_grad(), capture_attention(model) as maps:
        model(*inputs)
    return maps


@contextlib.contextmanager
def patch_weights(
    layer: MultiHeadAttention, change: Callable[[Weights], Weights]
) -> Iterator[None]:
    """Context manager: replace a layer's attention weights.

    The replaced weights are also those that it returns; its dropout is off.

    Args:
        layer: an attention layer.
        change: maps its own weights to those that are used.
    """

    def explicit(query, key, value, mask):
        _, weights = scaled_dot_product_attention(query, key, value, mask)
        weights = change(weights)
        return weights @ value, weights

    def attend(query, key, value, mask):
        return explicit(query, key, value, mask)[0]

    own = vars(layer)  # attributes of the instance precede the class's
    ours = {"attend": attend, "_explicit": explicit}
    before = {name: own[name] for name in ours if name in own}
    own.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del own[name]
        own.update(before)


# --- outputs of heads --------------------------------------------------------


def head_outputs(
    model: nn.Module, *inputs: Tensor
) -> dict[Head, Float[Tensor, "batch query d_head"]]:
    """Output of every head: its weighted sum of values, before W^O.

    Args:
        model: with attention layers; training or evaluation mode stays.
        inputs: what to call it with.

    Raises:
        ConfigError: the model has no attention layer.
    """
    given, _ = record(model, *inputs)
    return {
        Head(name, number): output
        for name, part in attention_layers(model).items()
        for number, output in enumerate(
            given[f"{name}.to_output"][0].split(part.d_head, dim=-1)
        )
    }


@contextlib.contextmanager
def patch_heads(
    model: nn.Module, outputs: Mapping[Head, Tensor | float]
) -> Iterator[None]:
    """Context manager: replace the outputs of heads.

    0 removes a head; its mean output makes it independent of the input; its
    output in another sentence is activation patching.

    Args:
        model: with attention layers.
        outputs: for each head, what broadcasts to (batch, query, d_head).

    Raises:
        ConfigError: a head that there is not.
    """
    layers, known = attention_layers(model), set(heads_of(model))
    with contextlib.ExitStack() as hooks:
        for head, output in outputs.items():
            if head not in known:
                raise ConfigError(
                    f"there is no head {head.number} in {head.part!r}: "
                    "heads_of(model) has them all."
                )
            layer = layers[head.part]
            start = head.number * layer.d_head
            columns = slice(start, start + layer.d_head)
            hook = layer.to_output.register_forward_pre_hook(
                _replace_columns(columns, output)
            )
            hooks.enter_context(hook)
        yield


def _replace_columns(columns: slice, output: Tensor | float) -> Callable:
    """A hook that replaces these columns of a part's input."""

    def replace(part, inputs):
        changed = inputs[0].clone()
        changed[..., columns] = output
        return (changed,)

    return replace


def mean_outputs(
    model: nn.Module, batches: Iterable[Sequence[Tensor]], pad_id: int = 0
) -> dict[Head, Float[Tensor, " d_head"]]:
    """Mean output of every head over all real query tokens.

    An eos among a decoder's inputs is left out: only rows shorter than the
    longest of their batch have one.

    Args:
        model: with attention layers, in evaluation mode.
        batches: what to call it with, each time; a part of an encoder has
            the first tensor's tokens for queries, any other the last one's.
        pad_id: the padding.

    Raises:
        ConfigError: the model has no attention layer.
    """
    total: dict[Head, Tensor] = {}
    count: dict[Head, int] = defaultdict(int)
    for inputs in batches:
        for head, output in head_outputs(model, *inputs).items():
            of_encoder = head.part.startswith("encoder")
            ids = inputs[0 if of_encoder else -1]
            real = ids != pad_id
            if not of_encoder:
                real &= ids != EOS
            found = output[real].sum(dim=0)
            total[head] = total[head] + found if head in total else found
            count[head] += int(real.sum())
    return {head: total[head] / count[head] for head in total}


# --- pruning -----------------------------------------------------------------


def cheapest_first(
    heads: Sequence[Head],
    loss: Callable[[Sequence[Head]], float],
    steps: int | None = None,
) -> list[tuple[Head, float]]:
    """Prune heads greedily: each time the one whose removal costs least.

    Costs are computed anew at each step, without the heads already removed.

    Args:
        heads: candidates.
        loss: of the model without the given heads.
        steps: heads to remove; all when None.

    Returns:
        The removed heads in order, each with the loss after its removal.
    """
    gone: list[Head] = []
    found = []
    for _ in range(len(heads) if steps is None else steps):
        left = [head for head in heads if head not in gone]
        costs = {head: loss([*gone, head]) for head in left}
        cheapest = min(left, key=costs.__getitem__)
        gone.append(cheapest)
        found.append((cheapest, costs[cheapest]))
    return found
