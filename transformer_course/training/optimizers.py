"""Muon, and the schedules that came after the paper's (chapter 22).

``loop.fit`` takes an optimiser and a schedule, so these stand in the place of
``loop.make_optimizer`` and ``loop.learning_rate``.
"""

import math
from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

Schedule = Callable[[int, int, float], float]
"""From step, warm-up and peak rate to the rate."""
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of Jordan et al. 2024: an odd polynomial that is steep at zero."""


def cosine(total: int) -> Schedule:
    """A warm-up, then half a cosine down to zero, where it stays.

    Loshchilov and Hutter 2017, equation 5, without restarts.

    Args:
        total: steps of the training.
    """

    def rate(step: int, warmup: int, peak: float) -> float:
        if step <= warmup:
            return peak * step / warmup
        done = (step - warmup) / max(1, total + 1 - warmup)
        return peak * (1 + math.cos(math.pi * min(done, 1.0))) / 2

    return rate


def warmup_stable_decay(total: int, decay: float = 0.4) -> Schedule:
    """A warm-up, the peak for most of the time, a straight line to zero.

    Hu et al. 2024, section 4. Until the decay begins, nothing depends on when
    the training is to end.

    Args:
        total: steps of the training.
        decay: share of them over which the rate falls.
    """

    def rate(step: int, warmup: int, peak: float) -> float:
        left = (total + 1 - step) / (decay * total)
        return peak * max(0.0, min(step / warmup, 1.0, left))

    return rate


def orthogonalised(
    matrix: Float[Tensor, "rows columns"], steps: int = 5
) -> Float[Tensor, "rows columns"]:
    """About the nearest matrix whose singular values are all 1.

    The Newton–Schulz iteration of Jordan et al. 2024: it needs products only,
    and ends with singular values between about .7 and 1.2.

    Args:
        matrix: any but zeros alone, which stay zeros.
        steps: of the iteration.
    """
    a, b, c = COEFFICIENTS
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.T if tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(steps):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class MuonAdamW(torch.optim.Optimizer):
    """Muon for a model's matrices, AdamW for all else: one optimiser.

    Jordan et al. 2024. Muon's steps are made orthogonal and scaled by
    .2 √(larger side), as in Liu et al. 2025, so that its numbers are about as
    large as AdamW's and both take one rate.

    Args:
        matrices: weights of linear maps inside the layers.
        others: embeddings, output, gains: these go to AdamW.
        lr: set by the schedule at each step.
        momentum: Muon's memory of the gradients.
        weight_decay: of both (Loshchilov and Hutter 2019).
    """

    def __init__(
        self,
        matrices: Iterable[nn.Parameter],
        others: Iterable[nn.Parameter],
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ):
        both = {"lr": lr, "weight_decay": weight_decay}
        self.parts = (
            torch.optim.Muon(
                matrices,
                momentum=momentum,
                adjust_lr_fn="match_rms_adamw",
                **both,
            ),
            torch.optim.AdamW(others, betas=(0.9, 0.95), fused=True, **both),
        )
        groups = [group for part in self.parts for group in part.param_groups]
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One update of all weights that have a gradient."""
        for part, group in zip(self.parts, self.param_groups, strict=True):
            part.param_groups, part.state = [group], self.state
            part.step()


def make_muon(model: nn.Module, weight_decay: float = 0.0) -> MuonAdamW:
    """Muon for the matrices of a model's layers, AdamW for the rest.

    Args:
        model: its layers are lists; embeddings and output stand outside.
        weight_decay: of both.

    Raises:
        ConfigError: it has no list of layers with linear maps.
    """
    inside = {
        id(module.weight)
        for layers in model.modules()
        if isinstance(layers, nn.ModuleList)
        for module in layers.modules()
        if isinstance(module, nn.Linear)
    }
    chosen: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    for parameter in model.parameters():
        chosen[id(parameter) in inside].append(parameter)
    return MuonAdamW(chosen[True], chosen[False], weight_decay=weight_decay)
