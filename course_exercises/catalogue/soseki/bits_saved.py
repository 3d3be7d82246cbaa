"""What its source saves a sentence, in bits."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


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


EDITS = """
# nats_returned
- / math.log(2) ->
You return nats.

A bit is the cost of one toss of a coin, log 2 or 0.69 nats. How many bits are
there in so many nats?

# multiplied_by_log_two
- / math.log(2) -> * math.log(2)
You multiply by log 2, and have to divide by it.

A bit is smaller than a nat, so the number of bits is the larger one.

# to_the_base_of_ten
- math.log(2) -> math.log(10)
You divide by log 10. That would be decimal digits; a bit has two outcomes.

# difference_turned_round
- other - own -> own - other
You subtract the other way round.

What is *saved* is above 0 if the sentence is cheaper with its own source.

# size_of_the_difference
- other - own -> (other - own).abs()
You take the size of each difference.

Tokens that the wrong source serves better count against the right one; without
their signs, even noise looks like a gain.

# mean_over_tokens
- part.sum() -> part.mean()
You take the mean over the tokens of a sentence.

The question is what a *sentence* saves. The costs of its tokens add up,
because their probabilities are multiplied.

# first_token_alone
- part.sum() -> part[0]
You take the first token of each sentence alone.

It may save most, but each token counts.

# one_sentence_for_all
- parts = saved.split(lengths.tolist())
+ parts = [saved] * len(lengths)
You sum over all sentences each time.

Each sentence has its own tokens: the first `lengths[0]` ones belong to the
first, and so on.

# equal_parts
- saved.split(lengths.tolist()) -> saved.tensor_split(len(lengths))
You cut the tokens into equal parts.

Sentences have different lengths. Cut by `lengths`.

# own_costs_alone
- (other - own) -> own
or
- (other - own) -> other
You return what the sentences cost with one of the sources.

What a source is worth is a *difference*.
"""


def draw_sentences(draw: Draw) -> Case:
    lengths = [draw.size(1, 5) for _ in range(draw.size(2, 5))]
    own = draw.normal(sum(lengths)).abs()
    more = draw.normal(sum(lengths))
    return case("random costs", own, own + more, torch.tensor(lengths))


EXERCISE = exercise_of(
    bits_saved,
    section="16_soseki#does-the-model-use-its-source",
    points=2,
    hints=(
        "What do the tokens of one sentence cost together? And how many nats "
        "is a bit?",
        "Take the difference of the two costs, token by token. A split by "
        "the lengths gives the part of each sentence; sum each part.",
    ),
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
