"""WordPiece tokenization of one word."""

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


def wordpiece(word: str, pieces: list[str]) -> list[str]:
    """Cut a word as BERT does: the longest piece first, from the left.

    Args:
        word: without spaces, and without ## in front; it may be empty.
        pieces: the vocabulary. A piece that goes on with a word has ## in
            front; one without can only begin a word.

    Returns:
        The word's pieces, with their ##. Each is the longest in the
        vocabulary that fits there, and none is ever taken back. Where no
        piece fits, the whole word is ``["[UNK]"]``. An empty word has no
        pieces.
    """
    ### BEGIN SOLUTION
    found = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            if mark + word[start:end] in pieces:
                break
        else:
            return ["[UNK]"]
        found.append(mark + word[start:end])
        start = end
    return found
    ### END SOLUTION


@other
def pieces_by_candidates(word, pieces):
    found, rest, mark = [], word, ""
    while rest:
        fitting = [p for p in pieces if (mark + rest).startswith(p)]
        fitting = [p for p in fitting if len(p) > len(mark)]
        if not fitting:
            return ["[UNK]"]
        longest = max(fitting, key=len)
        found.append(longest)
        rest, mark = rest[len(longest) - len(mark) :], "##"
    return found


@other
def pieces_by_recursion(word, pieces):
    def cut(rest, mark):
        if not rest:
            return []
        for end in range(len(rest), 0, -1):
            if mark + rest[:end] in pieces:
                behind = cut(rest[end:], "##")
                return None if behind is None else [mark + rest[:end], *behind]
        return None

    found = cut(word, "")
    return ["[UNK]"] if found is None else found


EDITS = """
# shortest_piece_first
- range(len(word), start, -1) -> range(start + 1, len(word) + 1)
You take the shortest piece that fits, not the longest.

Where the vocabulary has single letters, every word would be spelt letter by
letter, and longer pieces would never be used.

# no_marks
- mark = "##" if start else "" -> mark = ""
You look up the pieces inside a word without ##.

A piece without ## can only begin a word: *able* as a word of its own and
*##able* at the end of *drinkable* are two pieces with two vectors.

# marks_put_on_after
- if mark + word -> if word
You look up the pieces as they stand in the word, and put ## in front after.

So you look for pieces that begin a word, and hand back others, which need not
be in the vocabulary. What is looked up inside a word has its ## already.

# marks_left_out
- found.append(mark + word -> found.append(word
You look pieces up with ##, but leave it out of the result.

Each piece has an id under its whole name. Without ## it is another piece, or
none.

# marks_everywhere
- mark = "##" if start else "" -> mark = "##"
You look for ## in front of a word's first piece, too.

The first piece begins the word, so it has no ##.

# beginning_kept
- return ["[UNK]"] -> return found + ["[UNK]"]
You keep the beginning of a word whose end is unknown.

The *whole* word becomes one [UNK], however much of it was found before.

# rest_dropped
- return ["[UNK]"] -> return found
You drop the rest of a word where no piece fits.

Then an unknown word leaves no trace, or becomes another word. The whole word
is one [UNK].

# unknown_dropped
- return ["[UNK]"] -> return []
An unknown word vanishes.

The model has to see that there was a word, so it becomes one [UNK].

# unknown_with_mark
- return ["[UNK]"] -> return ["##[UNK]"] if start else ["[UNK]"]
You put ## in front of [UNK].

[UNK] stands for the whole word, so nothing comes before it.

# unknown_letters
- return ["[UNK]"]
+ found.append("[UNK]")
+         start += 1
+         continue
You pass over the letters that no piece has, one [UNK] for each.

A word that cannot be spelt to its end is one [UNK] as a whole.

# empty_word_unknown
- return found -> return found or ["[UNK]"]
You take an empty word for an unknown one.

Nothing in it is unknown: it has no pieces, and the list is empty.

# word_or_letters
- range(len(word), start, -1)
+ ([len(word)] if not start else []) + [start + 1]
You try the whole word, and then single letters.

Between the two there are pieces of every length: begin with all that is left,
and leave out one letter at a time at the end.
"""


@mistake
def taken_back(word, pieces):
    """You take a piece back where the rest cannot be spelt.

    That may find pieces where BERT finds none. There a piece is never taken
    back: if the longest leads nowhere, the whole word is [UNK].
    """

    def cut(rest, mark):
        if not rest:
            return []
        for end in range(len(rest), 0, -1):
            if mark + rest[:end] in pieces:
                behind = cut(rest[end:], "##")
                if behind is not None:
                    return [mark + rest[:end], *behind]
        return None

    found = cut(word, "")
    return ["[UNK]"] if found is None else found


def cut(note: str, word: str, pieces: str) -> Case:
    return case(note, word, pieces.split())


def draw_word(draw: Draw) -> Case:
    """A word of an alphabet of two letters, and a vocabulary."""

    def some(longest: int) -> str:
        return "".join(draw.choice("ab") for _ in range(draw.size(1, longest)))

    begin = [some(3) for _ in range(3)]
    go_on = ["##" + some(3) for _ in range(4)]
    return case("random letters", some(7), sorted({*begin, *go_on}))


EXERCISE = exercise_of(
    wordpiece,
    section="18_bert#wordpiece-pieces-of-words",
    points=2,
    hints=(
        "Cut *drinkable* with the pieces drink, d, ##able and ##a on paper. "
        "What do you look up first, and what when that is not there?",
        "Two loops: the outer one goes on from where the last piece ended, "
        "the inner one tries ever shorter ends. If the inner one finds "
        "nothing, return at once.",
    ),
    cases=[
        cut("a whole word", "play", "play"),
        cut("an unknown word", "cat", "play"),
        cut("two pieces", "plays", "play ##s s"),
        cut("the longest first", "ab", "a ab ##b"),
        cut("a piece that cannot begin a word", "able", "##able"),
        cut("a piece that can only begin one", "unable", "un able"),
        cut("an unknown end", "playz", "play ##s"),
        cut("an unknown letter in the middle", "azb", "a ##b"),
        cut("the longest leads nowhere", "abc", "ab a ##bc"),
        cut("a second piece of two letters", "abcd", "a ##bc ##b ##c ##d"),
        cut("three letters", "abc", "a ##b ##c a"),
        cut("unaffable", "unaffable", "un ##aff ##able a ##a"),
        cut("an empty word", "", "a"),
    ],
    draw=draw_word,
)
