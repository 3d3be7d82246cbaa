"""An ensemble's log probabilities."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def ensemble_log_probs(
    log_probs: Float[Tensor, "model row vocab"],
) -> Float[Tensor, "row vocab"]:
    """Combine the predictions of several models for the next token.

    Args:
        log_probs: for each model and each row of the batch, the natural
            logarithms of the probabilities of all tokens. Some are far below
            -100, where a probability in float32 is 0.

    Returns:
        For each row, the natural logarithms of the means of the models'
        probabilities. They are finite wherever those of a model are.
    """
    ### BEGIN SOLUTION
    models = log_probs.size(0)
    return log_probs.logsumexp(dim=0) - math.log(models)
    ### END SOLUTION


@other
def ensemble_by_the_largest(log_probs):
    largest = log_probs.amax(dim=0)
    return largest + (log_probs - largest).exp().mean(dim=0).log()


@other
def ensemble_model_by_model(log_probs):
    total = log_probs[0]
    for one in log_probs[1:]:
        total = torch.logaddexp(total, one)
    return total - math.log(len(log_probs))


@other
def ensemble_of_weighted(log_probs):
    weights = torch.full_like(log_probs, 1 / log_probs.size(0))
    return torch.logsumexp(log_probs + weights.log(), dim=0)


def draw_models(draw: Draw) -> Case:
    shape = draw.size(2, 4), draw.size(1, 3), draw.size(3, 5)
    scores = draw.choice([1.0, 3.0, 60.0]) * draw.normal(*shape)
    return case("random models", scores.log_softmax(dim=-1))


def of(*models: list[list[float]]) -> Tensor:
    """Log probabilities of probabilities."""
    return torch.tensor(models).log()


EXERCISE = exercise_of(
    ensemble_log_probs,
    section="15_translation#what-raises-bleu",
    points=2,
    cases=[
        case("two models, two tokens", of([[0.5, 0.5]], [[0.9, 0.1]])),
        case("one model", of([[0.25, 0.75]])),
        case(
            "three models, two rows",
            of(
                [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]],
                [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]],
                [[0.1, 0.1, 0.8], [0.3, 0.3, 0.4]],
            ),
        ),
        case(
            "one model finds a token hopeless",
            torch.tensor([[[-0.1, -2.4]], [[-0.0001, -200.0]]]),
        ),
        case(
            "both find two tokens hopeless",
            torch.tensor([[[0.0, -150.0, -300.0]], [[0.0, -160.0, -310.0]]]),
        ),
    ],
    draw=draw_models,
)
