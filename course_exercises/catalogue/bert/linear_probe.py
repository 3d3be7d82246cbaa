"""The loss of a linear probe on a frozen body."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def linear_probe(
    states: Float[Tensor, "batch length d"],
    real: Bool[Tensor, "batch length"],
    weight: Float[Tensor, "classes d"],
    bias: Float[Tensor, " classes"],
    labels: Int[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """The loss that a linear probe is trained by.

    Each text becomes one vector, the mean of its tokens' vectors; [CLS] and
    [SEP] count, padding does not. A linear map makes a logit of each class.

    Args:
        states: what a frozen body made of each token.
        real: False at padding; each text has at least one real token.
        weight: of the linear map.
        bias: of the linear map.
        labels: the right class of each text, from 0.

    Returns:
        The cross entropy in nats, the mean over the texts.
    """
    ### BEGIN SOLUTION
    real = real[..., None]  # (batch, length, 1)
    means = (states * real).sum(dim=1) / real.sum(dim=1)
    logits = means @ weight.T + bias
    chances = logits.log_softmax(dim=-1)
    return -chances.gather(-1, labels[:, None]).mean()
    ### END SOLUTION


@other
def probe_by_loop(states, real, weight, bias, labels):
    losses = []
    for row, kept, label in zip(states, real, labels, strict=True):
        logits = weight @ row[kept].mean(dim=0) + bias
        losses.append(logits.logsumexp(dim=0) - logits[label])
    return torch.stack(losses).mean()


@other
def probe_by_library(states, real, weight, bias, labels):
    shares = real / real.sum(dim=1, keepdim=True)
    means = (shares[:, None].to(states.dtype) @ states)[:, 0]
    logits = torch.nn.functional.linear(means, weight, bias)
    return torch.nn.functional.cross_entropy(logits, labels)


def draw_texts(draw: Draw) -> Case:
    batch, length = draw.size(2, 4), draw.size(3, 6)
    width, classes = draw.size(2, 5), draw.size(2, 4)
    real = torch.arange(length) < torch.tensor(
        [draw.size(1, length) for _ in range(batch)]
    ).unsqueeze(1)
    labels = torch.tensor([draw.size(0, classes - 1) for _ in range(batch)])
    return case(
        "random texts",
        draw.normal(batch, length, width),
        real,
        draw.normal(classes, width),
        draw.normal(classes),
        labels,
    )


WEIGHT = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
TWO = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [4.0, 5.0]]])
EXERCISE = exercise_of(
    linear_probe,
    section="18_bert#fine-tuning",
    points=2,
    cases=[
        case(
            "one text without padding",
            torch.tensor([[[2.0], [4.0]]]),
            torch.tensor([[True, True]]),
            torch.tensor([[1.0], [0.0]]),
            torch.zeros(2),
            torch.tensor([0]),
        ),
        case(
            "one text with padding",
            TWO,
            torch.tensor([[True, True, False]]),
            WEIGHT,
            torch.zeros(2),
            torch.tensor([0]),
        ),
        case(
            "a bias",
            TWO,
            torch.tensor([[True, True, False]]),
            WEIGHT,
            torch.tensor([1.0, -1.0]),
            torch.tensor([1]),
        ),
        case(
            "two texts of different length",
            TWO.repeat(2, 1, 1),
            torch.tensor([[True, False, False], [True, True, False]]),
            WEIGHT,
            torch.tensor([0.5, 0.0]),
            torch.tensor([1, 0]),
        ),
    ],
    draw=draw_texts,
)
