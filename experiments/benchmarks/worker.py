"""A contender in a process of its own: a round for each line that it reads.

python -m experiments.benchmarks.worker EVENT NAME THREADS
"""

import json
import sys
import time

import torch

from experiments.benchmarks.contenders import EVENTS
from experiments.timing import peak


def main(event: str, name: str, threads: str) -> None:
    """Make the contender, then take turns until there are no more lines."""
    torch.set_num_threads(int(threads))
    turn = EVENTS[event][name].make()
    turn()  # what is prepared at first use is not counted
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        found = turn()
        seconds = time.perf_counter() - start
        said = {"rate": found.done / seconds, "megabytes": peak()}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
