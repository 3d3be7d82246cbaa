"""Padding mask."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def padding_mask(
    ids: Int[Tensor, "batch key"], pad_id: int = 0
) -> Bool[Tensor, "batch 1 1 key"]:
    """Say which keys are real tokens, and which are padding.

    Args:
        ids: a batch of sentences, filled up with ``pad_id``.
        pad_id: the number that means nothing.

    Returns:
        True where a key may be attended to: a real token. The two axes of
        size 1 stand for all heads and all queries.
    """
    ### BEGIN SOLUTION
    real = ids != pad_id
    return real[:, None, None, :]
    ### END SOLUTION


@other
def padding_by_unsqueeze(ids, pad_id=0):
    return ids.ne(pad_id).unsqueeze(1).unsqueeze(2)


@other
def padding_by_view(ids, pad_id=0):
    batch, key = ids.shape
    return torch.logical_not(ids == pad_id).view(batch, 1, 1, key)


EDITS = """
# padding_inverted (#mask-conventions-of-other-libraries)
- != -> ==
Your mask is True at padding and False at words.

In this course True says that a key *may be* attended to. With your mask a
sentence would look at nothing but its padding. (`nn.MultiheadAttention` uses
your convention.)

# padding_added (#mask-conventions-of-other-libraries)
- [:, None, None, :] -> [:, None, None, :].float().log()
Your mask is a table of numbers to be added to the scores: 0 and -inf.

That works too, and some libraries expect it. But `&` cannot join it with
another mask, and this exercise asks for a mask of True and False.

# padding_of_numbers (#two-masks-at-once)
- return -> return 1 *
or
- return -> return 1.0 *
Your mask holds the numbers 1 and 0, not True and False.

`~` does not turn 1 into 0, and `masked_fill` takes no such mask. A comparison
gives True and False by itself.

# padding_in_two_axes (#two-masks-at-once)
- real[:, None, None, :] -> real
Your mask has only the batch and the keys as its axes.

Scores are (batch, heads, query, key), and broadcasting aligns axes from the
right: your batch would be taken for the queries.

# padding_in_three_axes (#two-masks-at-once)
- [:, None, None, :] -> [:, None, :]
Your mask has an axis for the queries, but none for the heads.

Broadcasting aligns axes from the right: against scores of (batch, heads,
query, key) your batch would be taken for the heads.

# padding_batch_at_heads
- [:, None, None, :] -> [None, :, None, :]
Your batch is on the axis of the heads.

Scores are (batch, heads, query, key). Against them your mask differs from
head to head, and is the same for every sentence.

# padding_batch_at_queries (#two-masks-at-once)
- [:, None, None, :] -> [None, None]
Your two axes of size 1 come first: the batch is on the axis of the queries.

Scores are (batch, heads, query, key). The new axes belong between the batch
and the keys.

# padding_axes_behind (#two-masks-at-once)
- [:, None, None, :] -> [:, :, None, None]
Your two axes of size 1 come last: the keys are on the axis of the heads.

Scores are (batch, heads, query, key). The new axes belong between the batch
and the keys.

# padding_of_queries
- [:, None, None, :] -> [:, None, :, None]
Your mask hides queries, not keys.

Its tokens lie on the third axis, that of the queries: words still look at
padding, and padding may look nowhere. Keys are the last axis.

# padding_of_queries_too (#rows-that-may-attend-nowhere)
- real[:, None, None, :] -> real[:, None, None, :] & real[:, None, :, None]
Your mask hides padding as a key, and as a query too.

It looks tidier, but it makes rows that may attend nowhere. Nobody uses what
comes out at padding: it is enough to hide it as a key.

# padding_where_both
- real[:, None, None, :] -> real[:, None, None, :] | real[:, None, :, None]
Your mask hides padding as a key only where the query is padding too.

Words still look at padding. Whether a key may be attended to does not depend
on the query.

# padding_always_zero
- pad_id -> 0
Your mask takes 0 for padding, whatever `pad_id` says.

Not every tokenizer pads with 0: elsewhere 0 may be a word, and padding another
number.

# padding_by_comparing_sizes
- != -> >
Your mask takes all ids up to `pad_id` for padding.

Ids are names, not sizes: a smaller id is a word as well.

# padding_by_length
- ids != pad_id
+ torch.arange(ids.size(1)) < (ids != pad_id).sum(dim=1, keepdim=True)
You count the real tokens, and open as many places from the left.

Where the padding is on the left, you hide words and show padding.

# padding_and_all_after
- ids != pad_id -> (ids == pad_id).cumsum(dim=1) == 0
You hide everything from the first padding on.

Where the padding is on the left, you hide all words.

# padding_alone_opened (#rows-that-may-attend-nowhere)
- real[:, None, None, :]
+ (real | ~real.any(dim=1, keepdim=True))[:, None, None, :]
In a sentence of padding alone you open every place.

The mask says which tokens are real, and none is. It is the softmax that has
to deal with rows that may attend nowhere.
"""


def draw_sentences(draw: Draw) -> Case:
    pad_id = draw.choice([0, 0, 3])
    ids = draw.ids(draw.size(1, 4), draw.size(1, 7), pad_id)
    return case("random sentences", ids, pad_id)


EXERCISE = exercise_of(
    padding_mask,
    section="06_masks#the-padding-mask-by-hand",
    points=2,
    hints=(
        "Which tokens are real is a comparison of the whole tensor with one "
        "number, no loop. What is its shape, and which axes are missing "
        "between those of (batch, heads, query, key)?",
        "Compare so that words give True. Then put two new axes of size 1 "
        "between the two that you have: indexing with None makes one.",
    ),
    cases=[
        case("one sentence of a word and padding", torch.tensor([[7, 0]]), 0),
        case("a single token", torch.tensor([[5]]), 0),
        case(
            "two sentences of different lengths",
            torch.tensor([[7, 8, 9], [4, 0, 0]]),
            0,
        ),
        case("padding that is not 0", torch.tensor([[7, 0, 9], [4, 1, 1]]), 1),
        case("pad_id left out", torch.tensor([[7, 8, 0, 0]])),
        case("a sentence of padding alone", torch.tensor([[7, 8], [0, 0]]), 0),
        case(
            "padding on the left",
            torch.tensor([[0, 0, 5, 6], [0, 3, 4, 5]]),
            0,
        ),
        case(
            "as many sentences as tokens",
            torch.tensor([[7, 8, 0], [6, 0, 0], [1, 2, 3]]),
            0,
        ),
    ],
    draw=draw_sentences,
)
