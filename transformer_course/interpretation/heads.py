"""Single heads: what each looks at, and what is lost without it (chapter 20).

A head is named by the attention layer that it belongs to, as in
``model.named_modules()``, and by its number there. No model is changed: all is
done by hooks, which are gone afterwards.
"""

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.data.tokenizer import EOS
from transformer_course.errors import ConfigError
from transformer_course.interpretation.explain import record, weights_told
from transformer_course.models.attention import (
    MultiHeadAttention,
    scaled_dot_product_attention,
)
from transformer_course.models.mode import evaluating

Weights = Float[Tensor, "batch heads query key"]
Maps = dict[str, Weights]
"""The weights of each attention layer, by its name."""


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
    """``encoder``, ``decoder`` or ``cross``: what a layer's name begins with,
    but ``cross`` where it looks from one sentence into another."""
    return "cross" if "cross" in part else part.partition(".")[0]


def attention_parts(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """The attention layers of a model by name, those of an encoder first.

    Raises:
        ConfigError: it has none.
    """
    found = {
        name: part
        for name, part in model.named_modules()
        if isinstance(part, MultiHeadAttention)
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
        for name, part in attention_parts(model).items()
        for number in range(part.n_heads)
    ]


# --- what they look at -------------------------------------------------------


@contextlib.contextmanager
def weights_kept(model: nn.Module) -> Iterator[Maps]:
    """Meanwhile, each attention layer leaves its weights here when it works.

    They are what its output is made of, so that gradients reach them.

    Raises:
        ConfigError: the model has no attention layer.
    """
    names = {part: name for name, part in attention_parts(model).items()}
    kept: Maps = {}

    def keep(part, weights):
        kept[names[part]] = weights

    with weights_told(names, keep):
        yield kept


def head_weights(model: nn.Module, *inputs: Tensor) -> Maps:
    """Where every head looks. Dropout is off meanwhile.

    Args:
        model: with attention layers.
        inputs: what to call it with.

    Raises:
        ConfigError: the model has no attention layer.
    """
    with evaluating(model), torch.no_grad(), weights_kept(model) as kept:
        model(*inputs)
    return kept


@contextlib.contextmanager
def weights_changed(
    part: MultiHeadAttention, change: Callable[[Weights], Weights]
) -> Iterator[None]:
    """Meanwhile, a layer mixes its values by other weights than its own.

    Whoever asks for its weights is told those; its dropout is off.

    Args:
        part: an attention layer.
        change: from its weights to those that are used.
    """

    def explicit(query, key, value, mask):
        _, weights = scaled_dot_product_attention(query, key, value, mask)
        weights = change(weights)
        return weights @ value, weights

    def attend(query, key, value, mask):
        return explicit(query, key, value, mask)[0]

    own = vars(part)  # what stands there comes before the class's
    ours = {"attend": attend, "_explicit": explicit}
    before = {name: own[name] for name in ours if name in own}
    own.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del own[name]
        own.update(before)


# --- what they hand on -------------------------------------------------------


def head_outputs(
    model: nn.Module, *inputs: Tensor
) -> dict[Head, Float[Tensor, "batch query d_head"]]:
    """What every head hands on: its mixed values, before W^O.

    Args:
        model: with attention layers; training or evaluation mode stays.
        inputs: what to call it with.

    Raises:
        ConfigError: the model has no attention layer.
    """
    given, _ = record(model, *inputs)
    return {
        Head(name, number): output
        for name, part in attention_parts(model).items()
        for number, output in enumerate(
            given[f"{name}.to_output"][0].split(part.d_head, dim=-1)
        )
    }


@contextlib.contextmanager
def heads_replaced(
    model: nn.Module, others: Mapping[Head, Tensor | float]
) -> Iterator[None]:
    """Meanwhile, heads hand on something else than what they found.

    0 removes a head; its mean leaves it there, but deaf; its output in
    another sentence is activation patching.

    Args:
        model: with attention layers.
        others: for each head, what broadcasts to (batch, query, d_head).

    Raises:
        ConfigError: a head that there is not.
    """
    parts = attention_parts(model)
    by_part: dict[str, dict[int, Tensor | float]] = defaultdict(dict)
    for head, other in others.items():
        if head not in heads_of(model):
            raise ConfigError(
                f"there is no head {head.number} in {head.part!r}: "
                "heads_of(model) has them all."
            )
        by_part[head.part][head.number] = other

    def change_by(replacements, width):
        def change(to_output, inputs):
            changed = inputs[0].clone()
            for number, other in replacements.items():
                changed[..., number * width : (number + 1) * width] = other
            return (changed,)

        return change

    hooks = [
        parts[name].to_output.register_forward_pre_hook(
            change_by(replacements, parts[name].d_head)
        )
        for name, replacements in by_part.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def mean_outputs(
    model: nn.Module, batches: Iterable[Sequence[Tensor]], pad_id: int = 0
) -> dict[Head, Float[Tensor, " d_head"]]:
    """What every head hands on, in the mean over all real tokens that ask.

    An eos among a decoder's inputs asks nothing: only a row that is shorter
    than the longest of its batch has one.

    Args:
        model: with attention layers, in evaluation mode.
        batches: what to call it with, each time; a part of an encoder has
            the first tensor's tokens for queries, any other the last one's.
        pad_id: marks what is no token.

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


# --- one after another -------------------------------------------------------


def cheapest_first(
    heads: Sequence[Head],
    loss: Callable[[Sequence[Head]], float],
    steps: int | None = None,
) -> list[tuple[Head, float]]:
    """Take heads away one after another, each time the one that costs least.

    What a head costs is asked anew at each step, without those that are gone.

    Args:
        heads: that may go.
        loss: of the model without these heads.
        steps: how many go; all when None.

    Returns:
        Each head with the loss once it is gone too.
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
