"""Several processes that train one model (chapter 21).

``torchrun`` starts them. Each has the whole model, with the same weights, and
computes with its share of the rows of every batch. Gradients are summed over
all processes before they are used, so every process makes the same update:
the one that a single process makes with the whole batch, where the loss is a
sum over tokens or rows. (BERT's second task is a mean, and is weighed by each
process's own words.)
"""

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from transformer_course.batches.pairs import AnyBatch
from transformer_course.errors import ConfigError, TeamError
from transformer_course.training.loss import Score

SET_BY_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
"""What tells a process its place: in the team, how many there are, and its
number on this machine."""
START = "torchrun --nproc-per-node 2 -m transformer_course.cli train ..."
MEETING = timedelta(minutes=5)
"""So long a process waits for the others to be there."""
WAITING = timedelta(days=1)
"""So long it waits for them later on. The first one may have much to score,
and one that has died is noticed at once by its closed connection."""


@dataclass(frozen=True)
class Team:
    """The processes of a training. By default there is one, for which nothing
    here computes or sends anything."""

    rank: int = 0
    """This process's number. The first has 0: it alone writes."""
    size: int = 1
    """How many there are."""
    local_rank: int = 0
    """This process's number on its machine, which is that of its GPU."""
    store: Any = None
    """What is known to all of them, as long as it lasts."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes and speaks for all."""
        return self.rank == 0

    def place(self, device: torch.device) -> torch.device:
        """Where this process computes: of several GPUs it has its own.

        Raises:
            ConfigError: the processes cannot share that device.
        """
        if self.size == 1 or device.type == "cpu":
            return device
        if device.type != "cuda" or device.index is not None:
            raise ConfigError(
                f"{self.size} processes were started, which cannot train on "
                f"{device}: give --train.device cuda, for a GPU each, or cpu."
            )
        there = torch.cuda.device_count()
        if self.local_rank >= there:
            raise ConfigError(
                f"there are more processes on this machine than GPUs ({there})"
                f": give torchrun --nproc-per-node {there}, or train on "
                "--train.device cpu."
            )
        torch.cuda.set_device(self.local_rank)
        return torch.device("cuda", self.local_rank)

    def share(self, batch: AnyBatch) -> AnyBatch:
        """This process's rows of a batch: every size-th.

        A process for which there is none gets the first row, and
        :meth:`score` counts it for nothing.
        """
        mine = slice(self.rank, None, self.size)
        if self._is_idle(batch):
            mine = slice(1)
        return type(batch)(*(p if p is None else p[mine] for p in batch))

    def score(
        self, objective: Callable[..., Score], model, batch: AnyBatch, config
    ) -> Score:
        """What the objective gives for this process's rows."""
        if self.size == 1:
            return objective(model, batch, config)
        score = objective(model, self.share(batch), config)
        if self._is_idle(batch):
            score = Score(*(0 * part for part in score))
        return score

    def _is_idle(self, batch: AnyBatch) -> bool:
        """Whether a batch has no row for this process."""
        return self.rank >= len(next(p for p in batch if p is not None))

    def total(self, score: Score) -> Score:
        """The scores of all processes together, without gradients."""
        parts = [part.detach() for part in score]
        if self.size > 1:
            sums = torch.stack([part.float() for part in parts]).cpu().double()
            self._reduce(sums)
            sums = sums.to(parts[0].device)
            parts = [s.to(p.dtype) for s, p in zip(sums, parts, strict=True)]
        return Score(*parts)

    def add_gradients(self, model: nn.Module) -> None:
        """Put the sum over all processes in the place of each gradient.

        All gradients travel in one message.
        """
        if self.size == 1:
            return
        grads = [p.grad for p in model.parameters() if p.grad is not None]
        flat = torch.cat([grad.flatten() for grad in grads])
        self._reduce(flat)
        sums = flat.split([grad.numel() for grad in grads])
        for grad, total in zip(grads, sums, strict=True):
            grad.copy_(total.view_as(grad))

    def any(self, wish: bool) -> bool:
        """Whether any process wishes something: all get the same answer."""
        if self.size == 1:
            return wish
        wishes = torch.tensor([int(wish)])
        self._reduce(wishes)
        return bool(wishes)

    def wait(self) -> None:
        """Go on when all processes have come here."""
        self.any(False)

    def check_same(self, model: nn.Module, *others: Any) -> None:
        """See that all processes begin with the same.

        Args:
            model: whose weights are compared.
            others: compared by what they look like.

        Raises:
            ConfigError: one begins with something else.
        """
        if self.size == 1:
            return
        digest = hashlib.sha256(repr(others).encode())
        for weight in model.parameters():
            digest.update(weight.detach().cpu().contiguous().numpy())
        number = int.from_bytes(digest.digest()[:7], "big")
        ends = torch.tensor([number, -number])
        self._reduce(ends, dist.ReduceOp.MAX)
        if ends.sum():  # the largest of all numbers minus the smallest
            raise ConfigError(
                "the processes of this training do not begin with the same "
                "settings, tokenizer and weights: give all of them the same "
                "command, the same corpus and one --output-dir."
            )

    def draw_apart(self) -> None:
        """Let each process draw random numbers of its own from here on.

        Until here all must have drawn the same ones.
        """
        if self.size == 1:
            return
        seeds = torch.randint(2**62, (self.size,)).tolist()
        if not self.is_first:
            torch.manual_seed(seeds[self.rank])

    def tells(self) -> bool:
        """Whether this process is the first of all to ask: it tells why the
        training has ended, and the others need not."""
        if self.size == 1:
            return True
        try:
            return self.store.add("told", 1) == 1
        except RuntimeError:  # who kept the count has ended
            return True

    def _reduce(self, numbers: Tensor, how: Any = None) -> None:
        """Put the sum over all processes, or what ``how`` says, in place.

        Raises:
            TeamError: another process has ended.
        """
        try:
            dist.all_reduce(numbers, how or dist.ReduceOp.SUM)
        except RuntimeError as error:
            raise TeamError(
                "another process of this training has ended "
                f"({_reason(error)}). Go on with the same command and "
                "--resume."
            ) from error


