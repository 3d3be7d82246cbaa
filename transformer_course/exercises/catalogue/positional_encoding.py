"""Exercises of chapter 03: positional encoding."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from transformer_course.exercises.engine.draw import Draw
from transformer_course.exercises.engine.exercise import (
    Case,
    Exercise,
    case,
    see,
    variant_of,
)

CLOCKS = "03_positional_encoding#clocks"
TWIN = "03_positional_encoding#the-famous-heat-map-and-its-wrong-twin"
ADDED = "03_positional_encoding#added-not-concatenated"
ROTARY = "03_positional_encoding#rotary-positions"

# --- sinusoidal_encoding -----------------------------------------------------


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
    place = torch.arange(length)
    column = torch.arange(0, d_model, 2)  # 2i: that of the sine
    angle = place[:, None] / 10_000 ** (column / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    ### END SOLUTION


def table_by_loop(length, d_model):
    rows = []
    for place in range(length):
        row = []
        for i in range(d_model // 2):
            angle = place / 10_000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


def table_by_filling(length, d_model):
    table = torch.empty(length, d_model)
    speed = torch.exp(torch.arange(0, d_model, 2) * -math.log(1e4) / d_model)
    angle = torch.outer(torch.arange(length).float(), speed)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


def table_of_one_sine(length, d_model):
    column = torch.arange(d_model)
    speed = 10_000.0 ** (-(column - column % 2) / d_model)
    shift = math.pi / 2 * (column % 2)  # a cosine is a quarter turn ahead
    return torch.sin(torch.arange(length).unsqueeze(1) * speed + shift)


def angles(length, speeds):
    """The angle of each place, for each hand."""
    return torch.arange(length)[:, None] * speeds


def hands(width):
    """The speed of each hand, by the formula."""
    return 10_000.0 ** (-torch.arange(0, width, 2) / width)


def side_by_side(sines, cosines):
    """Each cosine beside its sine."""
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


def column_by_column(angle):
    """A sine in the even columns, a cosine in the odd ones."""
    even = torch.arange(angle.size(1)) % 2 == 0
    return torch.where(even, angle.sin(), angle.cos())


@see(TWIN)
def wrong_twin(length, d_model):
    """Yours is the wrong twin of the famous heat map.

    You take the number of the column for that of the pair: speeds fall twice
    as fast, and the sine and the cosine of a pair do not turn at the same
    speed. They are no longer the tip of one hand.
    """
    column = torch.arange(d_model)
    return column_by_column(
        angles(length, 10_000.0 ** (-2 * column / d_model))
    )


@variant_of(wrong_twin)
def wrong_twin_of_odd_exponents(length, d_model):
    column = torch.arange(d_model)
    exponent = torch.where(column % 2 == 0, 2 * column, 2 * column - 1)
    return column_by_column(angles(length, 10_000.0 ** (-exponent / d_model)))


@see(TWIN)
def speeds_of_their_own(length, d_model):
    """Each of your columns has a speed of its own.

    The sines are right; each cosine turns more slowly than its sine. The two
    of a pair are to be the tip of *one* hand, with one angle.
    """
    column = torch.arange(d_model)
    return column_by_column(angles(length, 10_000.0 ** (-column / d_model)))


@see(TWIN)
def exponent_doubled(length, d_model):
    """Your pairs are pairs, but their speeds fall twice as fast.

    Perhaps you double a number that runs over 0, 2, 4, … already. The last
    hands of a wide table would hardly move in a million places.
    """
    angle = angles(length, hands(d_model) ** 2)
    return side_by_side(angle.sin(), angle.cos())


def exponent_halved(length, d_model):
    """Your pairs are pairs, but their speeds fall half as fast.

    The slowest hand is to be almost ten thousand times slower than the
    first; yours only about a hundred times. Pair i has 2i in its exponent.
    """
    angle = angles(length, hands(d_model) ** 0.5)
    return side_by_side(angle.sin(), angle.cos())


@see(TWIN)
def table_concatenated(length, d_model):
    """All your sines come first, then all cosines.

    It is the authors' own layout, and to the matrix that comes next one
    order of columns is as good as another. Asked for is the order of the
    paper's formula.
    """
    angle = angles(length, hands(d_model))
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@see(TWIN)
def spaced_as_in_the_code(length, d_model):
    """Your slowest hand has exactly 1/10000 of the first one's speed.

    So it is in the authors' code, which divides i by d/2 - 1. The formula
    divides it by d/2, and that is asked for.
    """
    half = d_model // 2
    angle = angles(length, 10_000.0 ** (-torch.arange(half) / (half - 1)))
    return side_by_side(angle.sin(), angle.cos())


@see(TWIN)
def table_of_the_code(length, d_model):
    """Yours is the table of the authors' code, not that of their formula.

    All sines come first, and the slowest hand has exactly 1/10000 of the
    first one's speed. Asked for is the formula: each cosine beside its sine,
    and i divided by d/2.
    """
    half = d_model // 2
    angle = angles(length, 10_000.0 ** (-torch.arange(half) / (half - 1)))
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


def cosine_first(length, d_model):
    """In each of your pairs the cosine comes first.

    A place's hand is then as good as before. But the formula has the sine in
    the even columns, and weights from elsewhere count on it.
    """
    angle = angles(length, hands(d_model))
    return side_by_side(angle.cos(), angle.sin())


def places_from_one(length, d_model):
    """Your places begin at 1.

    At place 0 all hands stand at twelve: sines 0, cosines 1. Your table
    lacks that row, and has one too many at its end.
    """
    angle = angles(length + 1, hands(d_model))[1:]
    return side_by_side(angle.sin(), angle.cos())


def exponent_without_the_width(length, d_model):
    """Your exponents are not divided by the width.

    The second hand is then a hundred million times slower than the first.
    The whole range, from 1 to a ten-thousandth, is to be spread over the
    hands that there are.
    """
    angle = angles(length, 10_000.0 ** -torch.arange(0.0, d_model, 2))
    return side_by_side(angle.sin(), angle.cos())


def exponents_of_the_cosines(length, d_model):
    """Your exponents are those of the odd columns: 1, 3, 5, …

    A pair has the exponent of its sine, which stands in an even column; the
    first hand turns by a radian for each place.
    """
    speed = 10_000.0 ** (-torch.arange(1, d_model, 2) / d_model)
    angle = angles(length, speed)
    return side_by_side(angle.sin(), angle.cos())


def hands_ever_faster(length, d_model):
    """Your hands get *faster* from pair to pair.

    The place is to be divided by a power of 10000. A hand that goes round
    hundreds of times from one place to the next says nothing about where it
    is.
    """
    angle = angles(length, 1 / hands(d_model))
    return side_by_side(angle.sin(), angle.cos())


def one_speed_for_all(length, d_model):
    """All your hands turn at one speed, that of the first.

    Perhaps a division is one of whole numbers, and its result always 0. One
    hand alone cannot tell a place from another that is some rounds away.
    """
    angle = angles(length, torch.ones(d_model // 2))
    return side_by_side(angle.sin(), angle.cos())


def rounds_for_radians(length, d_model):
    """Your first hand makes a whole round from each place to the next.

    The formula's angles are radians: there is no 2π in it. Your first pair
    is the same everywhere.
    """
    angle = angles(length, 2 * math.pi * hands(d_model))
    return side_by_side(angle.sin(), angle.cos())


@see("07_multi_head_attention#splitting-and-merging")
def table_cut_anew(length, d_model):
    """All your numbers are there, but places are mixed.

    You lay the sines of all places before all cosines, and cut the whole
    into rows anew. A view or a reshape leaves numbers in the order in which
    they lie in memory: it never brings a cosine beside its sine.
    """
    angle = angles(length, hands(d_model))
    return torch.stack([angle.sin(), angle.cos()]).view(length, d_model)


def sines_alone(length, d_model):
    """Both columns of your pairs hold the same number, a sine or a cosine.

    From a sine alone one cannot tell whether a hand is going up or down, and
    a step is no longer a turn. Two numbers make the tip of a hand.
    """
    angle = angles(length, hands(d_model))
    return side_by_side(angle.sin(), angle.sin())


@variant_of(sines_alone)
def cosines_alone(length, d_model):
    angle = angles(length, hands(d_model))
    return side_by_side(angle.cos(), angle.cos())


def draw_sizes(draw: Draw) -> Case:
    return case("random sizes", draw.size(2, 40), 2 * draw.size(2, 12))


SINUSOIDAL_ENCODING = Exercise(
    solution=sinusoidal_encoding,
    section=CLOCKS,
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
    others=[table_by_loop, table_by_filling, table_of_one_sine],
    mistakes=[
        wrong_twin,
        wrong_twin_of_odd_exponents,
        speeds_of_their_own,
        exponent_doubled,
        exponent_halved,
        table_concatenated,
        spaced_as_in_the_code,
        table_of_the_code,
        cosine_first,
        places_from_one,
        exponent_without_the_width,
        exponents_of_the_cosines,
        hands_ever_faster,
        one_speed_for_all,
        rounds_for_radians,
        table_cut_anew,
        sines_alone,
        cosines_alone,
    ],
    tolerance=1e-4,  # angles of up to 50 radians, in 32 bits
)

# --- add_positions -----------------------------------------------------------


def add_positions(
    x: Float[Tensor, "batch length d_model"],
    table: Float[Tensor, "max_length d_model"],
    offset: int = 0,
) -> Float[Tensor, "batch length d_model"]:
    """Tell each word vector where it stands.

    Args:
        x: a batch of sentences; of each word a vector, multiplied by the
            root of d_model already.
        table: a row for each place, from place 0; sinusoidal or learned. It
            has as many rows as are needed, or more.
        offset: the place of the first word of every sentence. In generation
            the words before it have been seen already.

    Returns:
        The vectors with their positions added, in the shape of x.
    """
    ### BEGIN SOLUTION
    return x + table[offset : offset + x.size(1)]
    ### END SOLUTION


def positions_by_loop(x, table, offset=0):
    words = [x[:, p] + table[offset + p] for p in range(x.size(1))]
    return torch.stack(words, dim=1)


def positions_looked_up(x, table, offset=0):
    places = torch.arange(x.size(1)).add(offset).expand(x.shape[:2])
    return F.embedding(places, table) + x


def positions_narrowed(x, table, offset=0):
    rows = table.narrow(0, offset, x.size(1))
    return torch.add(x, rows.unsqueeze(0).expand_as(x))


def positions_concatenated(x, table, offset=0):
    """You put the position *beside* the word, not onto it.

    It would do, but the vectors become twice as wide, and so does all that
    follows. A sum can do the same: places need few dimensions, and words can
    learn to keep out of them.
    """
    rows = table[offset : offset + x.size(1)].expand_as(x)
    return torch.cat([x, rows], dim=-1)


def position_of_the_sentence(x, table, offset=0):
    """You number the *sentences* of the batch, not the words.

    All words of the first sentence get the position of place 0, all of the
    second that of place 1. What a sentence becomes must not depend on where
    in the batch it lies.
    """
    return x + table[offset : offset + x.size(0)][:, None]


def places_counted_on(x, table, offset=0):
    """You go on counting from one sentence to the next.

    The second sentence begins where the first has ended. Each begins at the
    same place: what a sentence becomes must not depend on its neighbours in
    the batch.
    """
    count = x.size(0) * x.size(1)
    return x + table[offset : offset + count].view_as(x)


def one_place_for_all(x, table, offset=0):
    """All words get one and the same position, that of the first place.

    Then no word's place differs from another's, and order is lost as before.
    """
    return x + table[offset]


def whole_table(x, table, offset=0):
    """You add the whole table, however long the sentences are.

    It has rows for the longest sentence that may ever come. That fits only
    by chance; else it ends in an error, or makes a short sentence long.
    """
    return x + table


def offset_ignored(x, table, offset=0):
    """Your first word is always at place 0, whatever `offset` says.

    In generation, word by word, every word would take itself for the first
    of its sentence.
    """
    return x + table[: x.size(1)]


def offset_added_as_a_number(x, table, offset=0):
    """You add the number `offset` itself, to every number of the result.

    It says at which row of the table to begin.
    """
    return x + table[: x.size(1)] + offset


def rows_for_sentences(x, table, offset=0):
    """You take as many rows as there are *sentences* in the batch.

    The first axis is the batch; words are on the second. With a single
    sentence all of its words get one position, and in most batches yours
    ends in an error.
    """
    return x + table[offset : offset + len(x)]


def offset_forgotten_at_the_end(x, table, offset=0):
    """You begin at `offset`, but end as if you had begun at 0.

    Too few rows are left, or none at all.
    """
    return x + table[offset : x.size(1)]


def added_from_place_one(x, table, offset=0):
    """Your words begin one place too far on.

    The first row of the table belongs to the first place, whose number is 0.
    """
    return x + table[offset + 1 : offset + 1 + x.size(1)]


def last_places(x, table, offset=0):
    """You take the *last* rows of the table.

    The first word of a sentence would be at another place in each batch of
    another length.
    """
    return x + table[-x.size(1) :]


def positions_multiplied(x, table, offset=0):
    """You *multiply* word and position.

    Wherever one of the two is zero, the other is lost; at place 0 half of
    the sinusoidal numbers are. And no word could keep out of the way.
    """
    return x * table[offset : offset + x.size(1)]


def words_scaled_again(x, table, offset=0):
    """You multiply the words by the root of their width.

    The embedding layer has done that (chapter 02): they come in their size.
    Twice would drown the positions.
    """
    return math.sqrt(x.size(-1)) * x + table[offset : offset + x.size(1)]


def nothing_added(x, table, offset=0):
    """Your words come back as they were: no position is in them."""
    return x.clone()


def words_forgotten(x, table, offset=0):
    """What you return are the positions alone, without the words."""
    return table[offset : offset + x.size(1)].expand_as(x).clone()


def draw_vectors(draw: Draw) -> Case:
    batch, length, d_model = draw.size(1, 3), draw.size(2, 5), draw.size(2, 6)
    offset = draw.choice([0, 0, 1, 7])
    rows = offset + batch * length + draw.size(1, 4)
    return case(
        "random vectors",
        draw.normal(batch, length, d_model),
        draw.normal(rows, d_model),
        offset,
    )


ADD_POSITIONS = Exercise(
    solution=add_positions,
    section=ADDED,
    points=1,
    hints=(
        "The table has more rows than a sentence has words. Which ones "
        "belong to this batch? And are they the same for all of its "
        "sentences?",
        "Cut as many rows out of the table as there are words, beginning at "
        "offset. Broadcasting lines axes up from the right, so the batch "
        "takes care of itself.",
    ),
    cases=[
        case(
            "two words of one number",
            torch.tensor([[[1.0], [2.0]]]),
            torch.tensor([[10.0], [20.0], [30.0]]),
        ),
        case(
            "the first word stands at place 2",
            torch.tensor([[[1.0], [2.0]]]),
            torch.tensor([[10.0], [20.0], [30.0], [40.0], [50.0]]),
            2,
        ),
        case(
            "two sentences of two words",
            torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]),
            torch.tensor([[10.0], [20.0], [30.0], [40.0], [50.0]]),
        ),
        case(
            "one word, as in generation",
            torch.tensor([[[1.0, 2.0]]]),
            torch.tensor([[10.0, 0.0], [20.0, 0.0], [30.0, 5.0]]),
            1,
        ),
        case(
            "a table that ends with the sentence",
            torch.tensor([[[1.0, 0.0], [2.0, 0.0]]]),
            torch.tensor([[10.0, 1.0], [20.0, 1.0]]),
        ),
        case(
            "as many sentences as words",
            Draw(10).normal(3, 3, 4),
            Draw(11).normal(12, 4),
        ),
        case(
            "float64",
            Draw(12).normal(2, 3, 2).double(),
            Draw(13).normal(9, 2).double(),
            1,
        ),
    ],
    draw=draw_vectors,
    others=[positions_by_loop, positions_looked_up, positions_narrowed],
    mistakes=[
        positions_concatenated,
        position_of_the_sentence,
        places_counted_on,
        one_place_for_all,
        whole_table,
        offset_ignored,
        offset_added_as_a_number,
        rows_for_sentences,
        offset_forgotten_at_the_end,
        added_from_place_one,
        last_places,
        positions_multiplied,
        words_scaled_again,
        nothing_added,
        words_forgotten,
    ],
)

# --- turn_by_position --------------------------------------------------------


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
    speed = 10_000.0 ** (-torch.arange(0, d_head, 2) / d_head)
    angle = torch.arange(length)[:, None] * speed  # (length, d_head / 2)
    cos, sin = angle.cos(), angle.sin()
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2)
    ### END SOLUTION


def turn_by_complex_numbers(x):
    length, d_head = x.shape[-2:]
    speed = 10_000.0 ** (-torch.arange(0, d_head, 2).double() / d_head)
    angle = torch.outer(torch.arange(length).double(), speed)
    arrows = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    factor = torch.polar(torch.ones_like(angle), angle).to(arrows.dtype)
    return torch.view_as_real(arrows * factor).flatten(-2)


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


def turn_by_a_quarter(x):
    angle = angles(x.size(-2), hands(x.size(-1)).repeat_interleave(2))
    quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + quarter * angle.sin()


def turned(x, angle):
    """Neighbours turned as they should be, by angles of any kind."""
    first, second = x[..., 0::2], x[..., 1::2]
    return side_by_side(
        first * angle.cos() - second * angle.sin(),
        first * angle.sin() + second * angle.cos(),
    )


def halves_paired(x):
    """Your pairs are the two *halves* of a vector: number i with number
    i + d/2.

    Many libraries do so, and it is as good. But asked for are neighbours; to
    go from one to the other, the columns of W_Q and W_K would have to be
    permuted.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    pair = [first * cos - second * sin, first * sin + second * cos]
    return torch.cat(pair, dim=-1)


