"""Rotary position embedding (RoPE)."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def turn_by_position(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn queries, or keys, by their positions, as rotary positions do.

    Neighbours form a pair: numbers 2i and 2i + 1 of a vector are an arrow.
    At position p, counted from 0, it is turned by the angle
    p / 10000^(2i / d_head), from the first of its numbers towards the
    second: an arrow (1, 0) becomes (cos, sin) of the angle.

    Args:
        x: queries or keys of every head; d_head is even. The heads are
            turned alike.

    Returns:
        All arrows turned, each where it was, in the shape and dtype of x.
    """
    ### BEGIN SOLUTION
    length, d_head = x.shape[-2:]
    place = torch.arange(length)[:, None]
    angle = place / 10_000 ** (torch.arange(0, d_head, 2) / d_head)
    cos, sin = angle.cos(), angle.sin()  # each (length, d_head / 2)
    first, second = x[..., 0::2], x[..., 1::2]
    new_first = first * cos - second * sin
    new_second = first * sin + second * cos
    return torch.stack([new_first, new_second], dim=-1).flatten(-2)
    ### END SOLUTION


@other
def turn_by_complex_numbers(x):
    length, d_head = x.shape[-2:]
    speed = 10_000.0 ** (-torch.arange(0, d_head, 2).double() / d_head)
    angle = torch.outer(torch.arange(length).double(), speed)
    arrows = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    factor = torch.polar(torch.ones_like(angle), angle).to(arrows.dtype)
    return torch.view_as_real(arrows * factor).flatten(-2)


@other
def turn_by_matrices(x):
    places = []
    for p in range(x.size(2)):
        blocks = []
        for i in range(x.size(3) // 2):
            angle = p / 10_000 ** (2 * i / x.size(3))
            cos, sin = math.cos(angle), math.sin(angle)
            blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
        R = torch.block_diag(*blocks).to(x.dtype)
        places.append(x[:, :, p] @ R)
    return torch.stack(places, dim=2)


@other
def turn_by_a_quarter(x):
    speed = 1e4 ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))
    angle = torch.arange(x.size(-2))[:, None] * speed.repeat_interleave(2)
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + quarter * angle.sin()


