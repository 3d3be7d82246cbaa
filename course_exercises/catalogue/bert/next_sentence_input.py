"""BERT's input of two texts."""

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def next_sentence_input(
    first: list[int], second: list[int]
) -> tuple[list[int], list[int]]:
    """Two texts as one row of BERT: [CLS] A [SEP] B [SEP].

    Args:
        first: ids of A.
        second: ids of B. If one of the two is empty, there are two [SEP] all
            the same.

    Returns:
        The row's ids, where [CLS] is 1 and [SEP] is 2, and its segment ids: 0
        for [CLS], A and the [SEP] behind it, 1 for B and the [SEP] behind it.
    """
    ### BEGIN SOLUTION
    ids = [1] + first + [2] + second + [2]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ids, segments
    ### END SOLUTION


@other
def joined_by_parts(first, second):
    left, right = [1, *first, 2], [*second, 2]
    return left + right, [0 for _ in left] + [1 for _ in right]


@other
def joined_by_loop(first, second):
    ids, segments = [1], [0]
    for segment, part in enumerate((first, second)):
        for token in [*part, 2]:
            ids.append(token)
            segments.append(segment)
    return ids, segments


EDITS = """
# first_separator_counted_to_b
- len(first) + 2 -> len(first) + 1
- + [1] * -> + [1] + [1] *
You count the first [SEP] to B.

It ends A, so its segment is 0. The last [SEP] ends B.

# class_sign_forgotten
- [1] + ->
- [0] * ( -> [0] * (-1 +
Your row does not begin with [CLS].

The model decides from the output at [CLS] whether B follows. Without [CLS]
there is no such output.

# last_separator_forgotten
- second + [2] -> second
- + 1) -> )
Your row does not end with [SEP].

Each text has a [SEP] behind it, the second one too.

# separator_forgotten
- first + [2] -> first
- len(first) + 2 -> len(first) + 1
There is no [SEP] between A and B.

The segments would still tell the two apart, but [SEP] belongs behind each
text.

# last_separator_in_segment_0
- + 1) -> ) + [0]
Your last [SEP] is in segment 0.

It ends B, so its segment is 1.

# class_sign_twice
- ids =
+ second = [1] + second
+ ids =
You put a [CLS] before B, too.

There is one [CLS] in a row, at its beginning: it represents both texts.

# segments_from_1
- , segments -> , [number + 1 for number in segments]
You number the segments 1 and 2.

The model has a vector for segment 0 and one for segment 1.

# segments_exchanged
- , segments -> , [1 - number for number in segments]
You number A by 1 and B by 0.

The first text is segment 0. A text that stands alone is a first one.

# all_one_segment
- , segments -> , [0 for _ in segments]
All of your segments are 0.

Then the model cannot tell by them which words belong to B.

# signs_exchanged
- return ids -> return [{1: 2, 2: 1}.get(token, token) for token in ids]
You exchange [CLS] and [SEP].

[CLS] is 1 and begins the row; [SEP] is 2 and comes after each text.

# separators_apart
- [0] * (len(first) + 2) + [1] * (len(second) + 1)
+ [0] * (len(first) + 1) + [1] + [1] * len(second) + [0]
You give each [SEP] the segment of the other text.

A [SEP] belongs to the text before it.

# segments_without_signs
- (len(first) + 2) + [1] * (len(second) + 1)
+ len(first) + [1] * len(second)
Your segments leave out [CLS] and [SEP].

Each id of the row has a segment, those of the three special tokens too.

# texts_exchanged
- ids =
+ first, second = second, first
+ ids =
You put B before A.

The question is whether B follows A, so A comes first.
"""


def draw_texts(draw: Draw) -> Case:
    def text() -> list[int]:
        return [draw.size(4, 30) for _ in range(draw.size(1, 6))]

    return case("random texts", text(), text())


EXERCISE = exercise_of(
    next_sentence_input,
    section="18_bert#two-texts-in-one-row",
    points=1,
    hints=(
        "Write the row for two words and one word on paper, and a 0 or a 1 "
        "below each sign. To which text does a [SEP] belong?",
        "Lists are joined by +. There are two more zeros than words in A, "
        "and one more one than words in B.",
    ),
    cases=[
        case("a word each", [7], [8]),
        case("two words and one", [7, 8], [9]),
        case("one word and three", [7], [8, 9, 10]),
        case("B is empty", [7], []),
        case("A is empty", [], [7]),
        case("the same text twice", [7, 8], [7, 8]),
    ],
    draw=draw_texts,
)
