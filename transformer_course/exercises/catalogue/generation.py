"""Exercises of chapter 13: generation."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
    variant_of,
)

GREEDY = "13_generation#a-model-of-three-words"
STOP = "13_generation#when-to-stop"
PENALTY = "13_generation#when-the-likelier-translation-is-worse"
DRAWING = "13_generation#drawing-in-place-of-choosing"
CACHE = "13_generation#the-cache-do-not-compute-it-again"
SCALE = "05_score_functions#divide-by-the-root"

# --- greedy_search -----------------------------------------------------------


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
    while tgt.size(1) <= max_length and not ended.all():
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
        ended = ended | (newest == eos)
    rows = tgt[:, 1:].tolist()
    return [row[: row.index(eos)] if eos in row else row for row in rows]
    ### END SOLUTION


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


def extended(decode, tgt, steps, stop=None):
    """Rows with so many more tokens; ``stop`` may end it earlier."""
    for _ in range(steps):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
        if stop is not None and stop(tgt):
            break
    return tgt


def cut(rows, eos):
    """Each row up to its eos."""
    return [row[: row.index(eos)] if eos in row else row for row in rows]


def have_ended(eos):
    """Whether every row has an eos."""
    return lambda tgt: bool((tgt == eos).any(dim=1).all())


@see(STOP)
def runs_to_the_limit(decode, batch, max_length, bos=1, eos=2):
    """Your search never looks for eos: it writes on to the limit.

    Nothing is to be read after the end. The model has not learned what to
    say there, and says anything.
    """
    tgt = torch.full((batch, 1), bos)
    return extended(decode, tgt, max_length)[:, 1:].tolist()


@see(STOP)
def goes_on_for_the_others(decode, batch, max_length, bos=1, eos=2):
    """What ended early is written on, as long as another row has not ended.

    The search stops at the right time. But the rows of a batch end at
    different places, and each must be cut at its own eos.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(decode, tgt, max_length, have_ended(eos))
    return tgt[:, 1:].tolist()


@see(STOP)
def eos_left_out_only(decode, batch, max_length, bos=1, eos=2):
    """You take eos out of a row, but keep what stands after it.

    A sentence that has ended goes on in its row, as long as the search does.
    All that comes after eos has to go.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(decode, tgt, max_length, have_ended(eos))
    return [[i for i in row if i != eos] for row in tgt[:, 1:].tolist()]


@variant_of(eos_left_out_only)
def eos_left_out_at_the_limit(decode, batch, max_length, bos=1, eos=2):
    tgt = extended(decode, torch.full((batch, 1), bos), max_length)
    return [[i for i in row if i != eos] for row in tgt[:, 1:].tolist()]


@see(STOP)
def one_end_stops_all(decode, batch, max_length, bos=1, eos=2):
    """The first sentence that ends stops all the others.

    Each row has an end of its own: the search goes on as long as any one
    has not ended.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(decode, tgt, max_length, lambda t: bool((t == eos).any()))
    return cut(tgt[:, 1:].tolist(), eos)


@variant_of(one_end_stops_all)
def one_end_stops_all_before_it_is_written(
    decode, batch, max_length, bos=1, eos=2
):
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        if (newest == eos).any():
            break
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
    return tgt[:, 1:].tolist()


@see(STOP)
def first_row_stops_all(decode, batch, max_length, bos=1, eos=2):
    """When the first sentence of the batch ends, all end.

    Each row has an end of its own: the search goes on as long as any one
    has not ended.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(decode, tgt, max_length, lambda t: t[0, -1] == eos)
    return cut(tgt[:, 1:].tolist(), eos)


def ended_rows_dropped(decode, batch, max_length, bos=1, eos=2):
    """You leave out the rows that have ended, and the model takes the others
    for them.

    It saves work, but then the model has to be told which sources are left.
    Here row i is about sentence i: give it all rows.
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


