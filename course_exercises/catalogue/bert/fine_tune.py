"""A loop that fine-tunes: warm-up, cosine, and all weights."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_exercises.engine.draw import Draw
from course_exercises.engine.exercise import (
    Case,
    case,
    exercise_of,
    mistake,
    other,
)


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


@mistake
def loss_after_the_update(body, head, texts, labels, peak, warm_up):
    """You note the loss of a batch after the model has learned from it.

    That loss looks better than it is. Note the one before the update.
    """
    body, head = (w.detach().clone().requires_grad_() for w in (body, head))
    optimizer = torch.optim.SGD([body, head])
    losses = []
    for t in range(len(texts)):
        falling = (1 + math.cos(math.pi * t / len(texts))) / 2
        rate = peak * min((t + 1) / warm_up, falling)
        optimizer.param_groups[0]["lr"] = rate

        def loss_now(x=texts[t], wanted=labels[t]):
            return F.cross_entropy(torch.tanh(x @ body.T) @ head.T, wanted)

        optimizer.zero_grad()
        loss_now().backward()
        optimizer.step()
        loss = loss_now()
        losses.append(loss.detach())
    return torch.stack(losses), body.detach(), head.detach()


EDITS = """
# gradients_pile_up
- optimizer.zero_grad() -> pass
You never set the gradients to zero, so they add up.

Each step then also goes where the batches before it pointed. Zero the
gradients before each backward pass.

# body_stays_frozen
- SGD([body, head]) -> SGD([head])
The body stays as it was: only your head learns.

That is a linear probe. To fine-tune, hand the optimizer the weights of both.

# head_stays_as_it_was
- SGD([body, head]) -> SGD([body])
The head stays as it was: only your body learns.

A new head is random. Hand the optimizer the weights of both.

# given_weights_change
- body.detach().clone() -> body.detach()
- head.detach().clone() -> head.detach()
You change the weights that you were given.

Whoever fine-tunes from them a second time would begin with weights that have
already learned. Train copies.

# no_warm_up
- peak * min(warm, falling) -> peak * falling
You begin at the peak, without a warm-up.

The head is random at first, and its large gradients would reach the body at
the full rate.

# rate_does_not_fall
- peak * min(warm, falling) -> peak * min(warm, 1)
Your rate stays at its peak after the warm-up.

The cosine brings it down, so that the last steps settle.

# product_of_both
- min(warm, falling) -> min(warm, 1) * falling
You multiply the warm-up with the cosine.

The exercise asks for the smaller of the two.

# warm_up_from_zero
- (t + 1) / warm_up -> t / warm_up
Your first step has a rate of 0: nothing is learned from its batch.

Count the step that is made: t + 1.

# losses_are_added
- labels[t]) -> labels[t], reduction="sum")
You add the losses of a batch.

Then a step is as many times longer as the batch has texts. The mean is asked
for.

# tanh_left_out
- torch.tanh(texts[t] @ body.T) -> (texts[t] @ body.T)
You leave out the tanh.

Without it, body and head are one linear map.

# uphill
- SGD([body, head]) -> SGD([body, head], maximize=True)
or
- loss.backward() -> (-loss).backward()
You go uphill: the loss rises.

Subtract the gradient, times the rate.
"""


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
    hints=(
        "Which weights does the optimizer change, what has to happen to their "
        "gradients before each backward pass, and when is the loss noted?",
        "Clone both weights and let them require a gradient. In each step set "
        '`optimizer.param_groups[0]["lr"]`, make the loss, then `zero_grad`, '
        "`backward`, `step`.",
    ),
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
