"""Greedy search."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
    for _ in range(max_length):
        newest = decode(tgt)[:, -1].argmax(dim=-1)
        tgt = torch.cat([tgt, newest[:, None]], dim=1)
        ended = (tgt[:, 1:] == eos).any(dim=1)
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
