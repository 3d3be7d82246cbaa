"""WordPiece tokenization of one word."""

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
