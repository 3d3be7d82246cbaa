"""Sinusoidal positional encoding."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def sinusoidal_encoding(
    length: int, d_model: int
) -> Float[Tensor, "length d_model"]:
    """Make the paper's table of positions, section 3.5.

    PE(p, 2i) = sin(p / 10000^(2i / d_model)), and PE(p, 2i + 1) is the cosine
    of the same angle. Each cosine is in the column after its sine.

    Args:
        length: how many positions there are, from position 0.
        d_model: the width of a row; even, and at least 4.

    Returns:
        A row for each position, in float32.
    """
    ### BEGIN SOLUTION
    place = torch.arange(length)[:, None]
    column = torch.arange(0, d_model, 2)  # 2i: that of the sine
    angle = place / 10_000 ** (column / d_model)
    sin, cos = angle.sin(), angle.cos()
    return torch.stack([sin, cos], dim=-1).flatten(1)
    ### END SOLUTION


@other
def table_by_loop(length, d_model):
    rows = []
    for place in range(length):
        row = []
        for i in range(d_model // 2):
            angle = place / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


@other
def table_by_filling(length, d_model):
    table = torch.empty(length, d_model)
    speed = torch.exp(torch.arange(0, d_model, 2) * -math.log(1e4) / d_model)
    angle = torch.outer(torch.arange(length).float(), speed)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


@other
def table_of_one_sine(length, d_model):
    column = torch.arange(d_model)
    speed = 10_000.0 ** (-(column - column % 2) / d_model)
    shift = math.pi / 2 * (column % 2)  # a cosine is a quarter turn ahead
    return torch.sin(torch.arange(length).unsqueeze(1) * speed + shift)


EDITS = """
# wrong_twin (#the-famous-heat-map-and-a-common-mistake)
- arange(0, d_model, 2) -> arange(d_model)
- (column / -> (2 * column /
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
or
- arange(0, d_model, 2) -> arange(d_model)
- (column / -> ((2 * column - column % 2) /
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
Yours is the wrong twin of the famous heat map.

You use the number of the column where the formula has that of the pair. So
speeds fall twice as fast, and the sine and the cosine of a pair turn at two
speeds: together they are no longer the tip of one hand.

# speeds_of_their_own (#the-famous-heat-map-and-a-common-mistake)
- arange(0, d_model, 2) -> arange(d_model)
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
Each of your columns has a speed of its own.

So each cosine turns more slowly than its sine. The two columns of a pair are
the tip of *one* hand: they share one angle.

# exponent_doubled (#the-famous-heat-map-and-a-common-mistake)
- (column / -> (2 * column /
The exponents of your pairs of columns are twice too large.

Do you double a number that runs over 0, 2, 4, … already? Speeds then fall
twice as fast: the last hands of a wide table hardly move in a million
positions.

# exponent_halved
- (column / -> (column / 2 /
The exponents of your pairs of columns are half as large as they should be.

Pair i has 2i in its exponent. In a wide table the slowest hand (pair of
columns) is almost ten thousand times slower than the first; yours is only
about a hundred times slower.

# table_concatenated (#the-famous-heat-map-and-a-common-mistake)
- stack -> cat
- .flatten(1) ->
All your sines come first, then all cosines.

That is the layout of the authors' code, and the matrix that comes next can
learn from either. This exercise asks for the order of the paper's formula,
with each cosine beside its sine.

# spaced_as_in_the_code (#the-famous-heat-map-and-a-common-mistake)
- / d_model) -> / (d_model - 2))
Your slowest hand (pair of columns) has exactly 1/10000 of the first one's
speed.

You divide i by d/2 - 1, as the authors' code does. The formula divides it by
d/2, and this exercise asks for the formula.

# table_of_the_code (#the-famous-heat-map-and-a-common-mistake)
- / d_model) -> / (d_model - 2))
- stack -> cat
- .flatten(1) ->
Yours is the table of the authors' code, not that of their formula.

All sines come first, and the slowest hand (pair of columns) has exactly
1/10000 of the first one's speed. This exercise asks for the formula: each
cosine beside its sine, and i divided by d/2.

# cosine_first
- [sin, cos] -> [cos, sin]
In each of your pairs the cosine comes first.

A model could learn from it as well. But the formula has the sine in the even
columns, and weights trained elsewhere rely on that.

# places_from_one
- arange(length) -> arange(1, length + 1)
Your positions begin at 1.

Positions are counted from 0, where every sine is 0 and every cosine 1. Your
table lacks that row, and has one too many at its end.

# exponent_without_the_width
- column / d_model -> column.float()
or
- column / d_model -> column
Your exponents are not divided by the width.

Your second hand (pair of columns) is then a hundred million times slower than
the first. Divided by d_model, the exponents spread the speeds between 1 and
1/10000, however many pairs there are.

# exponents_of_the_cosines
- arange(0, d_model, 2) -> arange(1, d_model, 2)
Your exponents are those of the odd columns: 1, 3, 5, …

Both columns of a pair have the exponent of the even one, that of the sine. So
the first pair has exponent 0, and turns by one radian per position.

# hands_ever_faster
- place / -> place *
or
- (column / -> (-column /
or
- place / 10_000 ** (column / -> place * (1 / 10_000.0 ** (-column /
- d_model) -> d_model))
or
- (column / -> (-column.double() /
- angle.sin(), angle.cos() -> angle.sin().float(), angle.cos().float()
or
- / 10_000 ** (column / d_model)
+ * (column * (math.log(10_000.0) / d_model)).exp()
Your hands (pairs of columns) get *faster* from pair to pair.

The position has to be divided by a power of 10000, not multiplied. A hand that
goes round hundreds of times between two positions does not tell them apart.

# one_speed_for_all
- column / d_model -> column // d_model
All your hands (pairs of columns) turn at one speed, that of the first.

Do you divide by `//`, so that every exponent is 0? A single speed cannot tell
a position from another that is some rounds away.

# rounds_for_radians
- place / -> 2 * math.pi * place /
You multiply the angles by 2π.

The formula's angles are radians already. With 2π, your first hand (pair of
columns) makes a whole round from each position to the next, and is the same
everywhere.

# degrees_for_radians
- arange(length) -> arange(length).deg2rad()
Your hands (pairs of columns) turn too slowly: you take the angles for degrees.

The formula's angles are radians, which is what `sin` and `cos` expect.

# places_as_shares
- arange(length) -> arange(length) / length
You divide the positions by the length of the table.

Then a position's row depends on how long the table is, and the same position
looks different in a longer sentence. The formula takes the number p itself.

# table_cut_anew (07_multi_head_attention#splitting-and-merging)
- , dim=-1 ->
- .flatten(1) -> .view(length, d_model)
Your rows mix the numbers of several positions.

You lay the sines of all positions before all cosines, and cut the whole into
rows anew. `view` and `reshape` leave numbers in the order in which they lie in
memory: they never bring a cosine beside its sine.

# sines_alone
- [sin, cos] -> [sin, sin]
or
- [sin, cos] -> [cos, cos]
Both columns of your pairs hold the same number, a sine or a cosine.

A sine alone does not say whether a hand is going up or down. It takes both, a
sine and a cosine, to say where its tip is.

# powers_of_e
- 10_000 ** (column / d_model) -> (column / d_model).exp()
You take a power of e where the formula has one of 10000.

With `exp` you need a logarithm: 10000^a is e^(a · ln 10000).

# logarithm_to_base_ten
- 10_000 ** (column / d_model) -> (4 * column / d_model).exp()
You take a power of e with a logarithm to the base of 10.

10000^a is e^(a · ln 10000), with the natural logarithm, `math.log`. With
`log10` the slowest hand (pair of columns) is only about 55 times slower than
the first, not 10000 times.

# multiplied_by_ten_thousand
- 10_000 ** (column -> (10_000 * column
You multiply 10000 by the exponent, instead of raising it to that power.

For the first pair you then divide by 0. 10000 to the power of 0 is 1, so that
the first angle is the position itself.

# divided_after_the_sine
- angle = place / -> scale =
- angle.sin(), angle.cos() -> place.sin() / scale, place.cos() / scale
You divide the sine, not the angle.

All your hands (pairs of columns) turn at one speed, and get shorter from pair
to pair. The power of 10000 stands inside the sine and the cosine: it slows a
hand down.

# divided_after_the_power
- 10_000 ** (column / d_model) -> 10_000.0**column / d_model
or
- 10_000 ** (column / d_model) -> 10_000**column / d_model
You divide the power by the width, and not its exponent.

`a ** b / c` is (a ** b) / c. Put the exponent in brackets.

# thousand_for_ten_thousand
- 10_000 -> 1_000
Your speeds fall as powers of 1000. The formula has 10000: four zeros.

# places_in_columns
- .flatten(1) -> .flatten(1).T
Your table lies on its side: it has a column for each position.

Each position has to be a *row*, since the table is added to sentences of the
shape (length, d_model).
"""


def draw_sizes(draw: Draw) -> Case:
    return case("random sizes", draw.size(2, 40), 2 * draw.size(2, 12))


EXERCISE = exercise_of(
    sinusoidal_encoding,
    section="03_positional_encoding#sines-and-cosines-as-clocks",
    points=2,
    hints=(
        "First the angles: a row for each position, a column for each "
        "*hand*, of which there are half as many as columns. Then put a sine "
        "and a cosine of each side by side.",
        "The positions as a column and the speeds as a row give all angles "
        "by broadcasting. To interleave, stack sines and cosines along a new "
        "last axis and flatten; or fill every second column of an empty "
        "table.",
    ),
    cases=[
        case("one position", 1, 4),
        case("two positions", 2, 4),
        case("two positions of three hands", 2, 6),
        case("cats, drink, milk, as in the chapter", 3, 4),
        case("as many positions as columns", 8, 8),
        case("a longer and wider table", 50, 32),
    ],
    draw=draw_sizes,
    tolerance=1e-4,  # angles of up to 50 radians, in 32 bits
)