@see(STOP)
def must_end_together(decode, batch, max_length, bos=1, eos=2):
    """Your search ends only if all sentences write eos in the same step.

    They have different lengths. Remember for each row whether it has had its
    eos, and cut it there.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(
        decode, tgt, max_length, lambda t: bool((t[:, -1] == eos).all())
    )
    rows = tgt[:, 1:]
    together = rows.size(1) and bool((rows[:, -1] == eos).all())
    return (rows[:, :-1] if together else rows).tolist()


def bos_not_given(decode, batch, max_length, bos=1, eos=2):
    """Your rows do not begin with bos.

    The model has only ever begun after bos; after anything else it does not
    know where it is.
    """
    tgt = extended(decode, torch.zeros(batch, 1).long(), max_length)
    return cut(tgt[:, 1:].tolist(), eos)


def first_row_for_all(decode, batch, max_length, bos=1, eos=2):
    """All sentences of your batch get the tokens of the first one.

    Is only one row of the logits looked at, one row given to the model, or
    one argmax taken for all? Each row chooses for itself, and row i is about
    sentence i.
    """
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        newest = decode(tgt)[0, -1].argmax()
        tgt = torch.cat([tgt, newest.expand(batch, 1)], dim=1)
    return cut(tgt[:, 1:].tolist(), eos)


def one_list_for_all(decode, batch, max_length, bos=1, eos=2):
    """All your rows are one and the same list.

    `[[bos]] * batch` makes one list and names it several times: what is
    appended to one row stands in all of them.
    """
    rows = [[bos]] * batch
    for _ in range(max_length):
        for row, answer in zip(rows, decode(torch.tensor(rows)), strict=True):
            row.append(int(answer[-1].argmax()))
    return cut([row[1:] for row in rows], eos)


def eos_kept(decode, batch, max_length, bos=1, eos=2):
    """Your sentences end with eos.

    It says that the sentence has ended. It is no part of it, and is not to
    be returned.
    """
    tgt = torch.full((batch, 1), bos)
    rows = extended(decode, tgt, max_length)[:, 1:].tolist()
    return [row[: row.index(eos) + 1] if eos in row else row for row in rows]


def bos_kept(decode, batch, max_length, bos=1, eos=2):
    """Your sentences begin with bos.

    It was there before anything was written: it is not to be returned.
    """
    tgt = torch.full((batch, 1), bos)
    return cut(extended(decode, tgt, max_length).tolist(), eos)


def bos_and_eos_kept(decode, batch, max_length, bos=1, eos=2):
    """Your sentences begin with bos and end with eos.

    Both are marks for the search. Only what stands between them is to be
    returned.
    """
    tgt = torch.full((batch, 1), bos)
    rows = extended(decode, tgt, max_length).tolist()
    return [row[: row.index(eos) + 1] if eos in row else row for row in rows]


def pinned(decode, batch, max_length, bos, eos, early):
    """Rows in which padding follows eos, and only bos and eos are left out."""
    tgt, ended = torch.full((batch, 1), bos), torch.zeros(batch).bool()
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1).masked_fill(ended, 0)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
        ended = ended | (newest == eos)
        if early and ended.all():
            break
    return [[i for i in row if i != eos] for row in tgt[:, 1:].tolist()]


def padding_kept(decode, batch, max_length, bos=1, eos=2):
    """Your sentences are filled up with 0.

    A row that has ended is padded while the others go on. The padding is not
    to be returned, any more than eos is.
    """
    return pinned(decode, batch, max_length, bos, eos, early=True)


def padding_to_the_limit(decode, batch, max_length, bos=1, eos=2):
    """Your sentences are filled up with 0, as far as the limit.

    The padding is not to be returned, any more than eos is. (And when all
    rows have ended there is nothing more to ask.)
    """
    return pinned(decode, batch, max_length, bos, eos, early=False)


@see(CACHE)
def only_the_last_token(decode, batch, max_length, bos=1, eos=2):
    """You give the model only the last token.

    Without a cache it has no memory: it takes each token for the first one,
    and goes round in circles. It needs the whole beginning, each time.
    """
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        newest = decode(tgt[:, -1:])[:, -1].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
    return cut(tgt[:, 1:].tolist(), eos)


def first_place_read(decode, batch, max_length, bos=1, eos=2):
    """You read the answer at the first place.

    There the model says what comes after bos, and always the same. What
    comes after all that is written stands at the last place.
    """
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        newest = decode(tgt)[:, 0].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
    return cut(tgt[:, 1:].tolist(), eos)


def least_probable(decode, batch, max_length, bos=1, eos=2):
    """You take the *least* probable token, each time."""
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmin(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
    return cut(tgt[:, 1:].tolist(), eos)


def first_word_lost(decode, batch, max_length, bos=1, eos=2):
    """Your sentences lack their first word.

    You take off one token more in front than bos.
    """
    tgt = torch.full((batch, 1), bos)
    rows = cut(extended(decode, tgt, max_length)[:, 1:].tolist(), eos)
    return [row[1:] for row in rows]


@see(STOP)
def one_token_too_few(decode, batch, max_length, bos=1, eos=2):
    """A sentence that reaches the limit comes out one token short.

    Do you count bos? `max_length` is about what is written, and bos is not.
    Or do you take off the last token without looking whether it is eos?
    """
    tgt = torch.full((batch, 1), bos)
    return cut(extended(decode, tgt, max_length - 1)[:, 1:].tolist(), eos)


@see(STOP)
def one_token_too_many(decode, batch, max_length, bos=1, eos=2):
    """You write one token more than `max_length` allows."""
    tgt = torch.full((batch, 1), bos)
    return cut(extended(decode, tgt, max_length + 1)[:, 1:].tolist(), eos)


@see(STOP)
def limit_forgotten(decode, batch, max_length, bos=1, eos=2):
    """Your search never looks at `max_length`.

    A model need not ever write eos: without a limit it may go on for ever.
    """
    tgt = torch.full((batch, 1), bos)
    tgt = extended(decode, tgt, max_length + 100, have_ended(eos))
    return cut(tgt[:, 1:].tolist(), eos)


def every_place_appended(decode, batch, max_length, bos=1, eos=2):
    """You append an answer for *each* place of a row, in each step.

    The logits of a row answer what comes after each of its tokens. Only what
    comes after the last one is new.
    """
    tgt = torch.full((batch, 1), bos)
    for _ in range(max_length):
        tgt = torch.cat([tgt, decode(tgt).argmax(dim=-1)], dim=1)
    return cut(tgt[:, 1:].tolist(), eos)


@see(STOP)
def unended_thrown_away(decode, batch, max_length, bos=1, eos=2):
    """A sentence that reaches the limit without an eos comes out empty.

    It ends there: what was written is kept.
    """
    tgt = torch.full((batch, 1), bos)
    rows = extended(decode, tgt, max_length)[:, 1:].tolist()
    return [row[: row.index(eos)] if eos in row else [] for row in rows]


@see(STOP)
def always_two(decode, batch, max_length, bos=1, eos=2):
    """You take 1 for bos and 2 for eos, whatever `bos` and `eos` say."""
    return greedy_search(decode, batch, max_length)


class Speaker:
    """A model that says one thing in each row, if it is read to properly.

    To a beginning that is not its own, or after its end, it says anything.

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
        """The most probable token after a beginning."""
        line = [self.bos, *self.lines[number]]
        if begun == line[: len(begun)] and len(begun) < len(line):
            return line[len(begun)]
        return 4 + sum(begun) % 4


def draw_speaker(draw: Draw) -> Case:
    lines = []
    for _ in range(draw.size(1, 4)):
        words = [draw.size(4, 8) for _ in range(draw.size(0, 5))]
        lines.append([*words, 2])
    return case(
        "a random speaker", Speaker(*lines), len(lines), draw.size(3, 7)
    )


