"""Cross entropy with label smoothing."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def smoothed_loss(
    logits: Float[Tensor, "batch target vocab"],
    tgt_out: Int[Tensor, "batch target"],
    smoothing: float = 0.0,
    pad_id: int = 0,
) -> Float[Tensor, ""]:
    """Cross entropy with label smoothing, in nats per real token.

    Args:
        logits: the model's answer at each position.
        tgt_out: the right token at each position; ``pad_id`` at positions that
            do not count.
        smoothing: ε. It is spread evenly over all V words of the
            vocabulary, the right one and padding among them: each should get
            ε/V, and the right one 1 - ε + ε/V in all.
        pad_id: the token that is no answer. A position where it is the right
            token does not count, even if a logit there is minus infinity.

    Returns:
        The mean over all real tokens of the batch: a tensor without axes, of
        the logits' dtype.
    """
    ### BEGIN SOLUTION
    real = tgt_out != pad_id
    surprise = -logits.log_softmax(dim=-1)  # at each word
    right = surprise.gather(-1, tgt_out[..., None])[..., 0]
    evenly = surprise.mean(dim=-1)
    each = (1 - smoothing) * right + smoothing * evenly
    return each[real].mean()
    ### END SOLUTION


@other
def loss_by_torch(logits, tgt_out, smoothing=0.0, pad_id=0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        tgt_out.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


@other
def loss_written_out(logits, tgt_out, smoothing=0.0, pad_id=0):
    real = tgt_out != pad_id
    vocab = logits.size(-1)
    right = F.one_hot(tgt_out[real], vocab).to(logits.dtype)
    wanted = (1 - smoothing) * right + smoothing / vocab
    return -(wanted * F.log_softmax(logits[real], dim=-1)).sum() / real.sum()


@other
def loss_by_loop(logits, tgt_out, smoothing=0.0, pad_id=0):
    total, tokens = 0.0, 0
    for answers, rights in zip(logits, tgt_out.tolist(), strict=True):
        for answer, right in zip(answers, rights, strict=True):
            if right == pad_id:
                continue
            log_p = answer - torch.logsumexp(answer, dim=0)
            total = total - (1 - smoothing) * log_p[right]
            total = total - smoothing * log_p.sum() / len(log_p)
            tokens += 1
    return total / tokens


def draw_answers(draw: Draw) -> Case:
    pad_id, smoothing = draw.choice([0, 0, 3]), draw.choice([0.05, 0.1, 0.3])
    tgt_out = draw.ids(draw.size(1, 4), draw.size(2, 6), pad_id, 9)
    logits = 2 * draw.normal(*tgt_out.shape, 9)
    return case("random answers", logits, tgt_out, smoothing, pad_id)


def answers(
    note: str, logits: list, tgt_out: list, *asked: int | float
) -> Case:
    """Logits and labels."""
    return case(note, torch.tensor(logits), torch.tensor(tgt_out), *asked)


EXERCISE = exercise_of(
    smoothed_loss,
    section="12_training#do-not-be-too-sure-label-smoothing",
    points=3,
    cases=[
        answers("one token of three, not smoothed", [[[0.0, 1, 2]]], [[2]]),
        answers("one token of four, smoothed", [[[0.0, 1, 0, 2]]], [[3]], 0.1),
        answers(
            "a token and padding, not smoothed",
            [[[0.0, 1, 2], [0, 0, 1]]],
            [[1, 0]],
        ),
        answers(
            "a token and padding", [[[0.0, 1, 2], [0, 0, 1]]], [[1, 0]], 0.3
        ),
        answers("a very improbable word", [[[0.0, 0, 200]]], [[1]], 0.1),
        answers("large logits", [[[100.0, 101, 102]]], [[1]], 0.1),
        answers(
            "minus infinity at padding",
            [[[0.0, 1, 2], [-torch.inf, 0, 1]]],
            [[1, 0]],
            0.1,
        ),
        answers(
            "a token of which it is certain",
            [[[0.0, 0, 200], [0, 2, 1]]],
            [[2, 2]],
        ),
        answers("two tokens", [[[0.0, 1, 2], [0, 2, 1]]], [[2, 2]], 0.1),
        answers(
            "two sentences of different lengths",
            [
                [[0.0, 1, 2], [0, 2, 1], [1, 1, 0]],
                [[2, 0, 1], [3, 0, 0], [1, 0, 0]],
            ],
            [[2, 2, 1], [1, 0, 0]],
            0.1,
        ),
        answers(
            "padding that is not 0",
            [[[0.0, 1, 2], [0, 2, 1]]],
            [[0, 1]],
            0.1,
            1,
        ),
        answers(
            "the chapter's three tokens",
            [[[0.0, 0, 0, 0], [0, 1, 0, 2], [0, 1, 3, 0]]],
            [[2, 3, 1]],
            0.1,
        ),
        case(
            "float64",
            Draw(2).normal(2, 3, 5).double(),
            torch.tensor([[4, 1, 2], [3, 0, 0]]),
            0.1,
        ),
    ],
    draw=draw_answers,
)
