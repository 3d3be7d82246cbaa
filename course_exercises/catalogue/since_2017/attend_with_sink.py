"""A softmax with a sink."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


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