ALONE = Team()


@contextlib.contextmanager
def joined() -> Iterator[Team]:
    """The team in which ``torchrun`` has started this process.

    Messages go by gloo between CPUs, and by NCCL between GPUs.

    Raises:
        ConfigError: only part of what ``torchrun`` sets is set, or the other
            processes cannot be found.
    """
    rank, size, local_rank = _places()
    if size == 1:
        yield ALONE
        return
    store = _meet(rank, size)
    try:
        yield Team(rank, size, local_rank, store)
    finally:
        dist.destroy_process_group()


def _places() -> tuple[int, int, int]:
    """This process's number, how many there are, its number here."""
    given = {n: os.environ[n] for n in SET_BY_TORCHRUN if n in os.environ}
    if not given:
        return 0, 1, 0
    if lacking := [n for n in SET_BY_TORCHRUN if n not in given]:
        raise ConfigError(
            f"{', '.join(given)} says that this is one of several processes, "
            f"but {', '.join(lacking)} is not set: start them by {START}, or "
            f"unset {', '.join(given)} to train in one process."
        )
    try:
        rank, size, local_rank = map(int, given.values())
        if 0 <= rank < size and local_rank >= 0:
            return rank, size, local_rank
    except ValueError:
        pass
    said = ", ".join(f"{name}={value}" for name, value in given.items())
    raise ConfigError(
        f"{said} is no place among several processes: start them by {START}."
    )


def _meet(rank: int, size: int) -> Any:
    """Wait until all processes are there; what is known to all of them."""
    if not (dist.is_available() and dist.is_gloo_available()):
        raise ConfigError(
            f"{size} processes were started, but this build of torch cannot "
            "connect them: train in one process, without torchrun."
        )
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        store, *_ = next(dist.rendezvous("env://", timeout=MEETING))
        dist.init_process_group(
            backend, store=store, rank=rank, world_size=size, timeout=WAITING
        )
    except (RuntimeError, ValueError) as error:
        raise ConfigError(
            f"process {rank} of {size} could not join the others "
            f"({_reason(error)}): start all of them by {START}."
        ) from error
    return store


def _reason(error: Exception) -> str:
    """The first sentence of an error of torch's, without the place in its
    code."""
    said = re.sub(r"^\[[^]]*\] ", "", str(error))
    return re.split(r"\.\s|\n", said)[0].rstrip(".")
