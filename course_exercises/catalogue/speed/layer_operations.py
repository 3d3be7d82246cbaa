"""Number of multiplications of a layer."""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def layer_operations(
    batch: int, length: int, d_model: int, n_heads: int, d_ff: int
) -> int:
    """Count the arithmetic of one encoder layer's forward pass.

    Only matrix products count: four projections, the two products of
    attention, and the two of the feed-forward part. A product of a × b with
    b × c numbers is 2abc operations, since a multiplication and an addition
    are two. No place of the scores is left out, masked or not.

    Args:
        batch: sentences.
        length: tokens of each sentence, all of them real.
        d_model: width of the stream.
        n_heads: number of heads, which share out the width.
        d_ff: width inside the feed-forward part.

    Returns:
        The number of operations.
    """
    ### BEGIN SOLUTION
    tokens = batch * length
    projections = 4 * d_model**2
    feed_forward = 2 * d_model * d_ff
    attention = 2 * length * d_model
    return 2 * tokens * (projections + feed_forward + attention)
    ### END SOLUTION


@other
def operations_that_torch_counts(batch, length, d_model, n_heads, d_ff):
    with torch.device("meta"):
        square = nn.Linear(d_model, d_model, bias=False)
        widen = nn.Linear(d_model, d_ff, bias=False)
        narrow = nn.Linear(d_ff, d_model, bias=False)
        x = torch.empty(batch, length, d_model)
        heads = torch.empty(batch, n_heads, length, d_model // n_heads)
    with FlopCounterMode(display=False) as counter:
        for _ in range(4):
            square(x)
        (heads @ heads.mT) @ heads
        narrow(widen(x))
    return counter.get_total_flops()


@other
def operations_by_shapes(batch, length, d_model, n_heads, d_ff):
    n, d, head = length, d_model, d_model // n_heads
    products = [(n, d, d)] * 4 + [(n, d, d_ff), (n, d_ff, d)]
    products += [(n, head, n), (n, n, head)] * n_heads
    return batch * sum(2 * a * b * c for a, b, c in products)


EDITS = """
# additions_forgotten
- 2 * tokens -> tokens
You count multiplications alone.

Each of them is followed by an addition. A product of a × b with b × c numbers
is 2abc operations: that is how processors' rates are given, too.

# batch_forgotten
- batch * length -> length
You count one sentence, whatever the batch.

Each sentence goes through the same products.

# one_token_counted
- batch * length -> batch
You count one token of each sentence.

All tokens go through the layer.

# scores_across_sentences
- attention = 2 * length -> attention = 2 * tokens
You let each token look at all tokens of the batch.

Attention stays within a sentence. The batch multiplies its work, and is not
squared.

# scores_forgotten
- + attention ->
You leave out the two products of attention, queries with keys and weights with
values.

They have no weights of their own, but they are arithmetic all the same. They
alone grow with the square of the length.

# scores_alone
- 2 * length * d_model -> length * d_model
You count one of attention's two products.

Queries meet keys, and weights meet values: two products of the same size.

# scores_of_each_head_full
- 2 * length * d_model -> n_heads * 2 * length * d_model
You let each head compute scores over the whole width.

A head has d / h of it, and there are h heads: their number cancels out.

# scores_of_one_head
- 2 * length * d_model -> 2 * length * (d_model // n_heads)
You count the scores of one head.

There are h heads, each over d / h numbers: together the whole width.

# scores_without_width
- 2 * length * d_model -> 2 * length
You count one operation for each score.

A score is a dot product: as many multiplications as a key has numbers.

# scores_not_squared
- 2 * length * d_model -> 2 * d_model
You let each token look at one other token.

It looks at all tokens of its sentence: attention grows with the square of the
length.

# projections_forgotten
- projections + feed_forward -> feed_forward
You leave out attention's four projections.

They make queries, keys and values out of the stream, and mix what the heads
return. In short sentences that is far more than attention's own two products.

# projections_of_three
- 4 * d_model**2 -> 3 * d_model**2
You count three projections.

Queries, keys and values take three. A fourth, W_O, mixes what the heads
return.

# projections_of_each_head
- 4 * d_model**2 -> n_heads * 4 * d_model**2
You let the projections grow with the number of heads.

The heads divide the width among themselves: the number of heads cancels out.

# projections_of_one_head
- 4 * d_model**2 -> 4 * d_model * (d_model // n_heads)
You count the projections of one head.

Each of the h heads has its own.

# feed_forward_forgotten
- projections + feed_forward -> projections
You leave out the feed-forward part.

With the paper's sizes it is two thirds of the products with weights.

# feed_forward_once
- 2 * d_model * d_ff -> d_model * d_ff
You count one of the feed-forward part's two products.

One widens, the other narrows.

# feed_forward_four_times
- 2 * d_model * d_ff -> 8 * d_model**2
You take 4 · `d_model` for the inner width, whatever `d_ff` is.

Four is the paper's choice, but no law.

# backward_counted
- return 2 * tokens -> return 6 * tokens
You count a whole training step.

On the way back each product becomes two. This exercise asks for the way
forward alone.
"""


def draw_sizes(draw: Draw) -> Case:
    heads = draw.size(2, 4)
    sizes = draw.size(2, 9), draw.size(2, 40), heads * draw.size(2, 9), heads
    return case("random sizes", *sizes, draw.size(3, 90))


EXERCISE = exercise_of(
    layer_operations,
    section="21_speed#how-fast-could-it-be",
    points=2,
    hints=(
        "Write down the shapes of every product, for one sentence. How many "
        "have a matrix of weights in them? Which two have none?",
        "A matrix of weights costs each token two operations for each of its "
        "numbers. In attention's own two products each token meets `length` "
        "others, over the whole width, however many heads share it.",
    ),
    cases=[
        case("one sentence of two tokens, width 1", 1, 2, 1, 1, 3),
        case("a single token", 1, 1, 2, 2, 3),
        case("two sentences", 2, 3, 2, 1, 5),
        case("two heads", 1, 3, 4, 2, 5),
        case("an inside four times as wide", 1, 2, 4, 2, 16),
        case("the paper's layer, a batch of 64", 64, 30, 512, 8, 2048),
        case("a long text", 1, 4096, 256, 4, 1024),
    ],
    draw=draw_sizes,
)
