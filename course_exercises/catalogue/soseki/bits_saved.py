"""What its source saves a sentence, in bits."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def bits_saved(
    own: Float[Tensor, " token"],
    other: Float[Tensor, " token"],
    lengths: Int[Tensor, " sentence"],
) -> Float[Tensor, " sentence"]:
    """How many bits each sentence saves by its own source.

    Args:
        own: what each token cost with the right source, in nats. The tokens
            of all sentences lie one after another.
        other: what the same tokens cost with the source of another sentence.
        lengths: how many tokens each sentence has, at least one.

    Returns:
        For each sentence the bits that it costs with the other source, less
        those with its own. Below 0 if the other source served it better.
    """
    ### BEGIN SOLUTION
    saved = (other - own) / math.log(2)
    parts = saved.split(lengths.tolist())
    return torch.stack([part.sum() for part in parts])
    ### END SOLUTION


@other
def bits_by_index(own, other, lengths):
    which = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    total = torch.zeros(len(lengths), dtype=own.dtype)
    return total.index_add(0, which, other - own) / math.log(2)


@other
def bits_by_running_sums(own, other, lengths):
    running = torch.cumsum(((other - own) / math.log(2)).double(), dim=0)
    ends = running[lengths.cumsum(0) - 1]
    before = torch.cat([torch.zeros(1, dtype=ends.dtype), ends[:-1]])
    return (ends - before).to(own.dtype)


@other
def bits_by_loop(own, other, lengths):
    found, start = [], 0
    for length in lengths.tolist():
        piece = slice(start, start + length)
        found.append((other[piece].sum() - own[piece].sum()) / math.log(2))
        start += length
    return torch.stack(found)


def draw_sentences(draw: Draw) -> Case:
    lengths = [draw.size(1, 5) for _ in range(draw.size(2, 5))]
    own = draw.normal(sum(lengths)).abs()
    more = draw.normal(sum(lengths))
    return case("random costs", own, own + more, torch.tensor(lengths))


EXERCISE = exercise_of(
    bits_saved,
    section="16_soseki#does-the-model-use-its-source",
    points=2,
    cases=[
        case(
            "one sentence of one token",
            torch.tensor([1.0]),
            torch.tensor([1.6931472]),
            torch.tensor([1]),
        ),
        case(
            "one sentence of three tokens",
            torch.tensor([1.0, 2.0, 0.5]),
            torch.tensor([2.0, 2.5, 0.5]),
            torch.tensor([3]),
        ),
        case(
            "two sentences of different lengths",
            torch.tensor([1.0, 1.0, 3.0, 0.0]),
            torch.tensor([2.0, 4.0, 3.5, 1.0]),
            torch.tensor([1, 3]),
        ),
        case(
            "the other source is better for one token",
            torch.tensor([2.0, 1.0, 1.0, 4.0]),
            torch.tensor([1.0, 3.0, 2.0, 3.0]),
            torch.tensor([2, 2]),
        ),
        case(
            "the other source is better",
            torch.tensor([2.0, 1.0, 2.0]),
            torch.tensor([1.5, 0.5, 4.0]),
            torch.tensor([2, 1]),
        ),
    ],
    draw=draw_sentences,
)
