"""Rotary positions: queries and keys are turned."""

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


def turn_by_position(
    x: Float[Tensor, "batch heads length d_head"],
) -> Float[Tensor, "batch heads length d_head"]:
    """Turn queries, or keys, by their positions, as rotary positions do.

    Neighbours form a pair: numbers 2i and 2i + 1 of a vector are an arrow.
    At place p, counted from 0, it is turned by the angle
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

Many libraries do so, and it is as good. But asked for are neighbours; to go
from one to the other, the columns of W_Q and W_K would have to be permuted.

# halves_with_angles_of_neighbours
- x[..., 0::2], x[..., 1::2] -> x.chunk(2, dim=-1)
- return torch.stack([new_first, new_second], dim=-1).flatten(-2)
+ cos, sin = (each.repeat_interleave(2, dim=-1) for each in (cos, sin))
+ return x * cos + torch.cat([-second, first], dim=-1) * sin
You exchange numbers between the *halves* of a vector, but lay the angles out
for neighbours.

The two layouts do not go together: the numbers that meet have different
angles, and that is no turn. Asked for are neighbours in both.

# pairs_left_apart
- stack -> cat
- .flatten(-2) ->
You turn neighbours, but do not put them back where they were.

All first numbers come first, then all second ones. If queries and keys are
treated alike, scores are the same; but each arrow is asked for in its own
place.

# turned_the_other_way
- angle = place -> angle = -place
You turn the other way round.

The scores of a query behind a key become those of a query in front of it. A
model trained like this would learn as well; weights from elsewhere would not
work in it.

# second_from_the_turned_first
- new_second = first -> new_second = new_first
The second number of your pairs is computed from the *turned* first.

Both come from the arrow as it was before. Yours gets longer or shorter by
turning: a name was overwritten too early.

# sine_and_cosine_exchanged
- angle.cos(), angle.sin() -> angle.sin(), angle.cos()
Sine and cosine have changed places.

At place 0, where the angle is 0, nothing should move. Yours does there.

# mirrored
- - second -> + second
- + second -> - second
or
- + second -> - second
Your arrows are mirrored besides being turned: a sign is wrong.

Where queries and keys are mirrored alike, scores know the distance all the
same. But at place 0, where the angle is 0, nothing should move; and weights
from elsewhere would not work.

# degrees_for_radians
- arange(length) -> arange(length).deg2rad()
Your arrows turn too little: by degrees, where radians are meant.

The first pair is to turn by a radian, some 57°, for each place.

# both_signs_plus
- - second -> + second
Both of your sums have a plus.

That is no turn: an arrow gets longer or shorter by it, and the score no longer
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

The place is to be divided by a power of 10000. An arrow that goes round
hundreds of times from one place to the next says nothing about the distance.

# shrunk_by_the_cosine
- cos - second * sin -> cos
- first * sin + second -> second
You multiply by the cosine alone: arrows get shorter and do not turn.

The other half of the turn is missing, in which the two numbers of a pair
exchange something.

# table_added (#added-not-concatenated)
- torch.stack([new_first, new_second] -> x + torch.stack([sin, cos]
You *add* the table of positions; nothing is turned.

Then the score of two places has four terms, of which one compares positions. A
turn puts the distance, and nothing else of the places, into the score.

# turned_from_place_one
- arange(length) -> arange(1, length + 1)
Your places begin at 1: the first vector is turned too.

Scores do not notice it, as they know the distance only. But place 0 is to be
left as it is: it will matter when words come one at a time.

# turned_by_head
- arange(length)[:, None] -> arange(x.size(1))[:, None, None]
You turn by the number of the *head*, not by the place.

All places of a head are turned alike, and the score learns nothing about the
distance. Which axis counts the places?

# hands_of_one_speed
- / d_head) -> // d_head)
All your pairs turn at one speed.

One hand alone is back where it was, or nearly, after a few words. Each pair
has a speed of its own: pair i has 2i in its exponent.

# turned_with_broken_pairs (#the-famous-heat-map-and-its-wrong-twin)
- arange(0, d_head, 2) -> arange(d_head)
- first * cos - second * sin -> first * cos[:, ::2] - second * sin[:, ::2]
- first * sin + second * cos -> first * sin[:, 1::2] + second * cos[:, 1::2]
The two numbers of a pair are turned by different angles.

That is no turn. A pair is one arrow and has one angle, which the number of the
pair gives, not that of the column.

# turns_fall_twice_as_fast (#the-famous-heat-map-and-its-wrong-twin)
- arange(0, d_head, 2) -> arange(0, 2 * d_head, 4)
Your speeds fall twice as fast from pair to pair.

Perhaps you double a number that runs over 0, 2, 4, … already.

# turns_fall_half_as_fast
- arange(0, d_head, 2) -> arange(d_head // 2)
Your speeds fall half as fast from pair to pair.

Pair i has 2i in its exponent, not i.

# speeds_of_the_whole_width
- / d_head) -> / (x.size(1) * d_head))
Your speeds are those of a vector as wide as all heads together.

Each head turns by itself: what counts is the width of one head.

# halves_taken_neighbours_made
- x[..., 0::2], x[..., 1::2] -> x.chunk(2, dim=-1)
Your pairs are the two *halves* of a vector, and come back as neighbours.

Numbers change places by that, at place 0 too, where nothing should move.
Neighbours are to be turned, and to stay where they are.

# neighbours_with_angles_of_halves
- return torch.stack([new_first, new_second], dim=-1).flatten(-2)
+ cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)
+ across = torch.stack([-second, first], dim=-1).flatten(-2)
+ return x * cos + across * sin
You exchange numbers between neighbours, but lay the angles out for *halves*.

The two layouts do not go together: the numbers that meet have different
angles, and that is no turn. Asked for are neighbours in both.

# second_like_the_first
- first * sin + second * cos -> first * cos + second * sin
Your second number is made as the first one is, with another sign.

In one of them the first number meets the cosine, in the other the sine. At
place 0, where the angle is 0, each has to come back as it was.

# table_multiplied
- torch.stack([new_first, new_second] -> x * torch.stack([sin, cos]
You *multiply* by the table of positions: each number gets longer or shorter.

A turn mixes the two numbers of a pair: both new ones are made of both old
ones.

# rounds_at_each_place
- place / -> 2 * math.pi * place /
Your first pair makes a whole round from each place to the next.

The formula's angles are radians: there is no 2π in it.

# turns_without_the_width
- / d_head) -> + 0.0)
or
- / d_head) -> )
Your exponents are not divided by the width.

The second pair then hardly turns at all. The speeds, from 1 to a
ten-thousandth, are to be spread over the pairs that there are.
"""


def draw_heads(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    length, d_head = draw.size(2, 6), 2 * draw.size(2, 4)
    return case("random heads", draw.normal(batch, heads, length, d_head))


EXERCISE = exercise_of(
    turn_by_position,
    place=3,
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
        case("one pair at two places", torch.tensor([[[[1.0, 0], [1, 0]]]])),
        case("one pair, upright", torch.tensor([[[[0.0, 1], [0, 1]]]])),
        case(
            "two pairs at two places",
            torch.tensor([[[[1.0, 0, 2, 0], [1, 0, 2, 0]]]]),
        ),
        case(
            "two heads",
            torch.tensor([[[[1.0, 0, 2, 0]] * 2, [[0.0, 1, 3, 0]] * 2]]),
        ),
        case("a batch of two, three heads", Draw(14).normal(2, 3, 4, 6)),
        case("as many heads as places", Draw(15).normal(1, 3, 3, 4)),
        case("a longer sentence", Draw(16).normal(1, 2, 30, 8)),
        case("float64", Draw(17).normal(1, 1, 3, 4).double()),
    ],
    draw=draw_heads,
    edits=EDITS,
    tolerance=1e-4,  # angles of up to 30 radians, in 32 bits
)
