"""A softmax with a sink."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import Case, case, exercise_of, other


def attend_with_sink(
    scores: Float[Tensor, "query key"],
    values: Float[Tensor, "key d_v"],
    sink: float,
) -> Float[Tensor, "query d_v"]:
    """Mix values by a softmax that has one more score, the head's sink.

    The sink stands beside the scores of each query and takes its share of the
    weight, but it brings no value.

    Args:
        scores: of each query with each key; they may be large.
        values: one row for each key.
        sink: the learned score of this head.

    Returns:
        The mixture of the values, for each query.
    """
    ### BEGIN SOLUTION
    last = torch.full_like(scores[:, :1], sink)
    weights = torch.cat([scores, last], dim=-1).softmax(dim=-1)
    return weights[:, :-1] @ values
    ### END SOLUTION


@other
def sink_as_a_valve(scores, values, sink):
    open_by = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sink)
    return open_by * (scores.softmax(dim=-1) @ values)


@other
def sink_with_a_value_of_zero(scores, values, sink):
    scores = torch.cat([torch.full_like(scores[:, :1], sink), scores], dim=1)
    values = torch.cat([torch.zeros_like(values[:1]), values])
    return scores.softmax(dim=1) @ values


EDITS = """
# sink_without_effect
- torch.full_like(scores[:, :1], sink) -> torch.full_like(scores[:, :1], -1e9)
or
- torch.cat([scores, last], dim=-1).softmax(dim=-1)
+ torch.cat([scores + sink, last - 1e9], dim=-1).softmax(dim=-1)
or
- return weights[:, :-1] @ values
+ weights = weights[:, :-1]
+ return weights / weights.sum(dim=-1, keepdim=True) @ values
Your sink takes nothing: the weights of each query add up to 1, as in an
ordinary softmax.

That is so if the sink is left out, if it is added to every score (a softmax
does not mind what is added to all of them), or if the weights are divided by
their sum once more after it has taken its share.

# sink_of_zero
- torch.full_like(scores[:, :1], sink) -> torch.zeros_like(scores[:, :1])
Your sink has the score zero, whatever was learned.

That is "softmax off by one", which adds 1 to the sum of the powers. Here each
head has a score of its own.

# sink_is_no_power
- weights = torch.cat([scores, last], dim=-1).softmax(dim=-1)
+ powers = (scores - scores.amax()).exp()
+ total = powers.sum(dim=-1, keepdim=True)
+ total = total + sink * (-scores.amax()).exp()
+ weights = torch.cat([powers, last], dim=-1) / total
You add the sink itself to the sum of the powers.

It is a score, like the others: it enters the sum as a power, exp(sink).

# sink_has_a_value
- return weights[:, :-1] @ values
+ return weights @ torch.cat([values, values.mean(dim=0, keepdim=True)])
Your sink brings a value, the mean of the others.

What the sink takes is to be lost, so that a head can add little or nothing.

# softmax_over_queries
- softmax(dim=-1) -> softmax(dim=0)
Your softmax runs over the queries.

Each query shares out one unit of attention over the keys and the sink: the
last axis.
"""


def draw_scores(draw: Draw) -> Case:
    queries, keys = draw.size(2, 4), draw.size(2, 5)
    return case(
        "random scores",
        2 * draw.normal(queries, keys),
        draw.normal(keys, 3),
        float(draw.normal(1)),
    )


EXERCISE = exercise_of(
    attend_with_sink,
    section="22_since_2017#attention-sinks",
    points=2,
    hints=(
        "How many numbers go into the softmax of a query with three keys?",
        "Put the sink beside the scores as a last column, take the softmax, "
        "and mix the values by all columns but the last.",
    ),
    cases=[
        case(
            "one query, one key",
            torch.tensor([[0.0]]),
            torch.tensor([[1.0]]),
            1.0,
        ),
        case(
            "one query, two keys",
            torch.tensor([[0.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            0.5,
        ),
        case(
            "a sink that takes nearly everything",
            torch.tensor([[0.0, 1.0], [2.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            6.0,
        ),
        case(
            "a negative sink",
            torch.tensor([[0.5, 1.0, 0.0], [2.0, 0.0, 1.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]),
            -1.0,
        ),
        case(
            "large scores",
            torch.tensor([[100.0, 99.0], [98.0, 101.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
            100.0,
        ),
    ],
    draw=draw_scores,
)
