"""One step of training."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from course_exercises.candidate.cases import Case, give_weights
from course_exercises.candidate.draw import Draw
from course_exercises.candidate.values import copied
from course_exercises.engine.exercise import case, exercise_of, other

from .smoothed_loss import smoothed_loss
from .teacher_forcing import teacher_forcing


def train_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    src: Int[Tensor, "batch source"],
    tgt: Int[Tensor, "batch length"],
    rate: float,
    smoothing: float = 0.1,
) -> float:
    """Compute the loss of a batch, and update the model once.

    The gradient is that of this batch alone: nothing is left in it from an
    earlier step. If its norm, over all parameters together, is above 1, the
    gradient is scaled to the norm 1 before the update.

    Args:
        model: called as ``model(src, tgt_in)``, it gives logits.
        optimizer: holds the parameters of the model, in one group or more.
            Each group has its rate under ``"lr"``.
        src: source sentences, padded with 0.
        tgt: whole targets: bos (1), words, eos (2), padded with 0.
        rate: the learning rate of this update, for every group.
        smoothing: ε of the label smoothing.

    Returns:
        The loss before the update, a plain number: the smoothed cross entropy
        per real token, with teacher forcing.
    """
    ### BEGIN SOLUTION
    tgt_in, tgt_out = teacher_forcing(tgt)
    loss = smoothed_loss(model(src, tgt_in), tgt_out, smoothing)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    return loss.item()
    ### END SOLUTION


@other
def step_by_torch(model, optimizer, src, tgt, rate, smoothing=0.1):
    for group in optimizer.param_groups:
        group.update(lr=rate)
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(
        logits.transpose(1, 2),
        tgt[:, 1:],
        ignore_index=0,
        label_smoothing=smoothing,
    )
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1)
    optimizer.step()
    model.zero_grad()
    return float(loss.detach())


@other
def step_by_hand(model, optimizer, src, tgt, rate, smoothing=0.1):
    read, wanted = teacher_forcing(tgt)
    loss = smoothed_loss(model(src, read), wanted, smoothing)
    weights = list(model.parameters())
    gradients = torch.autograd.grad(loss, weights)
    norm = sum(g.square().sum() for g in gradients).sqrt().item()
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient / max(norm, 1.0)
    for i in range(len(optimizer.param_groups)):
        optimizer.param_groups[i]["lr"] = rate
    optimizer.step()
    return loss.detach().item()


class Pairs(nn.Module):
    """Logits from the word that is read, and from the words of the source.

    Args:
        factor: what the logits are multiplied by.
    """

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor
        self.target = nn.Parameter(torch.zeros(6, 6))
        self.source = nn.Parameter(torch.zeros(6, 6))
        give_weights(self)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Compute the logits."""
        heard = self.source[src].mean(dim=1, keepdim=True)
        return self.factor * (self.target[tgt_in] + heard)


def sgd_in_two_groups(model: nn.Module) -> torch.optim.Optimizer:
    """Plain gradient descent: a group for each of the two tables."""
    groups = [{"params": [weight]} for weight in model.parameters()]
    return torch.optim.SGD(groups, lr=0.5)


def two_steps(candidate, given: Case) -> dict:
    """Take two steps on one batch; return what they say and leave."""
    model, make_optimizer, *batch = copied(given.args)
    optimizer = make_optimizer(model)
    losses = {
        f"loss of step {number}": candidate(model, optimizer, *batch)
        for number in (1, 2)
    }
    lengths = {
        f"lengths of {name}'s rows": table.detach().norm(dim=1)
        for name, table in model.named_parameters()
    }
    rates = [group["lr"] for group in optimizer.param_groups]
    return {**losses, "rates": rates, **lengths}


def batch_case(
    note: str, factor: float, src: list, tgt: list, *settings: float
) -> Case:
    """A batch, and a model whose logits are multiplied by a factor."""
    batch = torch.tensor(src), torch.tensor(tgt)
    return case(note, Pairs(factor), sgd_in_two_groups, *batch, *settings)


def draw_batch(draw: Draw) -> Case:
    rows = draw.size(2, 3)
    src = draw.ids(rows, 3, vocab_size=6)
    words = draw.ids(rows, draw.size(2, 4), vocab_size=6)
    tgt = F.pad(words, (1, 0), value=1)
    model = Pairs(draw.choice([0.5, 3.0]))
    settings = draw.choice([0.1, 0.4]), draw.choice([0.0, 0.1, 0.3])
    return case(
        "a random batch", model, sgd_in_two_groups, src, tgt, *settings
    )


EXERCISE = exercise_of(
    train_step,
    section="12_training#the-loop-line-by-line",
    points=3,
    cases=[
        batch_case("one word, not smoothed", 0.5, [[3]], [[1, 4]], 0.5, 0.0),
        batch_case("one word, and eos", 0.5, [[3]], [[1, 4, 2]], 0.2),
        batch_case("smoothed by 0.3", 0.5, [[3]], [[1, 4, 2]], 0.2, 0.3),
        batch_case("a large gradient", 4.0, [[3]], [[1, 4, 2]], 0.2),
        batch_case(
            "a sentence is padded",
            1.0,
            [[3], [5]],
            [[1, 4, 2], [1, 2, 0]],
            0.2,
        ),
        batch_case(
            "very large gradients, and padding",
            20.0,
            [[3, 4], [5, 0]],
            [[1, 4, 5, 2], [1, 3, 2, 0]],
            0.1,
        ),
    ],
    draw=draw_batch,
    run=two_steps,
    tolerance=1e-4,
)