GREEDY_SEARCH = Exercise(
    solution=greedy_search,
    section=GREEDY,
    points=2,
    hints=(
        "Begin with a column of bos. What does the model tell you about it, "
        "and where in its logits is the answer to the *last* token? When may "
        "you stop, and what has each row got by then that it should not?",
        "In a loop: logits of all that there is so far, the argmax of the "
        "last place in each row, one more column. Remember which rows have "
        "had their eos, and stop when all have. In the end cut each row at "
        "its own eos.",
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
    others=[greedy_by_lists, greedy_with_padding],
    mistakes=[
        runs_to_the_limit,
        goes_on_for_the_others,
        eos_left_out_only,
        eos_left_out_at_the_limit,
        one_end_stops_all,
        one_end_stops_all_before_it_is_written,
        first_row_stops_all,
        ended_rows_dropped,
        ended_rows_first,
        must_end_together,
        bos_not_given,
        first_row_for_all,
        one_list_for_all,
        eos_kept,
        bos_kept,
        bos_and_eos_kept,
        padding_kept,
        padding_to_the_limit,
        only_the_last_token,
        first_place_read,
        least_probable,
        first_word_lost,
        one_token_too_few,
        one_token_too_many,
        limit_forgotten,
        every_place_appended,
        unended_thrown_away,
        always_two,
    ],
)

# --- beam_scores -------------------------------------------------------------


def beam_scores(
    tgt: Int[Tensor, "beam length"],
    log_probs: Float[Tensor, " beam"],
    alpha: float,
) -> Float[Tensor, " beam"]:
    """What a beam ranks its hypotheses by: the length penalty of GNMT.

    Args:
        tgt: a row for each hypothesis: bos (1), the tokens written, and then
            eos (2) if it has ended; pad (0) fills up.
        log_probs: log p of each hypothesis, the sum of its tokens'
            log-probabilities: logarithms already, 0 or below.
        alpha: the exponent; with 0 nothing changes.

    Returns:
        The score of each hypothesis: s = log p / ((5 + length) / 6)^alpha,
        in the order and the dtype of ``log_probs``. The length counts what
        was written in its row: eos if it is there, but neither bos nor pad.
    """
    ### BEGIN SOLUTION
    lengths = (tgt[:, 1:] != 0).sum(dim=1)
    return log_probs / ((5 + lengths) / 6) ** alpha
    ### END SOLUTION


def scores_by_loop(tgt, log_probs, alpha):
    scores = []
    for row, log_p in zip(tgt.tolist(), log_probs, strict=True):
        length = len([token for token in row if token > 1])
        scores.append(log_p / math.pow((5 + length) / 6, alpha))
    return torch.stack(scores)


def scores_by_logarithms(tgt, log_probs, alpha):
    pads = tgt.eq(0).sum(dim=1)
    length = tgt.size(1) - 1 - pads
    penalty = alpha * (torch.log(5.0 + length) - math.log(6))
    return log_probs * torch.exp(-penalty).to(log_probs.dtype)


def written(tgt):
    """The number of tokens, without bos and padding."""
    return (tgt[:, 1:] != 0).sum(dim=1)


def multiplied(tgt, log_probs, alpha):
    """You multiply by the length penalty.

    Log-probabilities are negative: multiplied, those of long sentences fall
    even lower. The penalty is there to *lift* them.
    """
    return log_probs * ((5 + written(tgt)) / 6) ** alpha


def brackets_left_out(tgt, log_probs, alpha):
    """Your exponent reaches the 6 alone.

    `a / b / c**d` divides a by b, and the result by c**d. The whole
    fraction needs brackets, and the exponent stands behind them.
    """
    return log_probs / (5 + written(tgt)) / 6**alpha


def best_first(tgt, log_probs, alpha):
    """Your scores are sorted.

    Which hypothesis a score belongs to is told by its place. Who ranks them
    needs that.
    """
    scores = log_probs / ((5 + written(tgt)) / 6) ** alpha
    return scores.sort(descending=True).values


def sign_turned(tgt, log_probs, alpha):
    """Your scores have the other sign.

    They are positive, and the best hypothesis has the smallest. A beam keeps
    the largest.
    """
    return -log_probs / ((5 + written(tgt)) / 6) ** alpha


def alpha_turned(tgt, log_probs, alpha):
    """Your exponent is 1/α.

    A larger α should mean more help for long sentences; with yours it is
    less, and with 0 it fails.
    """
    if alpha == 0:
        raise ZeroDivisionError("division by zero")
    return log_probs / ((5 + written(tgt)) / 6) ** (1 / alpha)


def bos_counted(tgt, log_probs, alpha):
    """You count bos.

    Your lengths are one too large: bos was given, not written.
    """
    return log_probs / ((6 + written(tgt)) / 6) ** alpha


def eos_not_counted(tgt, log_probs, alpha):
    """You do not count eos.

    It is a token that was written, and its logarithm is in the sum.
    """
    words = (tgt > 2).sum(dim=1)
    return log_probs / ((5 + words) / 6) ** alpha


def eos_always_counted(tgt, log_probs, alpha):
    """You count an eos in each hypothesis, and one that has not ended has
    none.

    Your length seems to be that of its words and one more. What counts is
    what was written.
    """
    words = (tgt > 2).sum(dim=1)
    return log_probs / ((6 + words) / 6) ** alpha


def hypotheses_counted(tgt, log_probs, alpha):
    """You take the number of hypotheses for the length.

    `len` of a tensor is the size of its first axis, the beam. Each
    hypothesis has a length of its own, along the second.
    """
    return log_probs / ((5 + len(tgt)) / 6) ** alpha


def last_place_not_counted(tgt, log_probs, alpha):
    """You take one off for eos in each row.

    Eos counts, for it was written. And a hypothesis that has not ended has
    none to be taken off.
    """
    return log_probs / ((4 + written(tgt)) / 6) ** alpha


def padding_counted(tgt, log_probs, alpha):
    """All hypotheses of your beam have one length: you count padding.

    A beam with finished and unfinished hypotheses is where lengths have to
    compete.
    """
    return log_probs / ((4 + tgt.size(1)) / 6) ** alpha


def lengths_summed(tgt, log_probs, alpha):
    """All hypotheses of your beam have one length: that of all together.

    The sum runs over the whole beam. Each row has a length of its own.
    """
    return log_probs / ((5 + written(tgt).sum()) / 6) ** alpha


def all_places_counted(tgt, log_probs, alpha):
    """All hypotheses of your beam have one length: you count padding, and
    bos.

    What counts is the tokens written.
    """
    return log_probs / ((5 + tgt.size(1)) / 6) ** alpha


def length_itself(tgt, log_probs, alpha):
    """You divide by the length to the power of alpha.

    That is another penalty, and a much stronger one. Here the length comes
    with 5 added, and over 6.
    """
    return log_probs / written(tgt) ** alpha


def five_left_out(tgt, log_probs, alpha):
    """You divide by (length / 6) to the power of alpha: the 5 is missing.

    It keeps short sentences from being judged by their length alone: a
    sentence of one token has a penalty of exactly 1.
    """
    return log_probs / (written(tgt) / 6) ** alpha


def base_and_exponent_exchanged(tgt, log_probs, alpha):
    """You raise alpha to the power of the length.

    The fraction is the base and alpha the exponent.
    """
    return log_probs / alpha ** ((5 + written(tgt)) / 6)


def mean_per_token(tgt, log_probs, alpha):
    """You divide by the length: a mean per token, whatever alpha is.

    That is another penalty. Here the length comes with 5 added, over 6, and
    to the power of alpha.
    """
    return log_probs / written(tgt)


def without_alpha(tgt, log_probs, alpha):
    """You never use alpha: your exponent is always 1.

    It says how much length should count, and is chosen on a development set.
    """
    return log_probs / ((5 + written(tgt)) / 6)


def times_alpha(tgt, log_probs, alpha):
    """You multiply by alpha where it should be the exponent.

    With alpha = 0 you would divide by 0.
    """
    return log_probs / (alpha * (5 + written(tgt)) / 6)


def six_outside_the_power(tgt, log_probs, alpha):
    """You take the power of 5 + length, and divide it by 6 afterwards.

    The exponent belongs to the whole fraction. With alpha = 0 nothing should
    change; yours gets 6 times as large.
    """
    return log_probs / ((5 + written(tgt)) ** alpha / 6)


def only_length_over_six(tgt, log_probs, alpha):
    """You divide only the length by 6, not 5 + length.

    Brackets: a sentence of one token has a penalty of exactly 1.
    """
    return log_probs / (5 + written(tgt) / 6) ** alpha


def six_left_out(tgt, log_probs, alpha):
    """You do not divide by 6.

    The order of the hypotheses would be the same. But a score should be
    log p itself for one token, and can then be compared.
    """
    return log_probs / (5.0 + written(tgt)) ** alpha


def penalty_taken_off(tgt, log_probs, alpha):
    """You subtract the length penalty from the log-probability.

    The formula divides. Subtracted, it makes long sentences worse.
    """
    return log_probs - ((5 + written(tgt)) / 6) ** alpha


def penalty_added(tgt, log_probs, alpha):
    """You add the length penalty to the log-probability.

    That is another rule, a reward for each word. Here the formula divides.
    """
    return log_probs + ((5 + written(tgt)) / 6) ** alpha


def of_probabilities(tgt, log_probs, alpha):
    """You take the exponential of the log-probabilities first.

    Divided, a *probability* of a long sentence gets even smaller. It is the
    logarithm, a negative number, that is divided.
    """
    return log_probs.exp() / ((5 + written(tgt)) / 6) ** alpha


def not_penalised(tgt, log_probs, alpha):
    """Your scores are the log-probabilities as they are.

    Every word costs, so the shortest hypothesis wins.
    """
    return log_probs * 1.0


def draw_beam(draw: Draw) -> Case:
    words = draw.ids(draw.size(1, 4), draw.size(1, 6))
    words += 3 * (words != 0)
    beam, length = words.shape
    tgt = torch.zeros(beam, length + 2, dtype=torch.long)
    tgt[:, 0], tgt[:, 1:-1] = 1, words
    for row in tgt:
        if draw.choice([True, True, False]):
            row[int((row != 0).sum())] = 2
    log_probs = -3 * draw.normal(beam).abs()
    return case("a random beam", tgt, log_probs, draw.choice([0.6, 1.0, 1.8]))


BEAM_SCORES = Exercise(
    solution=beam_scores,
    section=PENALTY,
    points=2,
    hints=(
        "Which tokens count? Take the empty sentence, bos and eos: its "
        "length is 1, and its penalty (5 + 1) / 6 = 1, so that its score is "
        "its log-probability. Is yours?",
        "Compare all but the first column with padding, and sum along each "
        "row: these are the lengths. The formula then goes over the whole "
        "beam at once.",
    ),
    cases=[
        case(
            "the empty sentence: its penalty is 1",
            torch.tensor([[1, 2]]),
            torch.tensor([-2.0]),
            1.0,
        ),
        case(
            "six words and eos: its penalty is 2",
            torch.tensor([[1, 4, 5, 6, 7, 8, 9, 2]]),
            torch.tensor([-3.0]),
            1.0,
        ),
        case(
            "alpha 0",
            torch.tensor([[1, 4, 2], [1, 2, 0]]),
            torch.tensor([-3.0, -2.0]),
            0.0,
        ),
        case(
            "a short one and a long one",
            torch.tensor([[1, 2, 0, 0], [1, 4, 5, 2]]),
            torch.tensor([-2.0, -2.4]),
            0.6,
        ),
        case(
            "not ended yet",
            torch.tensor([[1, 4, 5], [1, 4, 2]]),
            torch.tensor([-1.0, -1.5]),
            1.0,
        ),
        case(
            "the chapter's two sentences",
            torch.tensor([[1, 2, 0, 0, 0, 0, 0, 0], [1, 4, 5, 6, 7, 8, 9, 2]]),
            torch.tensor([-2.30, -3.17]),
            0.47,
        ),
        case(
            "float64",
            torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]]),
            torch.tensor([-3.0, -2.5], dtype=torch.float64),
            2.0,
        ),
    ],
    draw=draw_beam,
    others=[scores_by_loop, scores_by_logarithms],
    mistakes=[
        multiplied,
        brackets_left_out,
        best_first,
        sign_turned,
        alpha_turned,
        bos_counted,
        eos_not_counted,
        eos_always_counted,
        hypotheses_counted,
        last_place_not_counted,
        padding_counted,
        lengths_summed,
        all_places_counted,
        length_itself,
        five_left_out,
        base_and_exponent_exchanged,
        mean_per_token,
        without_alpha,
        times_alpha,
        six_outside_the_power,
        only_length_over_six,
        six_left_out,
        penalty_taken_off,
        penalty_added,
        of_probabilities,
        not_penalised,
    ],
)

