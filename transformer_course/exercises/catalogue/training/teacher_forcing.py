"""What the decoder reads, and what it is asked."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def teacher_forcing(
    tgt: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch target"], Int[Tensor, "batch target"]]:
    """What the decoder reads, and what it must answer at each place.

    Args:
        tgt: whole targets: bos (1), words, eos (2), filled up with pad (0).

    Returns:
        A pair: what is read, and what is asked. Both are a column narrower
        than ``tgt``, for all rows alike. At each place what is asked is the
        token that follows the one read there. A shorter row has padding to
        be asked for, which no loss counts: whatever stands there, eos
        included, stays as it is in ``tgt``.
    """
    ### BEGIN SOLUTION
    tgt_in = tgt[:, :-1]
    tgt_out = tgt[:, 1:]
    return tgt_in, tgt_out
    ### END SOLUTION


@other
def forcing_by_narrow(tgt):
    places = tgt.size(1) - 1
    return tgt.narrow(1, 0, places), tgt.narrow(1, 1, places)


@other
def forcing_by_loop(tgt):
    rows = tgt.tolist()
    read = [[row[t] for t in range(len(row) - 1)] for row in rows]
    asked = [[row[t + 1] for t in range(len(row) - 1)] for row in rows]
    return torch.tensor(read), torch.tensor(asked)


EDITS = """
# not_shifted (#the-target-is-not-shifted)
- tgt[:, :-1] -> tgt
- tgt[:, 1:] -> tgt
The model reads the very token that it must answer.

Both of your results are the whole target. To copy is enough: the loss falls
quickly, and the model translates nothing.

# not_shifted_without_end (#the-target-is-not-shifted)
- 1: -> :-1
The model reads the very token that it must answer.

Both of your results are the target without its last column, so neither is
shifted against the other. And eos is never asked for in the longest rows.

# not_shifted_without_beginning (#the-target-is-not-shifted)
- :-1 -> 1:
The model reads the very token that it must answer.

Both of your results are the target without its first column, so neither is
shifted against the other. And the model never sees bos, with which it has to
begin when it writes alone.

# shifted_backwards
- :-1 -> 1:
- [:, 1:] -> [:, :-1]
You shift the wrong way: the model is asked for the token *before*.

It would read "eos" and have to answer the last word. When it writes, it has
bos, and needs the word after it.

# answers_shorter
- tgt[:, :-1] -> tgt
Your two results have different lengths.

The answers are right. But the model gives an answer for each token that it
reads, and after the last column there is nothing left to ask.

# bos_is_asked
- tgt[:, 1:] -> tgt
Your answers begin with bos, and are a column longer than the input.

Nobody asks for bos: it is what the model is given to begin with. What it must
answer on reading bos is the first word.

# answers_rolled
- tgt[:, :-1] -> tgt
- tgt[:, 1:] -> tgt.roll(-1, dims=1)
Your answers are turned round: what falls off in front comes in again at the
end.

So the last place of each row asks for bos. It has to be left out, in what is
read as well.

# answers_filled_up
- tgt[:, :-1] -> tgt
- tgt[:, 1:] -> F.pad(tgt[:, 1:], (0, 1))
You keep the width: the model reads the last column too, and after it you ask
for padding.

Nothing comes after the last column. To read it costs time, and in the longest
row it is eos, after which nothing is asked.

# another_bos_in_front
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0), value=1)
- tgt[:, 1:] -> tgt
You put bos in front, where one is already.

So the model reads bos and is asked for bos. In some libraries the labels come
without it, and are shifted to the right like this. Here ``tgt`` begins with
bos.

# padding_at_minus_100
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 0, -100)
or
- tgt_in = tgt
+ tgt = tgt.masked_fill(tgt == 0, -100)
+ tgt_in = tgt
You put -100 in place of padding.

Some libraries mark so what does not count. In this course padding is its own
mark, and the loss is told its number: leave it.

