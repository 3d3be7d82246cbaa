"""Train and test sets split by group."""

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


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


@mistake
def runs_in_place_of_groups(groups, size):
    """You stop where a group's first run ends, and it comes up again later.

    Those later texts are in your training part, and the same work is tested.
    """
    end = 0
    while end < len(groups) and (
        end < size or (end > 0 and groups[end] == groups[end - 1])
    ):
        end += 1
    end = end if size > 0 else 0
    places = list(range(len(groups)))
    return places[end:], places[:end]


EDITS = """
# by_passage
- group not in held_out -> i >= size
- if group in held_out -> if i < size
You hold out `size` texts, and do not look at their groups.

Then other texts of the same work are learned from, and what is tested is
whether the *work* is known. In the chapter that turned 70 % into 98 %.

# too_large_a_group_skipped
- count >= size -> count + groups.count(group) > size
- break -> continue
You pass over groups that would make the test set larger than asked.

The exercise asks for at least `size` texts. If the first group is large, all
of it is held out all the same.

# stopped_before_enough
- count >= size -> count + groups.count(group) > size
You stop before a group that would make the test set larger than asked.

The exercise asks for at least `size` texts: as long as there are fewer, the
next group is held out, however large it is.

# one_group_for_nothing
- count >= size -> count >= max(size, 1)
You hold a group out even if no text is asked for.

Ask whether there are enough *before* you take a group.

# learned_from_all
- if group not in held_out ->
You learn from all texts, those that are tested among them.

# groups_counted
- count += groups.count(group) -> count += 1
You hold out `size` groups, not `size` texts.

# one_group_too_many
- count >= size -> count > size
You hold out another group when there are enough texts already.

# parts_exchanged
- return train, test -> return test, train
You return the two parts in the other order.

First come the texts to learn from, then those to test on.

# in_alphabetical_order
- dict.fromkeys(groups) -> sorted(set(groups))
You take the groups in the order of their names.

The exercise asks for the order in which they first come up.

# last_groups_first
- in dict.fromkeys(groups): -> in reversed(dict.fromkeys(groups)):
You begin with the group that comes up last.

# largest_groups_first
- dict.fromkeys(groups)
+ sorted(dict.fromkeys(groups), key=groups.count, reverse=True)
You begin with the largest group.

The exercise asks for the order in which they first come up.

# test_by_group
- if group in held_out]
+ if group in held_out]
+ test.sort(key=lambda i: held_out.index(groups[i]))
You return the indices to test on group by group.

Both lists are in ascending order, wherever a group's texts stand.
"""


def draw_groups(draw: Draw) -> Case:
    length = draw.size(4, 12)
    groups = ["dbca"[draw.size(0, 3)] for _ in range(length)]
    return case("random groups", groups, draw.size(1, length))


EXERCISE = exercise_of(
    split_by_group,
    section="17_classification#who-wrote-this-split-by-work",
    points=2,
    hints=(
        "First decide which groups are held out, then which texts. When have "
        "you held out enough?",
        "`dict.fromkeys(groups)` goes through the different groups in the "
        "order in which they first come up.",
    ),
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
