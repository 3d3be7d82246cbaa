"""Greedy search."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
    variant_of,
)


def greedy_search(
    decode: Callable[
        [Int[Tensor, "batch length"]], Float[Tensor, "batch length vocab"]
    ],
    batch: int,
    max_length: int,
    bos: int = 1,
    eos: int = 2,
) -> list[list[int]]:
    """Write the most probable token, each time, for a batch of sentences.

    Args:
        decode: the model, with its sources: from what each row has so far,
            bos in front, it computes the logits of what comes after each
            token. It has no cache. Row i belongs to sentence i, so it is
            given all rows, each time, those that have ended too: what they
            hold after their eos does not matter.
        batch: the number of sentences.
        max_length: tokens to write at the most, for each sentence.
        bos: what every row begins with.
        eos: what ends a sentence.

    Returns:
        For each sentence the ids written before its eos, as a list; without
        bos, eos and whatever its row has after that. A sentence that reaches
        ``max_length`` without an eos ends there.
    """
    ### BEGIN SOLUTION
    tgt = torch.full((batch, 1), bos)
    ended = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
        ended = ended | (newest == eos)
        if ended.all():
            break
    rows = tgt[:, 1:].tolist()
    return [row[: row.index(eos)] if eos in row else row for row in rows]
    ### END SOLUTION


@other
def greedy_by_lists(decode, batch, max_length, bos=1, eos=2):
    rows = [[bos] for _ in range(batch)]
    for _ in range(max_length):
        logits = decode(torch.tensor(rows))
        for row, answer in zip(rows, logits, strict=True):
            row.append(int(answer[-1].argmax()))
    written = []
    for row in rows:
        ids = []
        for token in row[1:]:
            if token == eos:
                break
            ids.append(token)
        written.append(ids)
    return written


@other
def greedy_with_padding(decode, batch, max_length, bos=1, eos=2):
    tgt, written = torch.full((batch, 1), bos), [[] for _ in range(batch)]
    open_rows = set(range(batch))
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].softmax(dim=-1).max(dim=-1).indices
        for row in sorted(open_rows):
            if newest[row] == eos:
                open_rows.remove(row)
            else:
                written[row].append(newest[row].item())
        newest[[row not in open_rows for row in range(batch)]] = 0
        if not open_rows:
            break
        tgt = torch.hstack([tgt, newest.view(-1, 1)])
    return written


EDITS = """
# runs_to_the_limit (#when-to-stop)
- ended.all() -> False
- [row[: row.index(eos)] if eos in row else row for row in rows] -> rows
Your search never looks for eos: it writes on to the limit.

What a row holds after its eos means nothing: the model has not learned what to
say there.

# goes_on_for_the_others (#when-to-stop)
- [row[: row.index(eos)] if eos in row else row for row in rows] -> rows
A row of yours keeps its eos, and what was written behind it.

The rows of a batch end at different positions: cut each of them at its own
eos.

# eos_left_out_only (#when-to-stop)
- row[: row.index(eos)] if eos in row else row
+ [i for i in row if i != eos]
or
- ended.all() -> False
- row[: row.index(eos)] if eos in row else row
+ [i for i in row if i != eos]
You remove eos from a row, but keep what stands after it.

The row of a sentence that has ended goes on as long as the search does. Remove
all that comes after eos as well.

# one_end_stops_all (#when-to-stop)
- ended.all() -> ended.any()
or
-     tgt = torch.cat
+     if (newest == eos).any():
+         break
+     tgt = torch.cat
The first sentence that ends stops all the others.

Each row has an end of its own. Go on until the last of them has ended.

# first_row_stops_all (#when-to-stop)
- ended.all() -> ended[0]
When the first sentence of the batch ends, all end.

Each row has an end of its own. Go on until the last of them has ended.

# must_end_together (#when-to-stop)
- ended | (newest == eos) -> newest == eos
- [row[: row.index(eos)] if eos in row else row for row in rows]
+ [row[:-1] for row in rows] if ended.all() else rows
Your search ends only if all sentences write eos in the same step.

Sentences have different lengths. Remember for each row whether it has had its
eos, and cut it there.

# bos_not_given
- 1), bos) -> 1), 0)
Your rows do not begin with bos.

The model has learned to begin after bos. After anything else it may say
anything.

# first_row_for_all
- [:, -1].argmax(dim=-1) -> [0, -1].argmax().expand(batch)
All sentences of your batch get the tokens of the first one.

Do you read only one row of the logits, give the model only one row, or take
one argmax for all? Row i belongs to sentence i: take an argmax in each.

# eos_kept
- index(eos) -> index(eos) + 1
Your sentences end with eos.

eos says that a sentence has ended. It is not part of it: do not return it.

