"""How much faster do two processes train than one?

The translator of the preset ``enja``, on batches of the built-in grammar: one
process takes whole batches, each of two takes half of the rows, on a core of
its own. *at the end* adds up all gradients in one message when the backward
pass is over; *overlapped* is PyTorch's ``DistributedDataParallel``, which
sends a bucket of gradients as soon as it is complete, while the backward pass
goes on. *nothing sent* is wrong, since the two models drift apart: it shows
what the messages cost. The ways take turns, and seconds are those of the
clock.
"""

import functools
import socket
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from experiments.faster import VOCABULARY, batches
from experiments.lab import Experiment, Record, RunContext
from experiments.timing import undisturbed
from transformer_course.batches.pairs import Batch
from transformer_course.data.tokenizer import PAD
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import LoopConfig
from transformer_course.training.distributed import rows_of
from transformer_course.training.loop import make_optimizer, set_seed
from transformer_course.training.loss import label_smoothed_loss

STEPS, ROUNDS = 3, 5
"""Updates that are timed in a round, after a round that is not."""
BUCKETS = "overlapped"
WAYS = ("one", "at the end", BUCKETS, "nothing sent")


def add_up(model: nn.Module) -> None:
    """The sum of the gradients of all processes, in one message."""
    gradients = [weight.grad for weight in model.parameters()]
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat)
    parts = flat.split([g.numel() for g in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


def worker(rank: int, port: int, context: RunContext, out) -> None:
    """What each process does; the first puts the records out."""
    torch.set_num_threads(1)
    where = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", where, rank=rank, world_size=2)
    made = batches(True, context.limit(STEPS, 1))
    tokens = sum(int((batch.tgt_out != PAD).sum()) for batch in made)
    works = {way: training(way, rank, made) for way in WAYS}
    found: dict[str, list[Record]] = {way: [] for way in WAYS}
    for turn in range(1 + context.limit(ROUNDS, 1)):
        for way, work in works.items():
            about: Record = {}
            if rank:
                time.sleep(0.4)  # a process that waits in a barrier is busy
            else:
                time.sleep(0.1)
                about = undisturbed(context.smoke or not turn)
            dist.barrier()
            start = time.perf_counter()
            work()
            dist.barrier()
            rate = round(tokens / (time.perf_counter() - start), 1)
            found[way].append({**about, "rate": rate})
    if not rank:
        out.put({way: records[1:] for way, records in found.items()})
    dist.destroy_process_group()


def training(way: str, rank: int, made: list[Batch]) -> Callable[[], None]:
    """A model's updates on some batches, by one process or both."""
    size = 1 if way == "one" else 2
    set_seed(0)
    model = Transformer(ModelConfig(vocab_size=VOCABULARY, norm_first=True))
    network = DistributedDataParallel(model) if way == BUCKETS else model
    optimizer = make_optimizer(model, LoopConfig())

    def work() -> None:
        if rank >= size:
            return
        for batch in made:
            mine = rows_of(batch, rank, size)
            optimizer.zero_grad()
            tokens = int((batch.tgt_out != PAD).sum())
            sums = label_smoothed_loss(
                network(*mine.inputs), mine.tgt_out, 0.1
            )
            scale = size if way == BUCKETS else 1  # it takes the mean
            (sums.loss * scale / tokens).backward()
            if way == "at the end":
                add_up(model)
            optimizer.step()

    return work


@functools.cache
def all_rounds(context: RunContext) -> dict[str, list[Record]]:
    """Target tokens a second of each way, by the clock."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    out = mp.get_context("spawn").SimpleQueue()
    mp.spawn(worker, (port, context, out), 2)
    return out.get()


def measure(way: str, seed: int, context: RunContext) -> Record:
    """The record of a round."""
    return all_rounds(context)[way][seed]


EXPERIMENT = Experiment(
    name="two-processes",
    chapter="21_speed",
    variants={way: way for way in WAYS},
    measure=measure,
    seeds=tuple(range(ROUNDS)),
    settings=lambda: {"steps": STEPS},
    smoke_variants=("at the end", BUCKETS),
)