EDITS = """
# halves_paired
- x[..., 0::2], x[..., 1::2] -> x.chunk(2, dim=-1)
- stack -> cat
- .flatten(-2) ->
Your pairs are the two *halves* of a vector: number i with number i + d/2.

Many libraries do so, and it works as well. But this exercise asks for
neighbours: weights made for one layout do not fit the other, unless the
columns of W_Q and W_K are reordered.

# halves_with_angles_of_neighbours
- x[..., 0::2], x[..., 1::2] -> x.chunk(2, dim=-1)
- return torch.stack([new_first, new_second], dim=-1).flatten(-2)
+ cos, sin = (each.repeat_interleave(2, dim=-1) for each in (cos, sin))
+ return x * cos + torch.cat([-second, first], dim=-1) * sin
You exchange numbers between the *halves* of a vector, but arrange the angles
for neighbours.

The two layouts do not go together: the numbers that meet have different
angles, and that is no turn. Use neighbours in both.

# pairs_left_apart
- stack -> cat
- .flatten(-2) ->
You turn neighbours, but do not put them back where they were.

All first numbers come first, then all second ones. Scores would be the same,
if queries and keys are treated alike; but each number has to stay in its own
place.

# turned_the_other_way
- angle = place -> angle = -place
You turn the other way round.

A query then sees the keys behind it as if they were ahead of it. A model
trained like this would learn as well, but weights trained elsewhere would not
work in it.

# second_from_the_turned_first
- new_second = first -> new_second = new_first
The second number of your pairs is computed from the *turned* first.

Both have to be computed from the old numbers, or the arrow changes its
length. Do you overwrite a name too early?

# sine_and_cosine_exchanged
- angle.cos(), angle.sin() -> angle.sin(), angle.cos()
You have swapped sine and cosine.

Where the angle is 0, nothing may move: there the cosine is 1 and the sine 0.

# mirrored
- - second -> + second
- + second -> - second
or
- + second -> - second
Your arrows are not only turned, but also mirrored: a sign is wrong.

If queries and keys are mirrored alike, scores still depend on the distance.
But where the angle is 0, nothing may move, and weights trained elsewhere would
not work with yours.

# degrees_for_radians
- arange(length) -> arange(length).deg2rad()
Your arrows turn too little: you take the angles for degrees.

They are radians: the first pair turns by one radian, some 57°, per position.

# both_signs_plus
- - second -> + second
You add in both sums, where one of them needs a minus.

Then an arrow changes its length: it is no turn, and the score no longer
depends on the distance alone.

# turns_ever_faster
- place / -> place *
or
- (torch.arange(0 -> (-torch.arange(0
or
- place / 10_000 ** (torch -> place * (1 / 10_000.0 ** (-torch
- / d_head) -> / d_head))
or
- (torch.arange(0, d_head, 2) -> (-torch.arange(0, d_head, 2).double()
- angle.cos(), angle.sin() -> angle.cos().to(x), angle.sin().to(x)
Your pairs turn *faster* from one to the next.

The position has to be divided by a power of 10000, not multiplied. An arrow
that goes round hundreds of times between two positions says nothing about
their distance.

# shrunk_by_the_cosine
- cos - second * sin -> cos
- first * sin + second -> second
You multiply by the cosine alone: arrows get shorter and do not turn.

In a turn each new number is made of both old ones: the terms with the sine
are missing.

# table_added (#positions-are-added-not-concatenated)
- torch.stack([new_first, new_second] -> x + torch.stack([sin, cos]
You *add* the table of positions; nothing is turned.

Then words and positions are mixed in every score. A turn puts the distance of
two positions into their score, and nothing else about the positions.

# turned_from_place_one
- arange(length) -> arange(1, length + 1)
Your positions begin at 1: the first vector is turned too.

Scores do not change, since they depend on the distance alone. But position 0
has to stay as it is: keys that another program has turned would be one
position off against your queries.

# turned_by_head
- arange(length)[:, None] -> arange(x.size(1))[:, None, None]
You turn by the number of the *head*, not by the position.

All positions of a head are turned alike, so that the score says nothing about
their distance. Which axis counts the positions?

# turned_by_sentence
- arange(length)[:, None] -> arange(len(x))[:, None, None, None]
You turn by the number of the *sentence* in the batch, not by the position.

All positions of a sentence are turned alike, so that the score says nothing
about their distance. Which axis counts the positions?

# hands_of_one_speed
- / d_head) -> // d_head)
All your pairs turn at one speed.

After some six words they are nearly back where they began. Each pair needs a
speed of its own: pair i has 2i in its exponent.

# turned_with_broken_pairs (#the-famous-heat-map-and-a-common-mistake)
- arange(0, d_head, 2) -> arange(d_head)
- first * cos - second * sin -> first * cos[:, ::2] - second * sin[:, ::2]
- first * sin + second * cos -> first * sin[:, 1::2] + second * cos[:, 1::2]
The two numbers of a pair are turned by different angles.

That is no turn. A pair is one arrow and has one angle: it depends on the
number of the pair, not on that of the column.

# turns_fall_twice_as_fast (#the-famous-heat-map-and-a-common-mistake)
- arange(0, d_head, 2) -> arange(0, 2 * d_head, 4)
Your exponents are twice too large: speeds fall twice as fast from pair to
pair.

Do you double a number that runs over 0, 2, 4, … already?

# turns_fall_half_as_fast
- arange(0, d_head, 2) -> arange(d_head // 2)
Your exponents are half as large as they should be.

Pair i has 2i in its exponent, not i. Your speeds fall too slowly from pair to
pair.

# exponents_of_the_second
- arange(0, d_head, 2) -> arange(1, d_head, 2)
Your exponents are those of the odd columns: 1, 3, 5, …

A pair has the exponent of its first number, which is in an even column. So the
first pair has exponent 0, and turns by one radian per position.

# divided_after_the_power
- 10_000 ** (torch.arange(0, d_head, 2) / d_head)
+ 10_000.0 ** torch.arange(0, d_head, 2) / d_head
or
- 10_000 ** (torch.arange(0, d_head, 2) / d_head)
+ 10_000 ** torch.arange(0, d_head, 2) / d_head
You divide the power by the width, and not its exponent.

`a ** b / c` is (a ** b) / c. Put the exponent in brackets.

# speeds_of_the_whole_width
- / d_head) -> / (x.size(1) * d_head))
Your speeds are those of a vector as wide as all heads together.

Each head turns its own vectors: what counts is the width of one head.

# halves_taken_neighbours_made
- x[..., 0::2], x[..., 1::2] -> x.chunk(2, dim=-1)
Your pairs are the two *halves* of a vector, and come back as neighbours.

So numbers change places, even at position 0, where nothing may move. Turn
neighbours, and leave each number where it was.

# pairs_returned_swapped
- [new_first, new_second] -> [new_second, new_first]
You put the two numbers of each pair back in the wrong order.

The turned first number belongs in the even column, the second in the odd one.
Where the angle is 0, nothing may move.

# neighbours_with_angles_of_halves
- return torch.stack([new_first, new_second], dim=-1).flatten(-2)
+ cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)
+ across = torch.stack([-second, first], dim=-1).flatten(-2)
+ return x * cos + across * sin
You exchange numbers between neighbours, but arrange the angles for *halves*.

The two layouts do not go together: the numbers that meet have different
angles, and that is no turn. Use neighbours in both.

# second_like_the_first
- first * sin + second * cos -> first * cos + second * sin
You make the second number like the first one, with another sign.

In a turn each old number meets the cosine once and the sine once. Where the
angle is 0, both have to come back as they were.

# table_multiplied
- torch.stack([new_first, new_second] -> x * torch.stack([sin, cos]
You *multiply* by the table of positions, number by number.

A turn mixes the two numbers of a pair: each new one is made of both old ones.

# rounds_at_each_place
- place / -> 2 * math.pi * place /
You multiply the angles by 2π.

They are radians already. With 2π, your first pair makes a whole round from
each position to the next.

# turns_without_the_width
- / d_head) -> + 0.0)
or
- / d_head) -> )
You do not divide the exponents by the width.

The second pair then hardly turns at all. Divided by d_head, the exponents
spread the speeds between 1 and 1/10000, however many pairs there are.
"""


