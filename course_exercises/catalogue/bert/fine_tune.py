"""A loop that fine-tunes: warm-up, cosine, and all weights."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.candidate.cases import Case
from course_exercises.candidate.draw import Draw
from course_exercises.engine.exercise import case, exercise_of, other


def fine_tune(
    body: Float[Tensor, "d_model d_in"],
    head: Float[Tensor, "classes d_model"],
    texts: Float[Tensor, "steps batch d_in"],
    labels: Int[Tensor, "steps batch"],
    peak: float,
    warm_up: int,
) -> tuple[
    Float[Tensor, " steps"],
    Float[Tensor, "d_model d_in"],
    Float[Tensor, "classes d_model"],
]:
    """Fine-tune a small body and a new head by gradient descent, once through.

    The logits of a batch x are tanh(x bodyᵀ) headᵀ; its loss is their cross
    entropy, the mean over the batch. In step t of T, counted from 0, the
    learning rate is the peak times the smaller of (t + 1) / warm_up and
    (1 + cos(π t / T)) / 2. The weights that were given stay as they are.

    Args:
        body: weights that others trained.
        head: new weights.
        texts: the batches, one after the other.
        labels: the right class of each text, from 0.
        peak: highest learning rate.
        warm_up: steps until it is reached.

    Returns:
        The loss of each batch before its update; body and head after the last.
    """
    ### BEGIN SOLUTION
    body = body.detach().clone().requires_grad_()
    head = head.detach().clone().requires_grad_()
    optimizer = torch.optim.SGD([body, head])
    losses = []
    for t in range(len(texts)):
        warm = (t + 1) / warm_up
        falling = (1 + math.cos(math.pi * t / len(texts))) / 2
        optimizer.param_groups[0]["lr"] = peak * min(warm, falling)
        logits = torch.tanh(texts[t] @ body.T) @ head.T
        loss = F.cross_entropy(logits, labels[t])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), body.detach(), head.detach()
    ### END SOLUTION


@other
def tune_by_hand(body, head, texts, labels, peak, warm_up):
    losses, steps = [], texts.size(0)
    for t, (x, wanted) in enumerate(zip(texts, labels, strict=True)):
        body, head = (w.detach().requires_grad_() for w in (body, head))
        states = torch.tanh(x @ body.T)
        loss = F.cross_entropy(states @ head.T, wanted)
        by_body, by_head = torch.autograd.grad(loss, (body, head))
        wave = (1 + math.cos(math.pi * t / steps)) / 2
        rate = peak * min((t + 1) / warm_up, wave)
        body, head = body - rate * by_body, head - rate * by_head
        losses.append(loss.item())
    return torch.tensor(losses), body.detach(), head.detach()


@other
def tune_by_function(body, head, texts, labels, peak, warm_up):
    def loss_of(weights, x, wanted):
        states = torch.tanh(F.linear(x, weights[0]))
        logits = F.linear(states, weights[1])
        chances = logits.log_softmax(dim=-1)
        return -chances.gather(1, wanted[:, None]).mean()

    weights, losses = [body.detach(), head.detach()], []
    slope = torch.func.grad_and_value(loss_of)
    for t in range(len(texts)):
        gradients, loss = slope(weights, texts[t], labels[t])
        falling = 0.5 + 0.5 * math.cos(t / len(texts) * math.pi)
        rate = peak * min(falling, (t + 1) / warm_up)
        pairs = zip(weights, gradients, strict=True)
        weights = [w - rate * gradient for w, gradient in pairs]
        losses.append(loss)
    return torch.stack(losses), *weights


def draw_training(draw: Draw) -> Case:
    steps, batch = draw.size(3, 5), draw.size(2, 4)
    d_in, d_model, classes = draw.size(2, 4), draw.size(2, 4), draw.size(2, 3)
    labels = torch.tensor(
        [
            [draw.size(0, classes - 1) for _ in range(batch)]
            for _ in range(steps)
        ]
    )
    return case(
        "a short training",
        draw.normal(d_model, d_in),
        draw.normal(classes, d_model),
        draw.normal(steps, batch, d_in),
        labels,
        draw.choice([0.5, 1.0]),
        draw.size(2, 3),
    )


ONE = torch.tensor([[1.0]])
PAIR = torch.tensor([[1.0], [-1.0]])
MANY = Draw(18)
EXERCISE = exercise_of(
    fine_tune,
    section="18_bert#fine-tuning",
    points=3,
    cases=[
        case(
            "one step",
            ONE,
            PAIR,
            torch.tensor([[[1.0], [-1.0]]]),
            torch.tensor([[0, 1]]),
            1.0,
            1,
        ),
        case(
            "one step, with a warm-up of two",
            ONE,
            PAIR,
            torch.tensor([[[1.0], [-1.0]]]),
            torch.tensor([[0, 1]]),
            1.0,
            2,
        ),
        case(
            "two steps",
            ONE,
            PAIR,
            torch.tensor([[[1.0]], [[2.0]]]),
            torch.tensor([[1], [1]]),
            1.0,
            1,
        ),
        case(
            "a longer warm-up",
            torch.tensor([[0.5, -1.0], [1.0, 0.0]]),
            torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
            MANY.normal(4, 3, 2),
            torch.tensor([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 1]]),
            1.0,
            3,
        ),
    ],
    draw=draw_training,
    tolerance=1e-4,
)