# --- cut_tail ----------------------------------------------------------------


def cut_tail(
    probabilities: Float[Tensor, "rows vocab"], p: float
) -> Float[Tensor, "rows vocab"]:
    """Top-p: keep the smallest set of words that holds the share p.

    Args:
        probabilities: a distribution in each row. No two words of a row are
            equally probable.
        p: above 0, and at most 1.

    Returns:
        Distributions again, the words in their old places, in the old dtype.
        In each row words are kept from the most probable on, until their sum
        is p or more: at least one word. All others get 0, and those kept are
        divided by their sum.
    """
    ### BEGIN SOLUTION
    ordered, order = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    kept = ordered * (before < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)
    ### END SOLUTION


def tail_by_loop(probabilities, p):
    rows = []
    for row in probabilities:
        keep, total = torch.zeros_like(row), 0.0
        for word in row.argsort(descending=True).tolist():
            if total >= p:
                break
            keep[word] = 1
            total += row[word].item()
        rows.append(row * keep / (row * keep).sum())
    return torch.stack(rows)


def tail_by_comparing(probabilities, p):
    larger = probabilities[:, None, :] > probabilities[:, :, None]
    before = (larger * probabilities[:, None, :]).sum(dim=-1)
    kept = probabilities.masked_fill(before >= p, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


def tail_by_logits(probabilities, p):
    ordered, order = torch.sort(probabilities, dim=1, descending=True)
    cumulative = torch.cumsum(ordered, dim=1)
    drop = torch.cat(
        [torch.zeros_like(cumulative[:, :1]), cumulative[:, :-1]], dim=1
    )
    drop = (drop >= p).gather(1, order.argsort(dim=1))
    return probabilities.log().masked_fill(drop, -torch.inf).softmax(dim=1)


def kept_where(probabilities, choose):
    """Words kept by a rule for rows in their order, divided by their sum."""
    ordered, order = probabilities.sort(dim=-1, descending=True)
    kept = ordered * choose(ordered)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def before_each(ordered):
    """The probability of all that is more probable."""
    return ordered.cumsum(dim=-1) - ordered


def word_that_reaches_p_dropped(probabilities, p):
    """You drop the word with which the sum goes beyond p.

    What you keep holds less than the share p. And where one word alone is
    more probable than p, nothing is left, and 0 is divided by 0.
    """
    return kept_where(probabilities, lambda o: o.cumsum(dim=-1) <= p)


def word_that_meets_p_dropped(probabilities, p):
    """You drop the word with which the sum reaches p.

    What you keep holds less than the share p, always. And where one word
    alone is more probable than p, nothing is left, and 0 is divided by 0.
    """
    return kept_where(probabilities, lambda o: o.cumsum(dim=-1) < p)


def only_the_first_is_safe(probabilities, p):
    """You drop the word with which the sum goes beyond p, but never the
    first.

    So nothing is divided by 0. But where more than one word is needed, what
    you keep holds less than the share p.
    """

    def choose(ordered):
        keep = ordered.cumsum(dim=-1) <= p
        keep[:, 0] = True
        return keep

    return kept_where(probabilities, choose)


def nothing_left_but_the_first(probabilities, p):
    """You drop the word with which the sum reaches p, but never the first.

    So nothing is divided by 0. But where more than one word is needed, what
    you keep holds less than the share p.
    """

    def choose(ordered):
        keep = ordered.cumsum(dim=-1) < p
        keep[:, 0] = True
        return keep

    return kept_where(probabilities, choose)


def row_left_empty(probabilities, p):
    """You drop the word with which the sum reaches p.

    What you keep holds less than the share p, always. And where one word
    alone is more probable than p, your row is all zeros: nothing could be
    drawn from it.
    """
    return word_that_meets_p_dropped(probabilities, p).nan_to_num(0.0)


def one_word_too_many(probabilities, p):
    """Where the sum is exactly p, you take one word more.

    The set that holds p is complete then.
    """
    return kept_where(probabilities, lambda o: before_each(o) <= p)


def one_more_each_time(probabilities, p):
    """You keep one word too many.

    You seem to shift the cut by one, so that the word that reaches p is
    kept; but it was kept already.
    """

    def choose(ordered):
        keep = before_each(ordered) < p
        keep[:, 1:] = keep[:, :-1].clone()
        return keep

    return kept_where(probabilities, choose)


def not_divided(probabilities, p):
    """What you keep does not sum to one.

    The words are the right ones. Divide them by their sum, or else it is no
    distribution.
    """
    ordered, order = probabilities.sort(dim=-1, descending=True)
    kept = ordered * (before_each(ordered) < p)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def divided_by_p(probabilities, p):
    """You divide by p.

    What was kept holds p *or more*, so your rows sum to more than one. It is
    their own sum that they have to be divided by.
    """
    return not_divided(probabilities, p) / p


def divided_over_all_rows(probabilities, p):
    """You divide by the sum of all rows together.

    Each row is a distribution of its own, and has to sum to one.
    """
    kept = not_divided(probabilities, p)
    return kept / kept.sum()


def logarithms_returned(probabilities, p):
    """You return logarithms, with -inf where a word is cut.

    That suits what a softmax comes after, as in the package. Probabilities
    were given here, and probabilities are asked for.
    """
    kept = not_divided(probabilities, p)
    return probabilities.log().masked_fill(kept == 0, -torch.inf)


def taken_for_logits(probabilities, p):
    """You take a softmax first, as if you had been given logits.

    These are probabilities already. Another softmax makes them nearly equal,
    so that far too many words are kept.
    """
    return cut_tail(probabilities.softmax(dim=-1), p)


def softmax_of_probabilities(probabilities, p):
    """You take a softmax of probabilities.

    The words are the right ones. But a softmax wants logits: of numbers
    between 0 and 1 it makes nearly equal shares.
    """
    kept = not_divided(probabilities, p)
    return probabilities.masked_fill(kept == 0, -torch.inf).softmax(dim=-1)


def tail_kept(probabilities, p):
    """You keep the tail: the *least* probable words, until they hold p.

    Sorted the other way, the sum begins at the wrong end.
    """
    ordered, order = probabilities.sort(dim=-1)
    kept = ordered * (before_each(ordered) < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return torch.zeros_like(kept).scatter(-1, order, kept)


def head_cut_off(probabilities, p):
    """You cut off the head and keep the tail.

    The words that hold p are found, and those are the ones that you set to
    0. Where they are all, 0 is divided by 0.
    """
    return kept_where(probabilities, lambda o: before_each(o) >= p)


def left_in_order(probabilities, p):
    """Your words have changed places: they are still sorted.

    Which word a number belongs to is told by its place. They have to go back
    to where they were.
    """
    ordered = probabilities.sort(dim=-1, descending=True).values
    kept = ordered * (before_each(ordered) < p)
    return kept / kept.sum(dim=-1, keepdim=True)


def sorted_twice(probabilities, p):
    """Your words have changed places.

    You read by the order that sorting gave you, where you should *write* by
    it. That does the sorting a second time instead of undoing it.
    """
    ordered, order = probabilities.sort(dim=-1, descending=True)
    kept = ordered * (before_each(ordered) < p)
    kept = kept / kept.sum(dim=-1, keepdim=True)
    return kept.gather(-1, order)


def mask_left_in_order(probabilities, p):
    """You choose places in the sorted row, and apply them to the row as it
    was.

    So what is kept is the first places, whatever words stand there.
    """
    ordered = probabilities.sort(dim=-1, descending=True).values
    kept = probabilities * (before_each(ordered) < p)
    return kept / kept.sum(dim=-1, keepdim=True)


def mask_sorted_twice(probabilities, p):
    """You keep the wrong words: the mask is not brought back to their places.

    You read it by the order that sorting gave you, where you should *write*
    by it. That does the sorting a second time instead of undoing it.
    """
    ordered, order = probabilities.sort(dim=-1, descending=True)
    keep = (before_each(ordered) < p).gather(-1, order)
    kept = probabilities * keep
    return kept / kept.sum(dim=-1, keepdim=True)


def never_sorted(probabilities, p):
    """You sum the words in the order of the vocabulary.

    So it depends on a word's number whether it is kept. Begin with the most
    probable.
    """
    kept = probabilities * (before_each(probabilities) < p)
    return kept / kept.sum(dim=-1, keepdim=True)


def each_above_p(probabilities, p):
    """You keep the words of which each alone has the probability p.

    The share p is that of all words kept, together. With yours hardly
    anything is left, and often nothing: 0 divided by 0.
    """
    return kept_where(probabilities, lambda o: o >= p)


def each_above_what_is_left(probabilities, p):
    """You keep each word that is at least 1 - p.

    The share p is that of all words kept, together; how probable the single
    ones are does not matter.
    """
    return kept_where(probabilities, lambda o: o >= 1 - p)


def compared_with_the_best(probabilities, p):
    """You keep the words that have p times the best one's probability.

    Others do so, and call it min-p. Top-p looks at the sum of what is kept.
    """
    return kept_where(probabilities, lambda o: o >= p * o[:, :1])


def share_of_the_vocabulary(probabilities, p):
    """You keep a share p of the *words*.

    p is a share of the probability, and how many words it takes is another
    number in each row: one where the model is sure, many where it is not.
    """
    count = max(1, int(p * probabilities.size(-1)))
    best = probabilities.topk(count, dim=-1)
    kept = torch.zeros_like(probabilities)
    kept = kept.scatter(-1, best.indices, best.values)
    return kept / kept.sum(dim=-1, keepdim=True)


def as_many_in_each_row(probabilities, p):
    """You keep equally many words in each row.

    How many it takes is found in one row, or over all. Where the model is
    sure, few words hold p; where it is not, many: each row for itself.
    """

    def choose(ordered):
        return (before_each(ordered) < p)[:1].expand_as(ordered)

    return kept_where(probabilities, choose)


def as_many_as_the_unsurest(probabilities, p):
    """You keep as many words in each row as the row that needs most.

    Where the model is sure, few words hold p, and more than these are tail:
    each row for itself.
    """

    def choose(ordered):
        return (before_each(ordered) < p).any(dim=0).expand_as(ordered)

    return kept_where(probabilities, choose)


def sorted_down_the_rows(probabilities, p):
    """You sort and sum down the columns.

    The words of a row compete with each other, so it is the last axis.
    """
    ordered, order = probabilities.sort(dim=0, descending=True)
    kept = ordered * (ordered.cumsum(dim=0) - ordered < p)
    kept = torch.zeros_like(kept).scatter(0, order, kept)
    return kept / kept.sum(dim=-1, keepdim=True)


def nothing_cut(probabilities, p):
    """Nothing is cut: you return the distribution as it was."""
    return probabilities * 1.0


def draw_rows(draw: Draw) -> Case:
    logits = 2 * draw.normal(draw.size(1, 4), draw.size(3, 7))
    p = draw.choice([0.3, 0.6, 0.8, 0.9])
    return case("random rows", logits.softmax(dim=-1), p)


CUT_TAIL = Exercise(
    solution=cut_tail,
    section=DRAWING,
    points=3,
    hints=(
        "Do it on paper for .5, .4, .1 and a share of .8: .5 is not enough, "
        ".9 is. For each word, the probability of all that is *more* probable "
        "decides. What is that for the first word, and what follows for it?",
        "Sort each row downwards and keep the indices. A cumulative sum, "
        "less the word itself, is what stands before it; compare that with "
        "p. Divide by the sum of what is left, and scatter it back by the "
        "indices.",
    ),
    cases=[
        case("the chapter's row, .8", torch.tensor([[0.5, 0.4, 0.1]]), 0.8),
        case("less than one word", torch.tensor([[0.5, 0.4, 0.1]]), 0.45),
        case("not sorted", torch.tensor([[0.1, 0.3, 0.6]]), 0.8),
        case("in another order", torch.tensor([[0.3, 0.1, 0.6]]), 0.8),
        case(
            "a sum that is exactly p",
            torch.tensor([[0.5, 0.25, 0.1875, 0.0625]]),
            0.75,
        ),
        case("everything", torch.tensor([[0.25, 0.625, 0.125]]), 1.0),
        case("a single word", torch.tensor([[1.0]]), 0.5),
        case(
            "a sure row and an unsure one",
            torch.tensor([[0.9, 0.06, 0.04], [0.2, 0.35, 0.45]]),
            0.7,
        ),
        case(
            "an unsure row and a sure one",
            torch.tensor([[0.2, 0.35, 0.45], [0.06, 0.04, 0.9]]),
            0.7,
        ),
        case(
            "float64",
            Draw(4).normal(2, 4).double().softmax(dim=-1),
            0.6,
        ),
    ],
    draw=draw_rows,
    others=[tail_by_loop, tail_by_comparing, tail_by_logits],
    mistakes=[
        word_that_reaches_p_dropped,
        word_that_meets_p_dropped,
        only_the_first_is_safe,
        nothing_left_but_the_first,
        row_left_empty,
        one_word_too_many,
        one_more_each_time,
        not_divided,
        divided_by_p,
        divided_over_all_rows,
        logarithms_returned,
        taken_for_logits,
        softmax_of_probabilities,
        tail_kept,
        head_cut_off,
        left_in_order,
        sorted_twice,
        mask_left_in_order,
        mask_sorted_twice,
        never_sorted,
        each_above_p,
        each_above_what_is_left,
        compared_with_the_best,
        share_of_the_vocabulary,
        as_many_in_each_row,
        as_many_as_the_unsurest,
        sorted_down_the_rows,
        nothing_cut,
    ],
)

# --- step_with_cache ---------------------------------------------------------


def step_with_cache(
    newest: Float[Tensor, "batch 1 d"],
    encoding: Float[Tensor, "length d"],
    keys: Float[Tensor, "batch held d"],
    values: Float[Tensor, "batch held d"],
    w_query: Float[Tensor, "d d"],
    w_key: Float[Tensor, "d d"],
    w_value: Float[Tensor, "d d"],
) -> tuple[
    Float[Tensor, "batch 1 d"],
    Float[Tensor, "batch all d"],
    Float[Tensor, "batch all d"],
]:
    """The newest token goes through one head of causal self-attention.

    Args:
        newest: its embedding, without its position.
        encoding: the positional encoding; row 0 is that of the first token,
            and there are more rows than are needed.
        keys: the cache: those of the tokens before it, in their order; at
            the first token ``held`` is 0. They were made from embedding and
            position and are projected already.
        values: the same.
        w_query: makes queries, as in ``x @ w_query``.
        w_key: makes keys.
        w_value: makes values.

    Returns:
        What scaled dot-product attention gives for the newest token, which
        sees all tokens before it and itself (nothing else of a layer: no
        residual, no norm); then all keys and all values, its own at the end.
    """
    ### BEGIN SOLUTION
    x = newest + encoding[keys.size(1)]
    keys = torch.cat([keys, x @ w_key], dim=1)
    values = torch.cat([values, x @ w_value], dim=1)
    scores = x @ w_query @ keys.transpose(-2, -1)  # (batch, 1, all)
    weights = (scores / math.sqrt(x.size(-1))).softmax(dim=-1)
    return weights @ values, keys, values
    ### END SOLUTION


def step_by_torch(newest, encoding, keys, values, w_query, w_key, w_value):
    held = keys.shape[1]
    x = newest + encoding[held : held + 1]
    keys = torch.hstack([keys, x.matmul(w_key)])
    values = torch.hstack([values, x.matmul(w_value)])
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(x.matmul(w_query), keys, values), keys, values


def step_by_loop(newest, encoding, keys, values, w_query, w_key, w_value):
    outputs, all_keys, all_values = [], [], []
    for token, k, v in zip(newest, keys, values, strict=True):
        x = token[0] + encoding[len(k)]
        k = torch.stack([*k, x @ w_key])
        v = torch.stack([*v, x @ w_value])
        scores = torch.stack([(x @ w_query) @ key for key in k])
        terms = (scores / len(x) ** 0.5).exp()
        mixed = sum(t * row for t, row in zip(terms, v, strict=True))
        outputs.append((mixed / terms.sum())[None])
        all_keys.append(k)
        all_values.append(v)
    return tuple(map(torch.stack, (outputs, all_keys, all_values)))


def step_by_einsum(newest, encoding, keys, values, w_query, w_key, w_value):
    x = newest + encoding[keys.size(1)][None, None]
    q, k, v = (
        torch.einsum("btd,de->bte", x, w) for w in (w_query, w_key, w_value)
    )
    keys, values = torch.cat((keys, k), 1), torch.cat((values, v), 1)
    scores = torch.einsum("bqd,bkd->bqk", q, keys) * q.size(-1) ** -0.5
    return (
        torch.einsum("bqk,bkd->bqd", scores.softmax(-1), values),
        keys,
        values,
    )


def attend(query, keys, values):
    """Scaled dot-product attention."""
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.size(-1))
    return scores.softmax(dim=-1) @ values


def grown(old, x, weight):
    """The cache with one more at its end."""
    return torch.cat([old, x @ weight], dim=1)


def taken_at(position):
    """A step in which the token believes to be at some position."""

    def step(newest, encoding, keys, values, w_query, w_key, w_value):
        x = newest + encoding[position(keys.size(1))]
        keys, values = grown(keys, x, w_key), grown(values, x, w_value)
        return attend(x @ w_query, keys, values), keys, values

    return step


def position_zero(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token believes to be the first one, each time.

    It comes alone, so that its place in the input is 0. Its place in the
    sentence is not: the cache knows how many came before it.
    """
    step = taken_at(lambda held: 0)
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def position_too_late(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token is one position too late.

    Positions begin at 0: when the cache is empty, the token is at 0. Do you
    count it before you ask where it is?
    """
    step = taken_at(lambda held: held + 1)
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def position_too_early(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your token has the position of the token before it.

    Positions begin at 0: with n tokens in the cache they are taken from 0 to
    n - 1. (And the first token gets the last position of all.)
    """
    step = taken_at(lambda held: held - 1)
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def position_stays_at_one(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """The first token is right, and all others believe to be the second.

    Where a token is, is not only a question of whether the cache is empty.
    """
    step = taken_at(lambda held: min(held, 1))
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def last_position(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token always has the last position that there is.

    The table of positions is longer than the sentence. How far the sentence
    has come is told by the cache.
    """
    step = taken_at(lambda held: -1)
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def all_positions_added(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You add a whole beginning of the table of positions to one token.

    By broadcasting, the one token becomes as many as there are positions.
    It has one position.
    """
    x = newest + encoding[: keys.size(1) + 1]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(x @ w_query, keys, values), keys, values


def batch_for_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your token's position is the number of sentences in the batch.

    `len` of a tensor is the size of its first axis, and that is the batch.
    The tokens of the cache lie along the second.
    """
    step = taken_at(lambda held: len(keys))
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def width_for_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your token's position is the width of a key.

    The cache is (batch, held, d): how many tokens it holds is told by the
    axis in the middle.
    """
    step = taken_at(lambda held: keys.size(2))
    return step(newest, encoding, keys, values, w_query, w_key, w_value)


def query_without_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your query has no position, though the new key and value have theirs.

    The position is added once, to the embedding; all three are made from
    the sum.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(newest @ w_query, keys, values), keys, values


def key_without_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your new key has no position, though the query and the value have
    theirs.

    The position is added once, to the embedding; all three are made from
    the sum.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, newest, w_key), grown(values, x, w_value)
    return attend(x @ w_query, keys, values), keys, values


def position_after_the_projection(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You add the position to query, key and value.

    It belongs to the embedding: added before the projections, it goes
    through them too.
    """
    position = encoding[keys.size(1)]
    keys = torch.cat([keys, newest @ w_key + position], dim=1)
    values = torch.cat([values, newest @ w_value + position], dim=1)
    return attend(newest @ w_query + position, keys, values), keys, values


def no_position(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token has no position.

    The keys in the cache were made with theirs; this one belongs beside
    them.
    """
    keys, values = grown(keys, newest, w_key), grown(values, newest, w_value)
    return attend(newest @ w_query, keys, values), keys, values


def only_the_query_has_a_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your query has a position, but the new key and value have none.

    The position is added once, to the embedding; all three are made from
    the sum.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, newest, w_key), grown(values, newest, w_value)
    return attend(x @ w_query, keys, values), keys, values


def value_without_position(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your new value has no position.

    (With rotary positions it would have none.) Here the position is added to
    the embedding, and query, key and value are made from the sum.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, newest, w_value)
    return attend(x @ w_query, keys, values), keys, values


def itself_not_seen(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token does not see itself.

    You attend first, and put its key and value into the cache afterwards.
    The causal mask hides what comes later, and a token is not later than
    itself; the first token would see nothing at all.
    """
    x = newest + encoding[keys.size(1)]
    output = attend(x @ w_query, keys, values)
    return output, grown(keys, x, w_key), grown(values, x, w_value)


def only_itself_seen(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your token sees nothing but itself.

    The cache grows as it should, but you attend to the new key and value
    alone.
    """
    x = newest + encoding[keys.size(1)]
    output = attend(x @ w_query, x @ w_key, x @ w_value)
    return output, grown(keys, x, w_key), grown(values, x, w_value)


def put_in_front(newest, encoding, keys, values, w_query, w_key, w_value):
    """You put the newest in front of the cache.

    The output is right, since attention knows no order. But the cache is to
    be in the order of the sentence.
    """
    x = newest + encoding[keys.size(1)]
    keys = torch.cat([x @ w_key, keys], dim=1)
    values = torch.cat([x @ w_value, values], dim=1)
    return attend(x @ w_query, keys, values), keys, values


def cache_left_as_it_was(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You return the cache as it was given.

    The output is right. But at the next token this one would be forgotten,
    and the position would be wrong.
    """
    x = newest + encoding[keys.size(1)]
    all_keys, all_values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(x @ w_query, all_keys, all_values), keys, values


def only_the_newest_returned(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You return the new key and value alone.

    The output is right. But at the next token all that came before would be
    forgotten.
    """
    x = newest + encoding[keys.size(1)]
    k, v = x @ w_key, x @ w_value
    output = attend(
        x @ w_query, torch.cat([keys, k], dim=1), torch.cat([values, v], dim=1)
    )
    return output, k, v


def inputs_in_the_cache(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You multiply the cached keys and values by the weights once more.

    The cache holds what has been projected already, so that it need not be
    done again. Only what is new is to be projected.
    """
    x = newest + encoding[keys.size(1)]
    keys = torch.cat([keys, x], dim=1) @ w_key
    values = torch.cat([values, x], dim=1) @ w_value
    return attend(x @ w_query, keys, values), keys, values


def keys_for_values(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your output is a mean of keys, not of values.

    The weights are right, and so is the cache.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(x @ w_query, keys, keys), keys, values


def key_and_value_swapped(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """The new key is made by the values' weights, and the new value by the
    keys'.

    What is in the cache is made the right way round.
    """
    step = step_with_cache
    return step(newest, encoding, keys, values, w_query, w_value, w_key)


def query_and_key_swapped(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """The query is made by the keys' weights, and the new key by the
    queries'.

    What is in the cache is made the right way round.
    """
    step = step_with_cache
    return step(newest, encoding, keys, values, w_key, w_query, w_value)


def query_not_projected(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your query is the token itself.

    It has weights of its own, as keys and values have.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(x, keys, values), keys, values


def one_matrix_for_query_and_key(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You make the query with the keys' weights.

    What a token looks for and what it offers are two things: queries have
    weights of their own.
    """
    step = step_with_cache
    return step(newest, encoding, keys, values, w_key, w_key, w_value)


def one_matrix_for_key_and_query(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You make the new key with the queries' weights.

    The keys in the cache were made with the keys' weights: it cannot be
    compared with them.
    """
    step = step_with_cache
    return step(newest, encoding, keys, values, w_query, w_query, w_value)


def one_matrix_for_key_and_value(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You make the new value with the keys' weights.

    What a token is found by and what it gives are two things: values have
    weights of their own.
    """
    step = step_with_cache
    return step(newest, encoding, keys, values, w_query, w_key, w_key)


def key_not_projected(newest, encoding, keys, values, w_query, w_key, w_value):
    """Your new key is the token itself.

    It has weights of its own, as queries and values have.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = torch.cat([keys, x], dim=1), grown(values, x, w_value)
    return attend(x @ w_query, keys, values), keys, values


def value_not_projected(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your new value is the token itself.

    It has weights of its own, as queries and keys have.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), torch.cat([values, x], dim=1)
    return attend(x @ w_query, keys, values), keys, values


def weights_transposed(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You multiply by the transposed weights.

    `nn.Linear` keeps its weights so. These are to be used as they stand, as
    in ``x @ w_query``.
    """
    weights = (w.T for w in (w_query, w_key, w_value))
    return step_with_cache(newest, encoding, keys, values, *weights)


def token_added(newest, encoding, keys, values, w_query, w_key, w_value):
    """You add the embedding to what attention gives.

    The residual connection is another part of the layer. Asked for is the
    output of the attention alone.
    """
    output, keys, values = step_with_cache(
        newest, encoding, keys, values, w_query, w_key, w_value
    )
    return output + newest, keys, values


def cache_before_output(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your results are the right ones, in another order.

    The output comes first, then the keys, then the values.
    """
    output, keys, values = step_with_cache(
        newest, encoding, keys, values, w_query, w_key, w_value
    )
    return keys, values, output


@see("06_masks#the-future")
def mask_of_a_single_row(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your token sees the very first token and nothing else.

    You use a causal mask, and of a table with a single row it leaves only
    the first column. The newest token may see all that is there: it needs no
    mask.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return values[:, :1] * 1.0, keys, values


@see(SCALE)
def not_scaled(newest, encoding, keys, values, w_query, w_key, w_value):
    """You do not divide the scores by the root of the width."""
    d = math.sqrt(newest.size(-1))
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return attend(d * x @ w_query, keys, values), keys, values


@see(SCALE)
def scaled_by_the_length(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You divide the scores by the root of the number of keys.

    It is the width of a key that makes dot products large, not how many
    keys there are.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    scores = x @ w_query @ keys.transpose(-2, -1) / math.sqrt(keys.size(1))
    return scores.softmax(dim=-1) @ values, keys, values


@see(SCALE)
def scaled_by_the_width(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """You divide the scores by the width, not by its root."""
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    scores = x @ w_query @ keys.transpose(-2, -1) / newest.size(-1)
    return scores.softmax(dim=-1) @ values, keys, values


@see("04_attention#three-tokens-by-hand")
def softmax_over_queries(
    newest, encoding, keys, values, w_query, w_key, w_value
):
    """Your softmax runs over the queries.

    There is only one, so every weight is 1, and your output is the sum of
    all values. A token spreads its attention over the *keys*.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    return values.sum(dim=1, keepdim=True), keys, values


def no_softmax(newest, encoding, keys, values, w_query, w_key, w_value):
    """You weigh the values by the scores as they are: there is no softmax.

    Weights are positive, and sum to one.
    """
    x = newest + encoding[keys.size(1)]
    keys, values = grown(keys, x, w_key), grown(values, x, w_value)
    scores = x @ w_query @ keys.transpose(-2, -1)
    return scores / math.sqrt(x.size(-1)) @ values, keys, values


def state(note: str, seed: int, batch: int, held: int, d: int) -> Case:
    """Random numbers of these sizes, of one decimal so that they are read."""
    draw = Draw(seed)

    def few(*shape: int) -> Tensor:
        return (10 * draw.normal(*shape)).round() / 10

    return case(
        note,
        few(batch, 1, d),
        few(held + 3, d),
        few(batch, held, d),
        few(batch, held, d),
        *(few(d, d) for _ in range(3)),
    )


def draw_state(draw: Draw) -> Case:
    sizes = draw.size(1, 3), draw.size(0, 5), draw.size(2, 4)
    return state("a random state", draw.size(0, 10**6), *sizes)


STEP_WITH_CACHE = Exercise(
    solution=step_with_cache,
    section=CACHE,
    points=4,
    hints=(
        "What does the newest token need of the others, and what do later "
        "ones need of it? And at which position is it, if there are none, "
        "one, or two before it?",
        "The number of cached keys is its position. Add that row of the "
        "table; make query, key and value from the sum; join key and value "
        "to the cache along the axis of the tokens; then attend with the one "
        "query to all there is. There is nothing to hide.",
    ),
    cases=[
        case(
            "the first token, of width 1",
            torch.tensor([[[1.0]]]),
            torch.tensor([[0.5], [0.2]]),
            torch.zeros(1, 0, 1),
            torch.zeros(1, 0, 1),
            torch.tensor([[1.0]]),
            torch.tensor([[2.0]]),
            torch.tensor([[3.0]]),
        ),
        case(
            "the second token, of width 1",
            torch.tensor([[[1.0]]]),
            torch.tensor([[0.5], [0.2], [-1.0]]),
            torch.tensor([[[1.0]]]),
            torch.tensor([[[2.0]]]),
            torch.tensor([[0.5]]),
            torch.tensor([[2.0]]),
            torch.tensor([[3.0]]),
        ),
        case(
            "the third token, of width 1",
            torch.tensor([[[1.0]]]),
            torch.tensor([[0.5], [0.2], [-0.4], [-1.0]]),
            torch.tensor([[[1.0], [0.2]]]),
            torch.tensor([[[2.0], [0.7]]]),
            torch.tensor([[0.5]]),
            torch.tensor([[2.0]]),
            torch.tensor([[3.0]]),
        ),
        state("the first token", 20, 1, 0, 2),
        state("the second token", 21, 1, 1, 2),
        state("the third token", 22, 1, 2, 2),
        state("two sentences", 23, 2, 2, 3),
        state("as many tokens as sentences", 24, 3, 2, 3),
        case(
            "float64",
            *(part.double() for part in state("", 25, 2, 3, 4).args),
        ),
    ],
    draw=draw_state,
    others=[step_by_torch, step_by_loop, step_by_einsum],
    mistakes=[
        position_zero,
        position_too_late,
        position_too_early,
        position_stays_at_one,
        last_position,
        all_positions_added,
        batch_for_position,
        width_for_position,
        query_without_position,
        key_without_position,
        position_after_the_projection,
        no_position,
        only_the_query_has_a_position,
        value_without_position,
        itself_not_seen,
        only_itself_seen,
        put_in_front,
        cache_left_as_it_was,
        only_the_newest_returned,
        inputs_in_the_cache,
        keys_for_values,
        key_and_value_swapped,
        query_and_key_swapped,
        query_not_projected,
        one_matrix_for_query_and_key,
        one_matrix_for_key_and_query,
        one_matrix_for_key_and_value,
        key_not_projected,
        value_not_projected,
        weights_transposed,
        token_added,
        cache_before_output,
        mask_of_a_single_row,
        not_scaled,
        scaled_by_the_length,
        scaled_by_the_width,
        softmax_over_queries,
        no_softmax,
    ],
)

EXERCISES = [GREEDY_SEARCH, BEAM_SCORES, CUT_TAIL, STEP_WITH_CACHE]
"""In the order of the notebook."""