def draw_heads(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    length, d_head = draw.size(2, 6), 2 * draw.size(2, 4)
    return case("random heads", draw.normal(batch, heads, length, d_head))


EXERCISE = exercise_of(
    turn_by_position,
    section="03_positional_encoding#rotary-positions",
    points=3,
    hints=(
        "One pair first: how does an arrow (x, y) look after a turn by an "
        "angle? Both new numbers are made of both old ones. Then do it for "
        "all pairs at once, with tensors of all first and all second "
        "numbers.",
        "Angles have the shape (length, d_head / 2), as in the sinusoidal "
        "table. Every second number of x, from 0 and from 1, has that shape "
        "at its end. Stack the two results along a new last axis and flatten "
        "it away.",
    ),
    cases=[
        case("a pair at two positions", torch.tensor([[[[1.0, 0], [1, 0]]]])),
        case("one pair, upright", torch.tensor([[[[0.0, 1], [0, 1]]]])),
        case(
            "two pairs at two positions",
            torch.tensor([[[[1.0, 0, 2, 0], [1, 0, 2, 0]]]]),
        ),
        case(
            "two heads",
            torch.tensor([[[[1.0, 0, 2, 0]] * 2, [[0.0, 1, 3, 0]] * 2]]),
        ),
        case("a batch of two, three heads", Draw(14).normal(2, 3, 4, 6)),
        case("as many heads as positions", Draw(15).normal(1, 3, 3, 4)),
        case("a longer sentence", Draw(16).normal(1, 2, 30, 8)),
        case("float64", Draw(17).normal(1, 1, 3, 4).double()),
    ],
    draw=draw_heads,
    tolerance=1e-4,  # angles of up to 30 radians, in 32 bits
)