def halves_with_angles_of_neighbours(x):
    """You exchange numbers between the *halves* of a vector, but lay the
    angles out for neighbours.

    The two layouts do not go together: the numbers that meet have different
    angles, and that is no turn. Asked for are neighbours in both.
    """
    width = x.size(-1)
    angle = angles(x.size(-2), hands(width).repeat_interleave(2))
    first, second = x.chunk(2, dim=-1)
    quarter = torch.cat([-second, first], dim=-1)
    return x * angle.cos() + quarter * angle.sin()


def pairs_left_apart(x):
    """You turn neighbours, but do not put them back where they were.

    All first numbers come first, then all second ones. If queries and keys
    are treated alike, scores are the same; but each arrow is asked for in
    its own place.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x[..., 0::2], x[..., 1::2]
    cos, sin = angle.cos(), angle.sin()
    pair = [first * cos - second * sin, first * sin + second * cos]
    return torch.cat(pair, dim=-1)


def turned_the_other_way(x):
    """You turn the other way round.

    The scores of a query behind a key become those of a query in front of
    it. A model trained like this would learn as well; weights from elsewhere
    would not work in it.
    """
    return turned(x, -angles(x.size(-2), hands(x.size(-1))))


def second_from_the_turned_first(x):
    """The second number of your pairs is computed from the *turned* first.

    Both come from the arrow as it was before. Yours gets longer or shorter
    by turning: a name was overwritten too early.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first = x[..., 0::2] * angle.cos() - x[..., 1::2] * angle.sin()
    second = first * angle.sin() + x[..., 1::2] * angle.cos()
    return side_by_side(first, second)


