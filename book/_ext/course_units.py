"""Which units of the small translator fire where: chapter 09's live figure."""

from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints.shipped import load_shipped
from transformer_course.data.grammar import grammar_splits
from transformer_course.data.tokenizer import BOS, PAD
from transformer_course.decoding.translate import encode_source

TESTED = 400
"""Test sentences in which the words of a unit are looked for."""
SPACE = "\u2581"
"""How SentencePiece writes a space."""
FAVOURITES = 3
"""Words of each unit that are shown."""


small = cache(partial(load_shipped, "grammar"))
"""The small translator."""


def word(token: int) -> str:
    """A token without the sign for the space before it."""
    return small().tokenizer.piece(token).removeprefix(SPACE)


class Fired(NamedTuple):
    """What the units of a layer make of all tokens of a corpus."""

    rows: list[list[str]]
    """The pieces of each sentence."""
    places: list[tuple[int, int]]
    """Of each token its sentence, and its place in it."""
    values: Tensor
    """(token, unit)"""


@cache
def fired() -> dict[str, Fired]:
    """The units of the upper feed-forward part of each stack."""
    model, tokenizer, *_ = small()
    test = grammar_splits(train=0, dev=0, test=TESTED)[2]
    ids = {
        "encoder": pad_rows([encode_source(tokenizer, p.src) for p in test]),
        "decoder": pad_rows([[BOS, *tokenizer.encode(p.tgt)] for p in test]),
    }
    found, hooks = {}, []
    for stack in ids:
        part = getattr(model, stack).layers[-1].feed_forward.activation
        hooks.append(
            part.register_forward_hook(
                lambda _, __, out, stack=stack: found.update({stack: out})
            )
        )
    with torch.no_grad():
        model(*ids.values())
    for hook in hooks:
        hook.remove()
    return {
        stack: Fired(
            [[word(i) for i in row if i != PAD] for row in rows.tolist()],
            (rows != PAD).nonzero().tolist(),
            found[stack][rows != PAD],
        )
        for stack, rows in ids.items()
    }


def favourites(layer: Fired) -> list[list[tuple[int, int, float]]]:
    """Of each unit the words at which it fires most.

    Each word comes once, as its sentence, its place in it and the value
    there, which is the word's highest.
    """
    order = layer.values.argsort(dim=0, descending=True).T.tolist()
    found = []
    for unit, tokens in enumerate(order):
        best = {}
        for token in tokens:
            value = round(layer.values[token, unit].item(), 2)
            if value <= 0 or len(best) == FAVOURITES:
                break
            sentence, place = layer.places[token]
            piece = layer.rows[sentence][place]
            best.setdefault(piece, (sentence, place, value))
        found.append(list(best.values()))
    return found


def promoted() -> list[str]:
    """Of each unit of the decoder the word whose logit it raises most.

    Its row of the second matrix goes through the layer's norm, which scales
    each of its numbers, and then through the output matrix.
    """
    model = small().model
    layer = model.decoder.layers[-1]
    values = layer.feed_forward.down_proj.weight.T
    values = values * layer.add_norm_3.norm.weight
    best = (values @ model.to_logits.weight.T).argmax(dim=-1)
    return [word(i) for i in best.tolist()]


@cache
def units_data() -> dict[str, Any]:
    """Of each stack its sentences and the favourites of each unit."""
    stacks = {}
    for stack, layer in fired().items():
        tops = favourites(layer)
        used = sorted({sentence for top in tops for sentence, *_ in top})
        place_of = {sentence: i for i, sentence in enumerate(used)}
        stacks[stack] = {
            "texts": [" ".join(layer.rows[sentence]) for sentence in used],
            "tops": [
                [[place_of[sentence], *rest] for sentence, *rest in top]
                for top in tops
            ],
        }
    stacks["decoder"]["promoted"] = promoted()
    return {"tested": TESTED, "stacks": stacks}
