"""The paper's table of positions."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    other,
)


def sinusoidal_encoding(
    length: int, d_model: int
) -> Float[Tensor, "length d_model"]:
    """Make the paper's table of positions, section 3.5.

    PE(p, 2i) = sin(p / 10000^(2i / d_model)), and PE(p, 2i + 1) is the
    cosine of the same angle. Each cosine stands beside its sine.

    Args:
        length: how many places there are, from place 0.
        d_model: the width of a row; even, and at least 4.

    Returns:
        A row for each place, in float32.
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
# wrong_twin (#the-famous-heat-map-and-its-wrong-twin)
- arange(0, d_model, 2) -> arange(d_model)
- (column / -> (2 * column /
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
or
- arange(0, d_model, 2) -> arange(d_model)
- (column / -> ((2 * column - column % 2) /
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
Yours is the wrong twin of the famous heat map.

You take the number of the column for that of the pair: speeds fall twice as
fast, and the sine and the cosine of a pair do not turn at the same speed. They
are no longer the tip of one hand.

# speeds_of_their_own (#the-famous-heat-map-and-its-wrong-twin)
- arange(0, d_model, 2) -> arange(d_model)
- angle.sin(), angle.cos() -> angle[:, 0::2].sin(), angle[:, 1::2].cos()
Each of your columns has a speed of its own.

The sines are right; each cosine turns more slowly than its sine. The two of a
pair are to be the tip of *one* hand, with one angle.

# exponent_doubled (#the-famous-heat-map-and-its-wrong-twin)
- (column / -> (2 * column /
Your pairs are pairs, but their speeds fall twice as fast.

Perhaps you double a number that runs over 0, 2, 4, … already. The last hands
of a wide table would hardly move in a million places.

# exponent_halved
- (column / -> (column / 2 /
Your pairs are pairs, but their speeds fall half as fast.

The slowest hand is to be almost ten thousand times slower than the first;
yours only about a hundred times. Pair i has 2i in its exponent.

# table_concatenated (#the-famous-heat-map-and-its-wrong-twin)
- stack -> cat
- .flatten(1) ->
All your sines come first, then all cosines.

It is the authors' own layout, and to the matrix that comes next one order of
columns is as good as another. Asked for is the order of the paper's formula.

# spaced_as_in_the_code (#the-famous-heat-map-and-its-wrong-twin)
- / d_model) -> / (d_model - 2))
Your slowest hand has exactly 1/10000 of the first one's speed.

So it is in the authors' code, which divides i by d/2 - 1. The formula divides
it by d/2, and that is asked for.

# table_of_the_code (#the-famous-heat-map-and-its-wrong-twin)
- / d_model) -> / (d_model - 2))
- stack -> cat
- .flatten(1) ->
Yours is the table of the authors' code, not that of their formula.

All sines come first, and the slowest hand has exactly 1/10000 of the first
one's speed. Asked for is the formula: each cosine beside its sine, and i
divided by d/2.

# cosine_first
- [sin, cos] -> [cos, sin]
In each of your pairs the cosine comes first.

A place's hand is then as good as before. But the formula has the sine in the
even columns, and weights from elsewhere count on it.

# places_from_one
- arange(length) -> arange(1, length + 1)
Your places begin at 1.

At place 0 all hands stand at twelve: sines 0, cosines 1. Your table lacks that
row, and has one too many at its end.

# exponent_without_the_width
- column / d_model -> column.float()
or
- column / d_model -> column
Your exponents are not divided by the width.

The second hand is then a hundred million times slower than the first. The
whole range, from 1 to a ten-thousandth, is to be spread over the hands that
there are.

# exponents_of_the_cosines
- arange(0, d_model, 2) -> arange(1, d_model, 2)
Your exponents are those of the odd columns: 1, 3, 5, …

A pair has the exponent of its sine, which stands in an even column; the first
hand turns by a radian for each place.

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
Your hands get *faster* from pair to pair.

The place is to be divided by a power of 10000. A hand that goes round hundreds
of times from one place to the next says nothing about where it is.

# one_speed_for_all
- column / d_model -> column // d_model
All your hands turn at one speed, that of the first.

Perhaps a division is one of whole numbers, and its result always 0. One hand
alone cannot tell a place from another that is some rounds away.

# rounds_for_radians
- place / -> 2 * math.pi * place /
Your first hand makes a whole round from each place to the next.

The formula's angles are radians: there is no 2π in it. Your first pair is the
same everywhere.

# table_cut_anew (07_multi_head_attention#splitting-and-merging)
- , dim=-1 ->
- .flatten(1) -> .view(length, d_model)
All your numbers are there, but places are mixed.

You lay the sines of all places before all cosines, and cut the whole into rows
anew. A view or a reshape leaves numbers in the order in which they lie in
memory: it never brings a cosine beside its sine.

# sines_alone
- [sin, cos] -> [sin, sin]
or
- [sin, cos] -> [cos, cos]
Both columns of your pairs hold the same number, a sine or a cosine.

From a sine alone one cannot tell whether a hand is going up or down, and a
step is no longer a turn. Two numbers make the tip of a hand.

# powers_of_e
- 10_000 ** (column / d_model) -> (column / d_model).exp()
Your slowest hand has only about a third of the first one's speed.

You take a power of e where the formula has one of 10000. As an exponential
it needs a logarithm: 10000^a is e^(a · ln 10000).

# divided_after_the_sine
- angle = place / -> scale =
- angle.sin(), angle.cos() -> place.sin() / scale, place.cos() / scale
You divide the sine, not the angle.

All your hands turn at one speed, and get shorter from pair to pair. The power
of 10000 stands inside the brackets of sine and cosine: it slows a hand down.

# divided_after_the_power
- 10_000 ** (column / d_model) -> 10_000.0**column / d_model
or
- 10_000 ** (column / d_model) -> 10_000**column / d_model
You divide by the width what is a power already.

`a ** b / c` is (a ** b) / c. What is divided by the width is the exponent: it
needs brackets.

# thousand_for_ten_thousand
- 10_000 -> 1_000
Your hands are those of 1000, where the formula has 10000.

# places_in_columns
- .flatten(1) -> .flatten(1).T
Your table lies on its side: a column for each place.

Asked for is a *row* for each place. It is added to sentences of the shape
(length, d_model).
"""


def draw_sizes(draw: Draw) -> Case:
    return case("random sizes", draw.size(2, 40), 2 * draw.size(2, 12))


EXERCISE = exercise_of(
    sinusoidal_encoding,
    place=2,
    section="03_positional_encoding#clocks",
    points=2,
    hints=(
        "First the angles: a row for each place, a column for each *hand*, "
        "of which there are half as many as columns. Then put a sine and a "
        "cosine of each side by side.",
        "The places as a column and the speeds as a row give all angles by "
        "broadcasting. To interleave, stack sines and cosines along a new "
        "last axis and flatten; or fill every second column of an empty "
        "table.",
    ),
    cases=[
        case("one place", 1, 4),
        case("two places", 2, 4),
        case("two places of three hands", 2, 6),
        case("cats, drink, milk, as in the chapter", 3, 4),
        case("as many places as columns", 8, 8),
        case("a longer and wider table", 50, 32),
    ],
    draw=draw_sizes,
    edits=EDITS,
    tolerance=1e-4,  # angles of up to 50 radians, in 32 bits
)
