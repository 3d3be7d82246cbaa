"""BERT's input of two texts."""

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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


def draw_texts(draw: Draw) -> Case:
    def text() -> list[int]:
        return [draw.size(4, 30) for _ in range(draw.size(1, 6))]

    return case("random texts", text(), text())


EXERCISE = exercise_of(
    next_sentence_input,
    section="18_bert#two-texts-in-one-row",
    points=1,
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
