"""Alignment error rate (AER)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
    section="20_reading_attention#does-a-head-look-at-the-right-word",
    points=2,
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
