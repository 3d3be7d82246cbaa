"""Alignment error rate (AER)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other

from . import JUDGED


def alignment_error_rate(
    found: Bool[Tensor, "source target"],
    sure: Bool[Tensor, "source target"],
    possible: Bool[Tensor, "source target"],
) -> Float[Tensor, ""]:
    """Say how far the links of a sentence pair are from gold.

    Entry [s, t] of each table says whether source word s and target word t
    are linked.

    Args:
        found: A, what is to be judged.
        sure: S, links that must be found; at least one.
        possible: P, links that may be found and need not; every sure link is
            possible, too.

    Returns:
        The alignment error rate, 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), in
        which |X| is the number of links in X. One number: 0 if all sure links
        were found, and none that is not possible.
    """
    ### BEGIN SOLUTION
    hits = (found & sure).sum() + (found & possible).sum()
    links = found.sum() + sure.sum()
    return 1 - hits / links
    ### END SOLUTION


@other
def error_rate_by_loops(found, sure, possible):
    hits = links = 0
    for s in range(found.size(0)):
        for t in range(found.size(1)):
            if found[s, t]:
                hits += int(sure[s, t]) + int(possible[s, t])
            links += int(found[s, t]) + int(sure[s, t])
    return torch.tensor(1 - hits / links)


@other
def error_rate_by_products(found, sure, possible):
    a, s, p = (table.float().flatten() for table in (found, sure, possible))
    return (a.sum() + s.sum() - a @ s - a @ p) / (a.sum() + s.sum())


EDITS = """
# error_rate_without_possible
- & possible -> & sure
Your code takes the sure links for the only ones that may be found.

A link that is possible and not sure costs nothing: it counts as a hit in the
second sum, where the gold table is that of the possible links.

# error_rate_is_agreement
- 1 - hits / links -> hits / links
You give the agreement, and not the error.

Full agreement is an error rate of 0: subtract from 1.

# error_rate_over_possible
- + sure.sum() -> + possible.sum()
You divide by the found and the *possible* links.

Nobody has to find all that is possible. What must be found are the sure
links, and these stand below the line.

# error_rate_of_unions
- (found & sure) -> (found | sure)
You count what is found *or* sure.

A hit is a link that stands in both tables.

# error_rate_is_precision
- found.sum() + sure.sum() -> 2 * found.sum()
You divide by the found links alone.

Then a head that finds one right link and misses all others makes no error.
Sure links that were not found must raise the rate: they stand below the line,
too.

# error_rate_is_recall
- found.sum() + sure.sum() -> 2 * sure.sum()
You divide by the sure links alone.

Then links too many cost nothing. They must raise the rate: the found links
stand below the line, too.
"""


def table(*rows: list[int]) -> Tensor:
    """A table of links as booleans."""
    return torch.tensor(rows).bool()


def draw_tables(draw: Draw) -> Case:
    """Random links: sure ones among the possible ones."""
    shape = draw.size(2, 4), draw.size(2, 4)
    found, sure, more = (draw.normal(*shape) > 0.4 for _ in range(3))
    sure[0, 0] = True
    return case("random links", found, sure, sure | more)


ONE = table([1, 0], [0, 1])
EXERCISE = exercise_of(
    alignment_error_rate,
    section=JUDGED,
    points=2,
    hints=(
        "Draw a table of two by two words and mark gold links. What should "
        "one link too many cost, and what one too few?",
        "Two intersections above the line, of the same found links with two "
        "gold tables. Below it two counts. Which gold table is counted?",
    ),
    cases=[
        case("all right", ONE, ONE, ONE),
        case("one link too few", table([1, 0], [0, 0]), ONE, ONE),
        case("one link too many", table([1, 1], [0, 1]), ONE, ONE),
        case("a possible link found", table([1, 1], [0, 1]), ONE, ONE | True),
        case("a possible link not found", ONE, ONE, table([1, 1], [0, 1])),
        case("nothing right", table([0, 1], [1, 0]), ONE, ONE),
        case("nothing found", table([0, 0], [0, 0]), ONE, ONE),
        case(
            "three words and two",
            table([1, 0], [1, 0], [0, 1]),
            table([1, 0], [0, 0], [0, 1]),
            table([1, 0], [1, 0], [1, 1]),
        ),
    ],
    draw=draw_tables,
)
