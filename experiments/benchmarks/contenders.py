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
OURS = "the course"
MARIAN = "Marian"


def _decoding(beam_size: int) -> dict[str, Contender]:
    decode = partial(course.decoding, beam_size)
    marian = partial(peers.decoding, beam_size)
    return {
        OURS: Contender(decode),
        f"{OURS}, plain": Contender(partial(decode, fast=False)),
        f"{MARIAN}, side by side": Contender(
            partial(marian, parallel_map), LIBRARY
        ),
        MARIAN: Contender(marian, LIBRARY),
    }


EVENTS: dict[str, dict[str, Contender]] = {
    "same batches": {
        OURS: Contender(course.training),
        f"{OURS}, plain": Contender(partial(course.training, fast=False)),
        MARIAN: Contender(peers.training, LIBRARY),
    },
    "greedy": _decoding(1),
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
