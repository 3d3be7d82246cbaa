"""The targets of supervised fine-tuning: the answers alone."""

import torch
from jaxtyping import Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def answer_targets(
    ids: Int[Tensor, "rows length"],
    prompts: Int[Tensor, " rows"],
    pad_id: int,
) -> Int[Tensor, "rows shorter"]:
    """What a model is asked to predict where the loss counts answers alone.

    Each row is a prompt, its answer, the mark that ends it, and padding. The
    model reads all columns but the last, and predicts at each of them the
    next token.

    Args:
        ids: the rows.
        prompts: how many tokens of each row are its prompt.
        pad_id: the padding, which the loss leaves out.

    Returns:
        The next token of each column that is read, where it belongs to an
        answer (the mark that ends it does); elsewhere ``pad_id``.
    """
    ### BEGIN SOLUTION
    targets = ids[:, 1:]
    column = torch.arange(1, ids.size(1))
    return torch.where(column >= prompts[:, None], targets, pad_id)
    ### END SOLUTION


@other
def targets_by_loop(ids, prompts, pad_id):
    targets = ids[:, 1:].clone()
    for row, prompt in zip(targets, prompts.tolist(), strict=True):
        row[: prompt - 1] = pad_id
    return targets


@other
def targets_by_mask(ids, prompts, pad_id):
    hidden = torch.zeros_like(ids, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        hidden[row, :prompt] = True
    return ids.masked_fill(hidden, pad_id)[:, 1:]


def draw_rows(draw: Draw) -> Case:
    rows, length = draw.size(2, 4), draw.size(5, 8)
    ids = draw.ids(rows, length)
    sizes = (ids != 0).sum(dim=1)
    prompts = [draw.size(1, max(1, size - 1)) for size in sizes.tolist()]
    return case("random rows", ids, torch.tensor(prompts), 0)


EXERCISE = exercise_of(
    answer_targets,
    section="23_from_text_to_answers#the-loss-on-answers-alone",
    points=1,
    cases=[
        case(
            "one row",
            torch.tensor([[1, 7, 8, 20, 2]]),
            torch.tensor([3]),
            0,
        ),
        case(
            "prompts of two lengths",
            torch.tensor([[1, 7, 20, 21, 2], [1, 7, 8, 30, 2]]),
            torch.tensor([2, 3]),
            0,
        ),
        case(
            "a short row, with padding",
            torch.tensor([[1, 7, 20, 2, 0, 0], [1, 7, 8, 30, 31, 2]]),
            torch.tensor([2, 3]),
            0,
        ),
        case(
            "padding with another number",
            torch.tensor([[1, 7, 20, 2, 9], [1, 7, 8, 30, 2]]),
            torch.tensor([2, 3]),
            9,
        ),
    ],
    draw=draw_rows,
)