# bos_kept
- tgt[:, 1:] -> tgt
Your sentences begin with bos.

bos was there before anything was written: do not return it.

# bos_and_eos_kept
- index(eos) -> index(eos) + 1
- tgt[:, 1:] -> tgt
Your sentences begin with bos and end with eos.

Both are marks for the search. Return only what stands between them.

# padding_kept
- argmax(dim=-1) -> argmax(dim=-1).masked_fill(ended, 0)
- row[: row.index(eos)] if eos in row else row
+ [i for i in row if i != eos]
Your sentences are filled up with 0.

You may pad a row that has ended while the others go on. But do not return the
padding.

# padding_to_the_limit
- argmax(dim=-1) -> argmax(dim=-1).masked_fill(ended, 0)
- ended.all() -> False
- row[: row.index(eos)] if eos in row else row
+ [i for i in row if i != eos]
Your sentences are filled up with 0, as far as the limit.

Do not return the padding. And when all rows have ended, the search is over.

# only_the_last_token (#the-cache-do-not-compute-it-again)
- decode(tgt) -> decode(tgt[:, -1:])
You give the model only the last token.

Without a cache it remembers nothing, and takes each token for the first one.
Give it all that is written, each time.

# first_place_read
- [:, -1] -> [:, 0]
You read the answer at the first position.

There the model says what comes after bos, the same each time. The next token
is at the last position. Or do you give the model nothing but bos, each time?

# least_probable
- argmax -> argmin
You take the *least* probable token, each time.

The larger a logit, the more probable its token.

# first_word_lost
- row[: -> row[1 :
- else row -> else row[1:]
or
- tgt[:, 1:] -> tgt[:, 2:]
Your sentences lack their first word.

You remove one token too many at the beginning: only bos has to go.

# last_word_lost
- index(eos)] -> index(eos) - 1]
or
- row.index(eos)] -> max(0, row.index(eos) - 1)]
Your sentences lack their last word, where they end with eos.

You cut one position too early: the word ahead of eos belongs to the sentence.

# last_token_taken_off
- row[: row.index(eos)] if eos in row else row -> row[:-1]
or
- [row[: row.index(eos)] if eos in row else row for row in rows]
+ [row[:-1] if eos in row else row for row in rows]
You remove the last token of a row, as if that were its eos.

In a batch, sentences end at different positions: a row may go on after its
eos. Look for the eos of each row.

# one_token_too_few (#when-to-stop)
- range(max_length) -> range(max_length - 1)
A sentence that reaches the limit comes out one token short.

Do you count bos among the `max_length` tokens? Does your loop run one time too
few? Or do you remove the last token without looking whether it is eos?

# one_token_too_many (#when-to-stop)
- range(max_length) -> range(max_length + 1)
You write one token more than `max_length` allows.

Does your loop run one time too many? bos is not counted, but all that is
written is.

# limit_forgotten (#when-to-stop)
- range(max_length) -> range(8)
Your search never uses `max_length`.

A model may never write eos: without a limit, the search may go on for ever.

# every_place_appended
- newest[:, None] -> decode(tgt).argmax(dim=-1)
You append an answer for *each* position of a row, in each step.

The logits of a row say what comes after each of its tokens. Append only what
comes after the last one.

# unended_thrown_away (#when-to-stop)
- else row -> else []
A sentence that reaches the limit without an eos comes out empty.

It ends there, and what was written has to be returned.

# always_two (#when-to-stop)
- tgt = torch.full -> bos, eos = 1, 2; tgt = torch.full
You take 1 for bos and 2 for eos, whatever `bos` and `eos` say.

Another vocabulary has other numbers for them.

# logits_for_ids
- argmax -> amax
You append how large the largest logit is.

Append the token that has it: the position of the logit is the token's id.

# one_sentence_returned (#when-to-stop)
- for row in rows] -> for row in rows][0]
You return the ids of the first sentence alone.

Return a list with a list for each sentence of the batch, even if there is only
one.

# filled_with_eos (#when-to-stop)
- argmax(dim=-1) -> argmax(dim=-1).masked_fill(ended, eos)
- [row[: row.index(eos)] if eos in row else row for row in rows] -> rows
Your sentences are filled up with eos.

You may fill a row that has ended while the others go on. But return neither
its eos nor what comes after it.

# padding_over_eos (#when-to-stop)
-     tgt = torch.cat([tgt, newest[:, None]], dim=1)
-     ended = ended | (newest == eos)
+     ended = ended | (newest == eos)
+     newest = newest.masked_fill(ended, 0)
+     tgt = torch.cat([tgt, newest[:, None]], dim=1)
You put padding in the place of eos itself, and then look for an eos.

