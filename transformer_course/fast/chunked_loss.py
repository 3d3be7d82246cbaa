"""The loss of a batch, without all its logits at once (chapter 21).

Logits, probabilities and their gradients are tables of tokens × vocabulary,
and nothing else in a training step is as large. None of them is needed whole:
here some rows at a time are computed, with their gradients, and forgotten
(Hsu et al. 2024; Wijmans et al. 2025). The plain form is
:func:`~.loss.compute_loss`.
"""

import contextlib
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from transformer_course.batches.pairs import Batch
from transformer_course.training.config import SequenceLossConfig
from transformer_course.training.loss import (
    LossSums,
    compute_loss,
    smoothed,
)

ROWS = 256
"""Target tokens whose logits are there at a time."""


def chunked_loss(
    model: nn.Module,
    batch: Batch,
    config: SequenceLossConfig = SequenceLossConfig(),
) -> LossSums:
    """:func:`~.loss.compute_loss` in less memory.

    On a CPU, with gradients, for a model that has said
    ``logits_are_linear``, and where nothing but labels are smoothed; else the
    plain form.
    """
    # not inherited: a subclass may make its logits in another way
    linear = vars(type(model)).get("logits_are_linear", False)
    on_cpu = batch.tgt_out.device.type == "cpu"
    smoothing = config.label_smoothing
    known = config == SequenceLossConfig(smoothing)
    if not (linear and on_cpu and torch.is_grad_enabled() and known):
        return compute_loss(model, batch, config)
    matrix = model.to_logits.weight
    with _without_logits(model):
        states = model(*batch.inputs)
    targets = batch.tgt_out.flatten()
    (real,) = (targets != model.config.pad_id).nonzero(as_tuple=True)
    sums = _OutputLoss.apply(
        states.flatten(0, 1).index_select(0, real),
        matrix,
        targets[real],
        smoothing,
    )
    return LossSums(*sums, torch.tensor(len(real)))


LESS_MEMORY = {compute_loss: chunked_loss}
"""What takes the place of a loss, for ``train``."""


@contextlib.contextmanager
def _without_logits(model: nn.Module) -> Iterator[None]:
    """Let a model answer with its last states."""
    to_logits, model.to_logits = model.to_logits, nn.Identity()
    try:
        yield
    finally:
        model.to_logits = to_logits


class _OutputLoss(torch.autograd.Function):
    """Loss, nll and hits of states x, a matrix W and logits x Wᵀ.

    The gradients are computed on the way there, while the logits exist: that
    of a row's loss in its logits is the predicted distribution minus the
    wanted one.
    """

    @staticmethod
    def forward(
        ctx,
        states: Float[Tensor, "rows d_model"],
        matrix: Float[Tensor, "vocab d_model"],
        right: Int[Tensor, " rows"],
        smoothing: float,
    ):
        kind = states.device.type
        narrow = torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind) if narrow else states.dtype
        x, w = states.to(dtype), matrix.to(dtype)
        of_states, of_matrix = torch.empty_like(x), torch.zeros_like(matrix)
        sums = torch.zeros(3)
        with torch.autocast(kind, enabled=False):
            parts = (x, of_states, right)
            for rows in zip(*(t.split(ROWS) for t in parts), strict=True):
                some, of_some, wanted = rows
                part, errors = _rows(some @ w.t(), wanted, smoothing)
                sums += part
                errors = errors.to(dtype)
                torch.mm(errors, w, out=of_some)
                of_matrix += errors.t() @ some
        ctx.save_for_backward(of_states.to(states.dtype), of_matrix)
        loss, nll, correct = sums
        correct = correct.long()
        ctx.mark_non_differentiable(nll, correct)
        return loss, nll, correct

    @staticmethod
    @once_differentiable
    def backward(ctx, of_loss, *_):
        of_states, of_matrix = ctx.saved_tensors
        return of_states * of_loss, of_matrix * of_loss, None, None


def _rows(
    logits: Float[Tensor, "rows vocab"],
    right: Int[Tensor, " rows"],
    smoothing: float,
) -> tuple[Float[Tensor, "3"], Float[Tensor, "rows vocab"]]:
    """Sums over some rows, and the gradient of their loss in the logits."""
    log_probs = F.log_softmax(logits.float(), dim=-1)
    hits = log_probs.argmax(dim=-1) == right
    nll = F.nll_loss(log_probs, right, reduction="sum")
    loss = smoothed(nll, -log_probs.mean(dim=-1).sum(), smoothing)
    sums = torch.stack([loss, nll, hits.sum()])
    errors = log_probs.exp_().sub_(smoothing / log_probs.size(1))
    share = errors.new_full((len(right), 1), smoothing - 1)
    errors.scatter_add_(1, right[:, None], share)
    return sums, errors