# shifted_by_two
- :-1 -> :-2
- 1: -> 2:
The model is asked for the token after the next.

Your two results are two places apart. It would learn to leave out every second
word.

# shifted_over_the_batch
- :, :-1 -> :-1
- :, 1: -> 1:
You shift sentences, not tokens.

Your slices are along the first axis, the batch: each sentence is to be
answered by the sentence below it.

# both_ends_cut_off (11_batches#the-target-shifted)
- :-1 -> 1:-1
- 1: -> 1:-1
You take bos and the last column off from both.

The decoder has to read bos, or it has nothing to write the first word after;
and it has to be asked for eos, or it never learns to stop.

# every_eos_taken_out
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 2, 0)
You take eos out of what is read, in each row.

"Cut off eos" is how it is often told, but it is a *column* that is cut. A
shorter row keeps its eos as something to read. That does no harm: the answer
there is padding, and padding does not count.

# eos_never_asked (11_batches#the-target-shifted)
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 2, 0)
You take eos out of what is asked.

It is never answered, then, and the model never learns to stop.

# first_word_never_asked (11_batches#the-target-shifted)
- :-1 -> 1:-1
- 1: -> 2:
You take bos off before you shift.

Your results are shifted rightly against each other. But the decoder has to
read bos, and answer the first word: when it writes, it has nothing else to
begin with.

# last_token_alone_asked
- 1: -> -1:
You ask for one token: that of the last column.

The model answers at every place, and learns from every answer. In a shorter
row, the last column is padding.

# something_in_front
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0))
- tgt[:, 1:] -> tgt
or
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0), value=2)
- tgt[:, 1:] -> tgt
or
- tgt[:, :-1] -> tgt.roll(1, dims=1)
- tgt[:, 1:] -> tgt
You shift to the right what is read, and bos is asked for.

`tgt` begins with bos, so nothing has to come in front of it. It is read, and
the first word is asked.

# last_column_never_asked (11_batches#the-target-shifted)
- :-1 -> :-2
- 1: -> 1:-1
You take two columns off what is read, and never ask for the last.

In the longest rows that is eos, and a model that is never asked for it never
learns to stop.

# bos_taken_out
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 1, 0)
You take bos out of what is read.

The decoder needs something to write the first word after.

# padding_asked_as_eos
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 0, 2)
You ask for eos where there is padding.

One eos is enough: what stands behind it is asked of nobody.

# eos_moved_to_the_end
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 0, 2)
You put eos in place of padding in what is read.

What stands there stays as it is: the answers to it do not count.
"""


def draw_targets(draw: Draw) -> Case:
    """Sentences with bos, eos and padding."""
    rows, length = draw.size(1, 4), draw.size(1, 6)
    words = draw.ids(rows, length)
    words += 3 * (words != 0)  # 1 to 3 are bos, eos and unk
    tgt = F.pad(words, (1, 1))
    tgt[:, 0] = 1
    tgt[torch.arange(rows), (words != 0).sum(dim=1) + 1] = 2
    return case("random sentences", tgt)


EXERCISE = exercise_of(
    teacher_forcing,
    place=1,
    section="12_training#what-the-model-is-asked-the-next-token",
    points=1,
    hints=(
        "Write bos, a word and eos in a row, and below each what must come "
        "next. Below which of them can you write nothing? Which of them is "
        "never written below?",
        "Both are slices of the same tensor, along the axis of the tokens. "
        "One leaves out the last column, the other the first.",
    ),
    cases=[
        case("a single word", torch.tensor([[1, 7, 2]])),
        case("three words", torch.tensor([[1, 4, 5, 6, 2]])),
        case(
            "two sentences of different lengths",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[1, 4, 2], [1, 5, 2], [1, 2, 0]]),
        ),
        case("more padding", torch.tensor([[1, 4, 2, 0, 0], [1, 8, 9, 5, 2]])),
    ],
    draw=draw_targets,
    edits=EDITS,
)