So your sentences come back with padding at their ends. Write the eos first,
and pad after it.
"""


@mistake
def ended_rows_dropped(decode, batch, max_length, bos=1, eos=2):
    """You leave out the rows that have ended, so that the others move up into
    their places.

    To the model row i belongs to sentence i, always. Give it all rows, each
    time.
    """
    tgt, alive = torch.full((batch, 1), bos), list(range(batch))
    done = [[] for _ in range(batch)]
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        keep = (newest != eos).nonzero()[:, 0]
        tgt = torch.cat([tgt, newest[:, None]], dim=1)[keep]
        alive = [alive[i] for i in keep.tolist()]
        for place, row in zip(alive, tgt[:, 1:].tolist(), strict=True):
            done[place] = row
        if not alive:
            break
    return done


@variant_of(ended_rows_dropped)
def ended_rows_first(decode, batch, max_length, bos=1, eos=2):
    tgt, done = torch.full((batch, 1), bos), []
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        ended = newest == eos
        done += tgt[ended, 1:].tolist()
        tgt = torch.cat([tgt, newest[:, None]], dim=1)[~ended]
        if not len(tgt):
            break
    return done + tgt[:, 1:].tolist()


@mistake
def one_list_for_all(decode, batch, max_length, bos=1, eos=2):
    """All your rows are one and the same list.

    Do you use `[[bos]] * batch`? It repeats one list, and what you append to
    one row stands in all of them.
    """
    rows = [[bos]] * batch
    for _ in range(max_length):
        for row, answer in zip(rows, decode(torch.tensor(rows)), strict=True):
            row.append(int(answer[-1].argmax()))
    rows = [row[1:] for row in rows]
    return [row[: row.index(eos)] if eos in row else row for row in rows]


class Speaker:
    """A model that writes a fixed text in each row.

    After another beginning, or after the end, its output is arbitrary.

    Args:
        lines: the ids of each row, eos included.
        bos: what it must be given to begin.
    """

    VOCAB = 10

    def __init__(self, *lines: list[int], bos: int = 1):
        self.lines, self.bos = lines, bos
        self.__name__ = f"that says {list(lines)}"

    def __call__(self, tgt_in: Tensor) -> Tensor:
        logits = torch.zeros(*tgt_in.shape, self.VOCAB)
        for number, row in enumerate(tgt_in.tolist()):
            for place in range(len(row)):
                token = self.after(number, row[: place + 1])
                logits[number, place, token] = 1.0
                logits[number, place, 9] = -1.0
        return logits

    def after(self, number: int, begun: list[int]) -> int:
        """The most probable token after a prefix."""
        line = [self.bos, *self.lines[number]]
        if begun == line[: len(begun)] and len(begun) < len(line):
            return line[len(begun)]
        return 4 + sum(begun) % 4


def draw_speaker(draw: Draw) -> Case:
    lines = []
    for _ in range(draw.size(1, 4)):
        words = [draw.size(4, 8) for _ in range(draw.size(0, 5))]
        lines.append([*words, 2])
    speaker = Speaker(*lines)
    return case("a random speaker", speaker, len(lines), draw.size(3, 7))


EXERCISE = exercise_of(
    greedy_search,
    section="13_generation#a-model-of-three-words",
    points=2,
    hints=(
        "Begin with a column of bos. What does the model tell you about it, "
        "and where in its logits is the answer to the *last* token? When may "
        "you stop, and what has each row got by then that it should not?",
        "In a loop: logits of all that there is so far, the argmax at the "
        "last position of each row, one more column. Remember which rows "
        "have had their eos, and stop when all have. In the end cut each row "
        "at its own eos.",
    ),
    cases=[
        case("one word", Speaker([4, 2]), 1, 5),
        case("three words", Speaker([4, 5, 6, 2]), 1, 5),
        case("nothing at all", Speaker([2]), 1, 3),
        case("the limit is reached", Speaker([4, 5, 6, 2]), 1, 2),
        case("the end is far beyond it", Speaker([6, 5, 4, 7, 2]), 1, 2),
        case("the limit falls on eos", Speaker([4, 5, 2]), 1, 3),
        case("the limit falls on the last word", Speaker([4, 5, 2]), 1, 2),
        case("a limit of one token", Speaker([6, 2]), 1, 1),
        case("the first row is longer", Speaker([4, 5, 6, 2], [7, 2]), 2, 6),
        case("the first row is shorter", Speaker([7, 2], [4, 5, 6, 2]), 2, 6),
        case("one row is unended", Speaker([5, 2], [6, 7, 8, 4, 2]), 2, 3),
        case("both end at once", Speaker([5, 6, 2], [7, 8, 2]), 2, 6),
        case("other marks", Speaker([4, 5, 3], bos=0), 1, 4, 0, 3),
    ],
    draw=draw_speaker,
)
