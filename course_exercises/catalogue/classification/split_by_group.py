"""Train and test sets split by group."""

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def split_by_group(
    groups: list[str], size: int
) -> tuple[list[int], list[int]]:
    """Which texts to learn from, and which to test on.

    Whole groups are held out, one after another in the order in which they
    first come up, until at least ``size`` texts are held out: of
    ``["a", "b", "a"]`` and 1 become ``[1]`` and ``[0, 2]``.

    Args:
        groups: the group of each text: its work, for instance. The texts of a
            group need not stand together.
        size: texts to be held out at the least. If it is 0, none are; if
            there are not so many, all are.

    Returns:
        The indices of the texts to learn from, and of those to test on, both
        in ascending order.
    """
    ### BEGIN SOLUTION
    held_out, count = [], 0
    for group in dict.fromkeys(groups):
        if count >= size:
            break
        held_out.append(group)
        count += groups.count(group)
    train = [i for i, group in enumerate(groups) if group not in held_out]
    test = [i for i, group in enumerate(groups) if group in held_out]
    return train, test
    ### END SOLUTION


@other
def split_by_places(groups, size):
    places = {}
    for i, group in enumerate(groups):
        places.setdefault(group, []).append(i)
    test = []
    for of_group in places.values():
        if len(test) < size:
            test += of_group
    return sorted(set(range(len(groups))) - set(test)), sorted(test)


@other
def split_by_counting(groups, size):
    names = list(dict.fromkeys(groups))
    taken = 0
    while sum(g in names[:taken] for g in groups) < min(size, len(groups)):
        taken += 1
    parts = [], []
    for i, group in enumerate(groups):
        parts[group in names[:taken]].append(i)
    return parts


def draw_groups(draw: Draw) -> Case:
    length = draw.size(4, 12)
    groups = ["dbca"[draw.size(0, 3)] for _ in range(length)]
    return case("random groups", groups, draw.size(1, length))


EXERCISE = exercise_of(
    split_by_group,
    section="17_classification#who-wrote-this-split-by-work",
    points=2,
    cases=[
        case("two works", ["b", "b", "a", "a"], 2),
        case("a work that is larger than asked", ["b", "b", "b", "a"], 1),
        case("two works are needed", ["b", "a", "a", "c"], 2),
        case("works that come up again", ["b", "a", "b", "a", "c"], 2),
        case("names in another order", ["c", "a", "b", "b"], 1),
        case("exactly enough", ["b", "b", "a", "c"], 2),
        case("nothing is held out", ["b", "a"], 0),
        case("all is held out", ["b", "a"], 2),
        case("more than there is", ["b", "a"], 3),
    ],
    draw=draw_groups,
)
