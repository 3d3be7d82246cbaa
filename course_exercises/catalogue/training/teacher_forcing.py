"""Teacher forcing: decoder input and labels."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def teacher_forcing(
    tgt: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch target"], Int[Tensor, "batch target"]]:
    """What the decoder reads, and what it must answer at each position.

    Args:
        tgt: whole targets: bos (1), words, eos (2), filled up with pad (0).

    Returns:
        A pair: what is read, and what must be answered. Both are one column
        narrower than ``tgt``, in all rows alike. At each position the right
        answer is the token that follows the one read there. In a shorter row
        some answers are padding, which no loss counts; all tokens, eos
        included, stay as they are in ``tgt``.
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

Both of your results are the whole target. Copying is then enough: the loss
falls quickly, and the model learns no translation.

# not_shifted_without_end (#the-target-is-not-shifted)
- 1: -> :-1
The model reads the very token that it must answer.

Both of your results are the target without its last column: neither is shifted
against the other. And in the longest rows eos is never an answer.

# not_shifted_without_beginning (#the-target-is-not-shifted)
- :-1 -> 1:
The model reads the very token that it must answer.

Both of your results are the target without its first column: neither is
shifted against the other. And the model never sees bos, with which it has to
start when it generates.

# shifted_backwards
- :-1 -> 1:
- [:, 1:] -> [:, :-1]
You shift the wrong way: the model has to answer the token *before*.

It would read eos and answer the last word. (Or do you return the two in the
wrong order? First comes what is read, then what must be answered.)

# answers_shorter
- tgt[:, :-1] -> tgt
You leave what is read at its whole length.

The model gives an answer for each token that it reads, but nothing follows the
last column. Cut that column off what is read.

# bos_is_asked
- tgt[:, 1:] -> tgt
You leave the answers at their whole length, so they start with bos.

The model is given bos and never has to answer it. Cut the first column off the
answers: on reading bos the model must answer the first word.

# answers_rolled
- tgt[:, :-1] -> tgt
- tgt[:, 1:] -> tgt.roll(-1, dims=1)
or
- tgt[:, 1:] -> tgt.roll(-1, dims=1)
You roll the answers: the bos that leaves at the front comes back at the end.

So the last answer of each row is bos. Cut that column off; what is read has to
be one column narrower than `tgt`, too.

# answers_filled_up
- tgt[:, :-1] -> tgt
- tgt[:, 1:] -> F.pad(tgt[:, 1:], (0, 1))
You keep the width: the model reads the last column too, and its answer there
is padding.

Nothing follows the last column, so the model need not read it. Cut it off.

# another_bos_in_front
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0), value=1)
- tgt[:, 1:] -> tgt
You add a bos at the front, where there is one already.

So the model reads bos and has to answer bos. In some libraries the labels come
without bos, and are shifted to the right this way. Here `tgt` starts with it.

# padding_at_minus_100
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 0, -100)
or
- tgt_in = tgt
+ tgt = tgt.masked_fill(tgt == 0, -100)
+ tgt_in = tgt
You replace padding by -100.

Some libraries mark that way what does not count. In this course the loss is
told the number of padding: leave it as it is.

# shifted_by_two
- :-1 -> :-2
- 1: -> 2:
or
- tgt[:, 1:] -> F.pad(tgt[:, 2:], (0, 1))
or
- 1: -> 2:
You shift by two: the model has to answer the token after the next.

It would learn to leave out every second word. Shift by one.

# shifted_over_the_batch
- :, :-1 -> :-1
- :, 1: -> 1:
You shift sentences, not tokens.

You slice along the first axis, the batch: the answer to each sentence is then
the sentence below it.

# both_ends_cut_off (11_batches#the-target-shifted)
- :-1 -> 1:-1
- 1: -> 1:-1
You cut bos and the last column off both.

The decoder has to read bos, or it cannot start. And it has to answer eos, or
it never learns to stop.

# every_eos_taken_out
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 2, 0)
You take eos out of what is read, in each row.

People say "cut off eos", but you only have to cut off the last *column*. A
shorter row keeps its eos. That does no harm: the answer there is padding,
which does not count.

# eos_never_asked (11_batches#the-target-shifted)
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 2, 0)
You take eos out of the answers.

Then the model never has to answer it, and never learns to stop.

# first_word_never_asked (11_batches#the-target-shifted)
- :-1 -> 1:-1
- 1: -> 2:
You cut off bos before you shift.

The decoder has to read bos and answer the first word: when it generates, bos
is all it has to start with.

# last_token_alone_asked
- 1: -> -1:
You return only the last column as answers.

The model answers at every position, and learns from every answer. In a shorter
row the last column is padding.

# something_in_front
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0))
- tgt[:, 1:] -> tgt
or
- tgt[:, :-1] -> F.pad(tgt[:, :-1], (1, 0), value=2)
- tgt[:, 1:] -> tgt
or
- tgt[:, :-1] -> tgt.roll(1, dims=1)
- tgt[:, 1:] -> tgt
You shift what is read to the right, so the first answer is bos.

`tgt` starts with bos, so nothing has to come before it: on reading bos the
model must answer the first word.

# last_column_never_asked (11_batches#the-target-shifted)
- :-1 -> :-2
- 1: -> 1:-1
You cut the last column off the answers, too.

In the longest rows that is eos. A model that never has to answer eos never
learns to stop.

# bos_taken_out
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 1, 0)
You take bos out of what is read.

The decoder needs it: when it generates, bos is all it has to start with.

# padding_asked_as_eos
- , tgt_out -> , tgt_out.masked_fill(tgt_out == 0, 2)
You replace padding by eos in the answers.

One eos is enough: the loss ignores what follows it. Leave padding as it is.

# eos_moved_to_the_end
- return tgt_in -> return tgt_in.masked_fill(tgt_in == 0, 2)
You replace padding by eos in what is read.

Leave padding as it is: the answers there do not count.
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
    section="12_training#what-the-model-is-asked-the-next-token",
    points=1,
    hints=(
        "Write bos, a word and eos in a row, and below each what must come "
        "next. Which of the three has nothing below it? Which of them never "
        "appears in the lower row?",
        "Both results are slices of the same tensor, along the axis of the "
        "tokens. One leaves out the last column, the other the first.",
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
)
