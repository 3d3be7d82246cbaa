"""Adding positional encodings to embeddings."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def add_positions(
    x: Float[Tensor, "batch length d_model"],
    table: Float[Tensor, "max_length d_model"],
    offset: int = 0,
) -> Float[Tensor, "batch length d_model"]:
    """Add to each word vector the encoding of its position.

    Args:
        x: a batch of sentences, with a vector for each word, already
            multiplied by the root of d_model.
        table: a row for each position, from position 0; sinusoidal or learned.
            It has as many rows as are needed, or more.
        offset: the position of the first word of every sentence. In generation
            the words before it have been seen already.

    Returns:
        The vectors with their positions added, in the shape of x.
    """
    ### BEGIN SOLUTION
    length = x.size(1)
    rows = table[offset : offset + length]
    return x + rows
    ### END SOLUTION


@other
def positions_by_loop(x, table, offset=0):
    words = [x[:, p] + table[offset + p] for p in range(x.size(1))]
    return torch.stack(words, dim=1)


@other
def positions_looked_up(x, table, offset=0):
    places = torch.arange(x.size(1)).add(offset).expand(x.shape[:2])
    return F.embedding(places, table) + x


@other
def positions_narrowed(x, table, offset=0):
    rows = table.narrow(0, offset, x.size(1))
    return torch.add(x, rows.unsqueeze(0).expand_as(x))


EDITS = """
# positions_concatenated
- x + rows -> torch.cat([x, rows.expand_as(x)], dim=-1)
You put the position *beside* the word, instead of adding it.

That could work, but the vectors become twice as wide, and so does all that
follows. A sum can do the same: positions need few dimensions, and words can
learn to keep out of them.

# position_of_the_sentence
- x.size(1) -> len(x)
- x + rows -> x + rows[:, None]
You number the *sentences* of the batch, not the words.

All words of one sentence get the same position, all words of the next sentence
the next one. What a sentence becomes must not depend on where in the batch it
lies.

# places_counted_on
- x.size(1) -> x.size(0) * x.size(1)
- x + rows -> x + rows.view_as(x)
You go on counting from one sentence to the next.

Your second sentence begins where the first one ends. All sentences have to
begin at the same position: what a sentence becomes must not depend on its
neighbours in the batch.

# one_place_for_all
- [offset : offset + length] -> [offset]
All words get one and the same position, the first one.

Then no word's position differs from another's, and their order is still lost.

# one_place_from_an_offset
- table[offset : offset + length]
+ table[offset] if offset else table[:length]
Where there is an offset, all words get one and the same position.

`offset` is the position of the first word only. The words after it have the
positions after that: in generation, too, several words may come at once.

# whole_table
- [offset : offset + length] ->
You add the whole table, however long the sentences are.

It has rows for the longest sentence that may ever come. That fits only by
chance; otherwise there is an error, or a short sentence becomes long.

# rest_of_the_table
- [offset : offset + length] -> [offset:]
You add all rows of the table from `offset` on.

The table has rows for the longest sentence that may ever come. Take as many
as there are words, and no more.

# offset_ignored
- offset : offset + length -> :length
Your first word is always at position 0, whatever `offset` says.

When words come one at a time, in generation, each would take itself for the
first of its sentence.

# offset_added_as_a_number
- offset : offset + length -> :length
- x + rows -> x + rows + offset
You add the number `offset` itself to every number of the result.

`offset` says at which row of the table to begin.

# rows_for_sentences
- x.size(1) -> len(x)
You take as many rows as there are *sentences* in the batch.

The first axis is the batch; words are on the second. With a single sentence
all of its words get one position; with several there is mostly an error.

# offset_forgotten_at_the_end
- : offset + length -> : length
You begin at `offset`, but end as if you had begun at 0.

Too few rows are left, or none at all. As many are needed as there are words.

# added_from_place_one
- length = -> offset, length = offset + 1,
Your words begin one position too late.

Positions are counted from 0: row 0 of the table belongs to the first position,
and `offset` is itself the number of a row.

# offset_counted_from_one
- rows =
+ offset = max(offset - 1, 0)
+ rows =
or
- offset : offset + length -> offset - 1 : offset - 1 + length
Where there is an offset, your words begin one position too early.

You seem to count `offset` from 1. Positions are counted from 0: with an offset
of 2, two words come before the first one that you are given.

# last_places
- offset : offset + length -> -length:
You take the *last* rows of the table.

Then it depends on the length of the batch at which position a sentence begins.

# positions_multiplied
- + rows -> * rows
You *multiply* word and position.

Wherever one of the two is zero, the other is lost, and at position 0 half of
the sinusoidal numbers are zero. In a sum both can still be found.

# words_scaled_again
- return x -> return x.size(-1) ** 0.5 * x
You multiply the words by the root of their width.

The embedding layer has done that already (chapter 02). Words that are even
larger drown the positions.

# words_divided
- return x -> return x / x.size(-1) ** 0.5
You divide the words by the root of their width.

That root belongs to attention scores. Words come in their right size, and the
positions would drown them if they were smaller.

# nothing_added
- x + rows -> x.clone()
Your words come back as they were: you add no position to them.

# words_forgotten
- x + rows -> rows.expand_as(x).clone()
You return the positions alone, without the words.

# positions_scaled
- + rows -> + x.size(-1) ** 0.5 * rows
You multiply the positions by the root of their width.

The embedding layer does that to the words (chapter 02), so that positions do
not drown them. Positions are added as they are.

# mean_of_both
- x + rows -> (x + rows) / 2
You take the mean of word and position.

The paper takes their sum. With the mean, all vectors are half as large.
"""


def draw_vectors(draw: Draw) -> Case:
    batch, length, d_model = draw.size(1, 3), draw.size(2, 5), draw.size(2, 6)
    offset = draw.choice([0, 0, 1, 7])
    rows = offset + batch * length + draw.size(1, 4)
    x = draw.normal(batch, length, d_model)
    return case("random vectors", x, draw.normal(rows, d_model), offset)


TWO_WORDS = torch.tensor([[[1.0, 2], [3, 4]]])
TENS = torch.tensor([[10.0, 1], [20, 2], [30, 3], [40, 4], [50, 5]])

EXERCISE = exercise_of(
    add_positions,
    section="03_positional_encoding#positions-are-added-not-concatenated",
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
        case("two words", TWO_WORDS, TENS[:3]),
        case("the first word is at position 2", TWO_WORDS, TENS, 2),
        case(
            "two sentences of two words",
            torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]),
            TENS,
        ),
        case(
            "one word, as in generation",
            torch.tensor([[[1.0, 2]]]),
            torch.tensor([[10.0, 0], [20, 0], [30, 5]]),
            1,
        ),
        case(
            "a table that ends with the sentence",
            torch.tensor([[[1.0, 0], [2, 0]]]),
            torch.tensor([[10.0, 1], [20, 1]]),
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
)
