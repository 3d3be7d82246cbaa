"""Joining a pair of pieces, the step of byte-pair encoding."""

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


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


@mistake
def pieces_overlap(pieces, pair):
    """You use a piece twice: it ends one joined piece and begins the next.

    In *a a a* the middle one belongs to the first pair. Once two pieces are
    joined, go on behind both of them.
    """
    joined, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            joined.append("".join(pair))
            i += 1
            if tuple(pieces[i : i + 2]) != pair:
                i += 1
        else:
            joined.append(pieces[i])
            i += 1
    return joined


@mistake
def from_the_right(pieces, pair):
    """You join from the right.

    In *a a a* the first two are to be joined, and the last one is left.
    """
    joined = list(pieces)
    i = len(joined) - 2
    while i >= 0:
        if (joined[i], joined[i + 1]) == pair:
            joined[i : i + 2] = ["".join(pair)]
            i -= 1
        i -= 1
    return joined


@mistake
def inside_of_pieces(pieces, pair):
    """You look for the joined text, and find it across other pieces.

    *ab* and *c* are not the pair *b*, *c*, though their text contains *bc*.
    Compare whole pieces.
    """
    text, whole = "".join(pieces), "".join(pair)
    joined = []
    while text:
        step = len(whole) if text.startswith(whole) else 1
        joined.append(text[:step])
        text = text[step:]
    return joined


EDITS = """
# first_occurrence_only
- i += 2 -> return [*joined, *pieces[i + 2 :]]
You join the pair once, and leave it as it is further on.

A merge of byte-pair encoding joins the pair *everywhere*.

# second_piece_again
- i += 2 -> i += 1
You join the pair, and then keep its second piece as well.

The word becomes longer than it was. Go on behind both pieces.

# either_order
- == pair -> in (pair, pair[::-1])
You also join the two pieces in the other order.

The pair *t*, *h* says nothing about *h* followed by *t*.

# last_piece_lost
- i < len(pieces) -> i < len(pieces) - 1
The last piece of the word gets lost.

A word whose end is no pair keeps its last piece.

# joined_backwards
- pieces[i] + pieces[i + 1] -> pieces[i + 1] + pieces[i]
You put the second piece in front of the first.

The text of the word must not change.

# joined_with_a_space
- pieces[i] + pieces[i + 1] -> pieces[i] + " " + pieces[i + 1]
You put a space between the two pieces.

The new piece is a piece of text, and the word has no space there.

# nothing_joined
- pieces[i] + pieces[i + 1] -> pair
You put the pair itself into the list instead of one piece.

A piece is a string: join the two.

# only_the_first_piece
- pieces[i] + pieces[i + 1] -> pieces[i]
You drop the second piece of the pair.

The text of the word must not change: the new piece contains both.
"""


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
    section="02_tokens_and_embeddings#byte-pair-encoding-in-twenty-lines",
    points=1,
    hints=(
        "Go through the pieces from the left. What do you do with two "
        "neighbours that are the pair, and where do you go on?",
        "A while loop with its own counter lets you take a step of two after "
        "a join, and of one otherwise. Mind the end of the word.",
    ),
    cases=[
        word("only the pair", "a t", "a t"),
        word("one piece", "a", "a t"),
        word("the other order", "t a", "a t"),
        word("a piece behind it", "c a t s", "a t"),
        word("twice", "b a n a n a", "a n"),
        word("three equal pieces", "a a a", "a a"),
        word("four equal pieces", "a a a a", "a a"),
        word("inside of pieces", "ab c", "b c"),
        word("pieces of several characters", "▁c at s", "▁c at"),
    ],
    draw=draw_word,
)
