"""Joining a pair of pieces, the step of byte-pair encoding."""

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def merge_pair(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    """Join a pair of neighbouring pieces everywhere in a word.

    Args:
        pieces: the pieces of the word.
        pair: two pieces; they may be equal.

    Returns:
        A list of the new pieces. Going from left to right, two neighbours
        that are the pair, in this order, become one piece; a piece can
        belong to one such piece only. Nothing else changes.
    """
    ### BEGIN SOLUTION
    joined, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            joined.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            joined.append(pieces[i])
            i += 1
    return joined
    ### END SOLUTION


@other
def merged_from_the_front(pieces, pair):
    left, joined = list(pieces), []
    while left:
        piece = left.pop(0)
        if left and (piece, left[0]) == pair:
            piece += left.pop(0)
        joined.append(piece)
    return joined


@other
def merged_with_the_rest(pieces, pair):
    if len(pieces) < 2:
        return list(pieces)
    if (pieces[0], pieces[1]) == pair:
        return ["".join(pair), *merged_with_the_rest(pieces[2:], pair)]
    return [pieces[0], *merged_with_the_rest(pieces[1:], pair)]


def word(note: str, pieces: str, pair: str) -> Case:
    """A case written with spaces between the pieces."""
    first, second = pair.split()
    return case(note, pieces.split(), (first, second))


def draw_word(draw: Draw) -> Case:
    letters = ["a", "b", "ab"]
    pieces = [draw.choice(letters) for _ in range(draw.size(1, 8))]
    pair = (draw.choice(letters), draw.choice(letters))
    return case("random pieces", pieces, pair)


EXERCISE = exercise_of(
    merge_pair,
    section="02_tokens_and_embeddings#byte-pair-encoding",
    points=1,
    cases=[
        word("only the pair", "a t", "a t"),
        word("one piece", "a", "a t"),
        word("the other order", "t a", "a t"),
        word("a piece behind it", "c a t s", "a t"),
        word("twice", "b a n a n a", "a n"),
        word("three equal pieces", "a a a", "a a"),
        word("four equal pieces", "a a a a", "a a"),
        word("inside of pieces", "ab c", "b c"),
        word("the pair's letters, cut elsewhere", "ab c", "a bc"),
        word("pieces of several characters", "▁c at s", "▁c at"),
    ],
    draw=draw_word,
)