def sine_and_cosine_exchanged(x):
    """Sine and cosine have changed places.

    At place 0, where the angle is 0, nothing should move. Yours does there.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x[..., 0::2], x[..., 1::2]
    return side_by_side(
        first * angle.sin() - second * angle.cos(),
        first * angle.cos() + second * angle.sin(),
    )


def mirrored(x):
    """Your arrows are mirrored besides being turned: a sign is wrong.

    Where queries and keys are mirrored alike, scores know the distance all
    the same. But at place 0, where the angle is 0, nothing should move; and
    weights from elsewhere would not work.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x[..., 0::2], x[..., 1::2]
    return side_by_side(
        first * angle.cos() + second * angle.sin(),
        first * angle.sin() - second * angle.cos(),
    )


def degrees_for_radians(x):
    """Your arrows turn too little: by degrees, where radians are meant.

    The first pair is to turn by a radian, some 57°, for each place.
    """
    return turned(x, angles(x.size(-2), hands(x.size(-1))).deg2rad())


def both_signs_plus(x):
    """Both of your sums have a plus.

    That is no turn: an arrow gets longer or shorter by it, and the score no
    longer depends on the distance alone.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x[..., 0::2], x[..., 1::2]
    return side_by_side(
        first * angle.cos() + second * angle.sin(),
        first * angle.sin() + second * angle.cos(),
    )


@variant_of(mirrored)
def both_signs_minus(x):
    angle = angles(x.size(-2), hands(x.size(-1)))
    first, second = x[..., 0::2], x[..., 1::2]
    return side_by_side(
        first * angle.cos() - second * angle.sin(),
        first * angle.sin() - second * angle.cos(),
    )


def turns_ever_faster(x):
    """Your pairs turn *faster* from one to the next.

    The place is to be divided by a power of 10000. An arrow that goes round
    hundreds of times from one place to the next says nothing about the
    distance.
    """
    return turned(x, angles(x.size(-2), 1 / hands(x.size(-1))))


def shrunk_by_the_cosine(x):
    """You multiply by the cosine alone: arrows get shorter and do not turn.

    The other half of the turn is missing, in which the two numbers of a pair
    exchange something.
    """
    angle = angles(x.size(-2), hands(x.size(-1)).repeat_interleave(2))
    return x * angle.cos()


@see(ADDED)
def table_added(x):
    """You *add* the table of positions; nothing is turned.

    Then the score of two places has four terms, of which one compares
    positions. A turn puts the distance, and nothing else of the places, into
    the score.
    """
    angle = angles(x.size(-2), hands(x.size(-1)))
    return x + side_by_side(angle.sin(), angle.cos())


def turned_from_place_one(x):
    """Your places begin at 1: the first vector is turned too.

    Scores do not notice it, as they know the distance only. But place 0 is
    to be left as it is: it will matter when words come one at a time.
    """
    angle = angles(x.size(-2) + 1, hands(x.size(-1)))[1:]
    return turned(x, angle)


def turned_by_head(x):
    """You turn by the number of the *head*, not by the place.

    All places of a head are turned alike, and the score learns nothing about
    the distance. Which axis counts the places?
    """
    return turned(x, angles(x.size(1), hands(x.size(-1)))[:, None])


def hands_of_one_speed(x):
    """All your pairs turn at one speed.

    One hand alone is back where it was, or nearly, after a few words. Each
    pair has a speed of its own: pair i has 2i in its exponent.
    """
    return turned(x, angles(x.size(-2), torch.ones(x.size(-1) // 2)))


@see(TWIN)
def turned_with_broken_pairs(x):
    """The two numbers of a pair are turned by different angles.

    That is no turn. A pair is one arrow and has one angle, which the number
    of the pair gives, not that of the column.
    """
    width = x.size(-1)
    angle = angles(x.size(-2), 10_000.0 ** (-torch.arange(width) / width))
    quarter = side_by_side(-x[..., 1::2], x[..., 0::2])
    return x * angle.cos() + quarter * angle.sin()


@see(TWIN)
def turns_fall_twice_as_fast(x):
    """Your speeds fall twice as fast from pair to pair.

    Perhaps you double a number that runs over 0, 2, 4, … already.
    """
    return turned(x, angles(x.size(-2), hands(x.size(-1)) ** 2))


def turns_fall_half_as_fast(x):
    """Your speeds fall half as fast from pair to pair.

    Pair i has 2i in its exponent, not i.
    """
    return turned(x, angles(x.size(-2), hands(x.size(-1)) ** 0.5))


def speeds_of_the_whole_width(x):
    """Your speeds are those of a vector as wide as all heads together.

    Each head turns by itself: what counts is the width of one head.
    """
    heads, width = x.size(1), x.size(-1)
    speed = 10_000.0 ** (-torch.arange(0, width, 2) / (heads * width))
    return turned(x, angles(x.size(-2), speed))


def draw_heads(draw: Draw) -> Case:
    batch, heads = draw.size(1, 3), draw.size(1, 3)
    length, d_head = draw.size(2, 6), 2 * draw.size(2, 4)
    return case("random heads", draw.normal(batch, heads, length, d_head))


TURN_BY_POSITION = Exercise(
    solution=turn_by_position,
    section=ROTARY,
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
            torch.tensor(
                [[[[1.0, 0, 2, 0]] * 2, [[0.0, 1, 3, 0]] * 2]],
            ),
        ),
        case("a batch of two, three heads", Draw(14).normal(2, 3, 4, 6)),
        case("as many heads as places", Draw(15).normal(1, 3, 3, 4)),
        case("a longer sentence", Draw(16).normal(1, 2, 30, 8)),
        case("float64", Draw(17).normal(1, 1, 3, 4).double()),
    ],
    draw=draw_heads,
    others=[turn_by_complex_numbers, turn_by_matrices, turn_by_a_quarter],
    mistakes=[
        halves_paired,
        halves_with_angles_of_neighbours,
        pairs_left_apart,
        turned_the_other_way,
        second_from_the_turned_first,
        sine_and_cosine_exchanged,
        mirrored,
        degrees_for_radians,
        both_signs_plus,
        both_signs_minus,
        turns_ever_faster,
        shrunk_by_the_cosine,
        table_added,
        turned_from_place_one,
        turned_by_head,
        hands_of_one_speed,
        turned_with_broken_pairs,
        turns_fall_twice_as_fast,
        turns_fall_half_as_fast,
        speeds_of_the_whole_width,
    ],
    tolerance=1e-4,  # angles of up to 30 radians, in 32 bits
)

EXERCISES = [ADD_POSITIONS, SINUSOIDAL_ENCODING, TURN_BY_POSITION]
"""In the order of the notebook."""
