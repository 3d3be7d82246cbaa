"""A majority vote over answers to one question."""

from collections import Counter

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def majority_vote(answers: list[str | None]) -> str | None:
    """The answer that a model has given most often.

    Wang et al. 2023 (self-consistency): the question is asked several times,
    with steps that are drawn anew, and what comes after the steps is counted.

    Args:
        answers: what was found behind the steps, in the order in which it was
            drawn; None where nothing was found.

    Returns:
        The answer with the most votes; of equals the one that was drawn
        first. It need not have more than half of the votes. None casts no
        vote, and is returned only if there is no vote at all.
    """
    ### BEGIN SOLUTION
    votes = Counter(answer for answer in answers if answer is not None)
    return votes.most_common(1)[0][0] if votes else None
    ### END SOLUTION


@other
def vote_by_max(answers):
    found = [answer for answer in answers if answer is not None]
    return max(found, key=found.count, default=None)


@other
def vote_by_dict(answers):
    votes = {}
    for answer in answers:
        if answer is not None:
            votes[answer] = votes.get(answer, 0) + 1
    best = None
    for answer, count in votes.items():
        if best is None or count > votes[best]:
            best = answer
    return best


def vote(note: str, answers: str) -> Case:
    """Answers in a text; a dash is one that was not found."""
    found = [None if word == "-" else word for word in answers.split()]
    return case(note, found)


def draw_votes(draw: Draw) -> Case:
    words = ["9", "10", "-", "-12"]
    drawn = [draw.choice(words) for _ in range(draw.size(3, 8))]
    return vote("random answers", " ".join(drawn))


EXERCISE = exercise_of(
    majority_vote,
    section="23_from_text_to_answers#what-todays-systems-add",
    points=1,
    cases=[
        vote("one answer", "7"),
        vote("two of three agree", "12 7 7"),
        vote("less than half agree", "12 7 7 9 8"),
        vote("a tie: the first one drawn counts", "7 12 12 7"),
        vote("a tie of three", "9 10 8"),
        vote("most of them found nothing", "- 7 - -"),
        vote("the first one found nothing", "- 9 10"),
        vote("nothing was found", "- -"),
        vote("nothing was drawn", ""),
    ],
    draw=draw_votes,
)
