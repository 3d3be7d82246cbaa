"""Searches on several batches at a time, one thread each (chapter 21)."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

Found = TypeVar("Found")
MAX_WORKERS = 4
"""Python runs on one thread at a time, so that many would wait for it. Tried
on two; the limit is a guess."""


def n_workers() -> int:
    """Number of batches that :func:`parallel_map` searches at a time."""
    return min(torch.get_num_threads(), MAX_WORKERS)


def parallel_map(
    search: Callable[[Tensor], Found], batches: Sequence[Tensor]
) -> Iterator[Found]:
    """``map(search, batches)`` on a CPU, each batch on threads of its own.

    Threads that share a batch wait for one another after each operation, and
    a search consists of thousands of small ones. The last batches, too few
    for all workers, are searched one by one on all threads. Searches that run
    at once need their memory at once, and an error waits for those under way.

    Args:
        search: what is done with a batch; called from several threads, on a
            model that they share.
        batches: source ids.

    Yields:
        What was found for each batch, in their order.
    """
    workers, threads = n_workers(), torch.get_num_threads()
    in_parallel = len(batches) - len(batches) % workers
    pool = ThreadPoolExecutor(
        workers, "", torch.set_num_threads, [threads // workers]
    )
    try:
        yield from pool.map(search, batches[:in_parallel])
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # for threads that start later
    yield from map(search, batches[in_parallel:])
