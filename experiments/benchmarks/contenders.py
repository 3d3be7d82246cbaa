"""Who takes part in what."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from experiments.benchmarks import course, peers, work
from experiments.benchmarks.work import Turn
from transformer_course.fast.parallel import parallel_map


class Contender(NamedTuple):
    """One that takes turns with others."""

    make: Callable[[], Turn]
    needs: tuple[str, ...] = ()
    """The packages without any of which it is left out."""


LIBRARY = ("transformers",)
X = ("x_transformers",)
OURS = "the course"
MARIAN = "Marian"


def _course(batches, **ways) -> Contender:
    return Contender(lambda: course.training(batches(), **ways))


def _library(kind: str, batches) -> Contender:
    make = partial(peers.Library, kind)
    return Contender(lambda: peers.training(make, batches()), LIBRARY)


def _decoding(beam_size: int) -> dict[str, Contender]:
    decode = partial(course.decoding, beam_size)
    marian = partial(peers.decoding, "Marian")
    return {
        OURS: Contender(decode),
        f"{OURS}, plain": Contender(partial(decode, fast=False)),
        f"{MARIAN}, side by side": Contender(
            partial(marian, beam_size, parallel_map), LIBRARY
        ),
        MARIAN: Contender(partial(marian, beam_size), LIBRARY),
    }


EVENTS: dict[str, dict[str, Contender]] = {
    "training": {
        OURS: _course(work.bucketed),
        "nn.Transformer": Contender(
            lambda: peers.training(peers.Torch, work.shuffled())
        ),
        "x-transformers": Contender(
            lambda: peers.training(peers.XTransformers, work.shuffled()), X
        ),
        "Bart": _library("Bart", work.shuffled),
        MARIAN: _library("Marian", work.shuffled),
    },
    "same batches": {
        OURS: _course(work.bucketed),
        f"{OURS}, plain": _course(work.bucketed, fast=False),
        MARIAN: _library("Marian", work.bucketed),
    },
    "greedy": {
        "x-transformers": Contender(peers.greedy_by_x_transformers, X),
        **_decoding(1),
    },
    "beam": _decoding(work.BEAM_SIZE),
    "smollm2": {
        OURS: Contender(course.answering),
        f"{OURS}, floats": Contender(partial(course.answering, packed=False)),
        "transformers": Contender(peers.answering, ("transformers", "gguf")),
        "llama.cpp": Contender(peers.answering_by_llama, ("llama_cpp",)),
    },
}
"""Contenders of each event; the last is the one that others are compared
with."""
