"""Contenders take turns, so that what disturbs one disturbs the next too."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

from experiments.benchmarks.contenders import EVENTS

Record = dict[str, Any]


@contextmanager
def worker(event: str, name: str, threads: int) -> Iterator[subprocess.Popen]:
    """A contender that is ready; it ends with the block."""
    words = ["-m", "experiments.benchmarks.worker", event, name, str(threads)]
    process = subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        answer(process, name)
        yield process
    finally:
        process.stdin.close()
        process.wait()


def answer(process: subprocess.Popen, name: str) -> Record:
    """The next line of a worker.

    Raises:
        RuntimeError: it has ended.
    """
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{name} has ended: what it said stands above.")
    return json.loads(line)


def taking_part(event: str) -> list[str]:
    """Contenders whose packages are installed; the others are printed."""
    names = []
    for name, contender in EVENTS[event].items():
        missing = [p for p in contender.needs if not find_spec(p)]
        if missing:
            print(f"without {', '.join(missing)}, {name} is left out")
        else:
            names.append(name)
    return names


def compete(event: str, rounds: int, threads: int) -> Record:
    """Rates of all contenders, and their ratios to the last, per round."""
    names = taking_part(event)
    if not names:
        return {}
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(worker(event, name, threads))
            for name in names
        }
        turns: dict[str, list[Record]] = {name: [] for name in names}
        for _ in range(rounds):
            for name, process in workers.items():
                process.stdin.write("go\n")
                process.stdin.flush()
                turns[name].append(answer(process, name))
    last = [turn["rate"] for turn in turns[names[-1]]]
    return {name: summary(turns[name], last) for name in names}


def summary(turns: list[Record], last: list[float]) -> Record:
    """Medians over the rounds, and the smallest and largest ratio."""
    rates = [turn["rate"] for turn in turns]
    ratios = [a / b for a, b in zip(rates, last, strict=True)]
    return {
        "rate": round(statistics.median(rates), 1),
        "ratio": round(statistics.median(ratios), 3),
        "lowest": round(min(ratios), 3),
        "highest": round(max(ratios), 3),
        "megabytes": round(turns[-1]["megabytes"]),
    }
