"""Data-parallel training in several processes (chapter 21).

``torchrun`` starts the processes. Each has the whole model and computes with
its share of the rows of every batch; ``DistributedDataParallel`` averages the
gradients, so that all make the update that one process would make with the
whole batch.
"""

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer_course.batches.pairs import AnyBatch
from transformer_course.errors import ConfigError
from transformer_course.models.modern_parts import mixtures
from transformer_course.training.loss import LossFunction, LossSums

TIMEOUT = timedelta(days=1)
"""Validation by the main process may take long; one that has died is noticed
at once by its closed connection."""


def world_size() -> int:
    """The number of processes."""
    return dist.get_world_size() if _is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0."""
    return dist.get_rank() if _is_initialized() else 0


@contextlib.contextmanager
def process_group(device: torch.device) -> Iterator[torch.device]:
    """Join the other processes that ``torchrun`` has started, if it has.

    They can join once, and inside this context another one does nothing: put
    several trainings into one.

    Args:
        device: of the training.

    Yields:
        The device of this process: each has a GPU of its own.

    Raises:
        ConfigError: there are more processes than GPUs, or a device that
            processes cannot share.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) == 1 or _is_initialized():
        yield device
        return
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        if device.index >= torch.cuda.device_count():
            raise ConfigError(
                f"torchrun has started more processes than there are GPUs "
                f"({torch.cuda.device_count()}): lower --nproc-per-node, or "
                "add --train.device cpu."
            )
        torch.cuda.set_device(device)
    elif device.type != "cpu":
        raise ConfigError(
            f"several processes cannot train on {device}: give --train.device "
            "cuda, for a GPU each, or cpu."
        )
    # messages of a few numbers stay on the CPU: who waits leaves the GPU alone
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT)
    try:
        yield device
        wait()
    finally:
        dist.destroy_process_group()


class _LossOfModel(nn.Module):
    """A model and its loss as one module, for DistributedDataParallel."""

    def __init__(self, model: nn.Module, loss_fn: LossFunction):
        super().__init__()
        self.model, self.loss_fn = model, loss_fn

    def forward(self, batch: AnyBatch) -> LossSums:
        return self.loss_fn(self.model, batch)


def data_parallel(model: nn.Module, loss_fn: LossFunction) -> LossFunction:
    """The loss function under which backward averages the gradients of all
    processes; with one process, the function itself.

    Every process starts with the weights of the first, and gives experts the
    load of all. A loss must be a sum over rows: the mean over the rows that
    :class:`~.tasks.pre_training.PreTraining` adds for pairs of passages is
    each process's own.
    """
    if world_size() == 1:
        return loss_fn
    parallel = DistributedDataParallel(_LossOfModel(model, loss_fn))

    def parallel_loss(model: nn.Module, batch: AnyBatch) -> LossSums:
        sums = parallel(rows_of(batch, rank(), world_size()))
        counts = int(rank() < _rows(batch))
        for mixture in mixtures(model):
            mixture.load = _sum(counts * mixture.load)
        return LossSums(*(counts * part for part in sums))

    return parallel_loss


def rows_of(batch: AnyBatch, rank: int, world_size: int) -> AnyBatch:
    """Every ``world_size``-th row of a batch, beginning with ``rank``.

    Where a batch has fewer rows than there are processes, a process without
    one gets the first row, which :func:`data_parallel` counts for nothing:
    each process has to take part in the reduction of the gradients.
    """
    rows = slice(rank, None, world_size)
    if rank >= _rows(batch):
        rows = slice(1)
    return type(batch)(*(p if p is None else p[rows] for p in batch))


def all_reduce(sums: LossSums) -> LossSums:
    """Add the sums of all processes, without gradients."""
    if world_size() == 1:
        return LossSums(*(part.detach() for part in sums))
    total = _sum(torch.stack([part.detach().double() for part in sums]))
    return LossSums(*(t.to(p) for t, p in zip(total, sums, strict=True)))


def any_process(flag: bool) -> bool:
    """Whether the flag is set in any process; all get the same answer."""
    if world_size() == 1:
        return flag
    return bool(_sum(torch.tensor(int(flag))))


def wait() -> None:
    """Wait until all processes have come here."""
    any_process(False)


def seed_per_rank() -> None:
    """Give each process but the first random numbers of its own.

    All have the same state before, that of the checkpoint in a resumed run;
    so other numbers are drawn there than at the beginning.
    """
    if rank():
        torch.manual_seed(int(torch.randint(2**62, ())) + rank())


def _sum(mine: Tensor) -> Tensor:
    """The sum over all processes, on the device of this one's part."""
    total = mine.cpu().clone()
    dist.all_reduce(total)
    return total.to(mine.device)


def _is_initialized() -> bool:
    return dist.is_available() and dist.is_initialized()


def _rows(batch: AnyBatch) -> int:
    return len(next(part for part in batch if part is not None))
