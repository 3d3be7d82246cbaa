"""Run the benchmarks, print them, and store them where the book reads them.

make bench                        all events, into experiments/results/bench
make bench EVENTS=greedy          one of them, printed only
"""

import argparse
import datetime
import os

import torch

from experiments import store
from experiments.benchmarks import work
from experiments.benchmarks.contenders import EVENTS
from experiments.benchmarks.limit import Limits, limits, steady
from experiments.benchmarks.rounds import Record, compete
from experiments.timing import processor
from transformer_course.device import machine

BUSY = 0.5
"""Load over the last minute from which times cannot be trusted."""


def table(event: str, found: Record) -> str:
    """An event's results, a line for each contender."""
    unit = "sentences/s" if event in ("greedy", "beam") else "tokens/s"
    lines = [f"{event:24} {unit:>12}   ratio  (from – to)     MB"]
    lines += [
        f"{name:24} {row['rate']:>12,.0f}   {row['ratio']:.2f}   "
        f"({row['lowest']:.2f} – {row['highest']:.2f})  {row['megabytes']:,}"
        for name, row in found.items()
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the events that are asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("events", nargs="*", metavar="EVENT")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    events = asked.events or list(EVENTS)
    if unknown := set(events) - set(EVENTS):
        parser.error(f"{unknown.pop()!r} is none of {', '.join(EVENTS)}.")
    load = os.getloadavg()[0]
    if load > BUSY:
        print(f"The machine is busy (load {load:.1f}): wait, or do not quote.")
    torch.set_num_threads(asked.threads)
    found, speeds = {}, [limits()]
    for event in events:
        found[event] = compete(event, asked.rounds, asked.threads)
        speeds.append(limits())
        print(table(event, found[event]))
        print(f"matrix products, GFLOP/s: {speeds[-1]}\n", flush=True)
    whole = all(set(found.get(e, ())) == set(EVENTS[e]) for e in EVENTS)
    if whole and load <= BUSY and steady(speeds):
        write(asked.rounds, load, speeds, found)
    else:
        print(
            "Not stored: some were left out, the machine was busy, or its "
            f"processor changed its speed: {speeds}"
        )


def write(
    rounds: int, load: float, speeds: list[Limits], found: Record
) -> None:
    """Write ``experiments/results/bench/run.json``."""
    kept = {
        "settings": {
            "rounds": rounds,
            "steps": work.STEPS,
            "sentences": work.SENTENCES,
            "new_tokens": work.NEW_TOKENS,
            "processor": processor(),
        },
        "command": "make bench",
        "machine": machine(),
        "results": {
            "date": datetime.date.today().isoformat(),
            "load": round(load, 2),
            "gflops": speeds,
            **found,
        },
    }
    store.write_json(store.folder("bench") / "run.json", kept, indent=1)


if __name__ == "__main__":
    main()
