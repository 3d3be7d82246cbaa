"""Bytes that a decode step has to fetch."""

import torch

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def decode_bytes(
    weights: int,
    bits: int,
    batch: int,
    context: int,
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
) -> float:
    """Count the bytes that a decoder fetches to write one token for each text.

    All texts of the batch share one fetch of the weights. Each has keys and
    values of its own, which are kept in 16 bits.

    Args:
        weights: number of the model's weights, all of which are used.
        bits: of each weight.
        batch: texts.
        context: positions in the cache of each text.
        n_layers: layers.
        n_kv_heads: heads of keys and values in each layer.
        d_head: width of a key, and of a value.

    Returns:
        The number of bytes.
    """
    ### BEGIN SOLUTION
    of_weights = weights * bits / 8
    of_a_position = 2 * n_layers * n_kv_heads * d_head * 2
    return of_weights + batch * context * of_a_position
    ### END SOLUTION


@other
def bytes_by_tensors(
    weights, bits, batch, context, n_layers, n_kv_heads, d_head
):
    with torch.device("meta"):
        key = torch.empty(
            batch, n_kv_heads, context, d_head, dtype=torch.bfloat16
        )
    return weights / (8 / bits) + n_layers * (key.nbytes + key.nbytes)


@other
def bytes_in_bits(weights, bits, batch, context, n_layers, n_kv_heads, d_head):
    numbers = sum(2 * n_kv_heads * d_head for _ in range(n_layers))
    return (bits * weights + 16 * numbers * context * batch) / 8


def draw_sizes(draw: Draw) -> Case:
    return case(
        "random sizes",
        draw.size(100, 900),
        draw.choice([4, 8, 32]),
        draw.size(2, 5),
        draw.size(2, 30),
        draw.size(2, 5),
        draw.size(2, 4),
        draw.size(3, 9),
    )


EXERCISE = exercise_of(
    decode_bytes,
    section="21_speed#how-fast-could-it-be",
    points=2,
    cases=[
        case("one weight, an empty cache", 1, 32, 1, 0, 1, 1, 1),
        case("one position of width 1", 10, 8, 1, 1, 1, 1, 1),
        case("three positions, two layers", 10, 8, 1, 3, 2, 1, 1),
        case("two texts, two heads", 100, 4, 2, 3, 1, 2, 5),
        case(
            "SmolLM2 in 32 bits, one text",
            134_515_008,
            32,
            1,
            256,
            30,
            3,
            64,
        ),
        case(
            "SmolLM2 in four bits, 64 texts",
            134_515_008,
            4,
            64,
            2048,
            30,
            3,
            64,
        ),
    ],
    draw=draw_sizes,
)
