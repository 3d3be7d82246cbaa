"""Run the benchmarks, print them, and store them where the book reads them.

make bench                        all events, into experiments/results/bench
make bench EVENTS=smollm2         SmolLM2 beside llama.cpp, stored too
make bench EVENTS=greedy          one of the others, printed only
"""

import argparse
import datetime

import torch

from experiments import store
from experiments.benchmarks import work
from experiments.benchmarks.contenders import EVENTS
from experiments.benchmarks.limit import Limits, limits, steady
from experiments.benchmarks.rounds import Record, compete
from experiments.timing import QUIET, busy, processor
from transformer_course.device import machine

TABLES = {"smollm2": {"smollm2"}, "run": set(EVENTS) - {"smollm2"}}
"""Events that are stored together, by the name of their file."""
ROUNDS, THREADS = 7, 2


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
    events = parser.parse_args().events or list(EVENTS)
    if unknown := set(events) - set(EVENTS):
        parser.error(f"{unknown.pop()!r} is none of {', '.join(EVENTS)}.")
    load = busy()
    if load > QUIET:
        print(f"Others keep {load:.1f} cores busy: wait, or do not quote.")
    torch.set_num_threads(THREADS)
    limits()  # a processor may need a moment to reach its speed
    found, speeds = {}, [limits()]
    for event in events:
        found[event] = compete(event, ROUNDS, THREADS)
        speeds.append(limits())
        print(table(event, found[event]))
        print(f"matrix products, GFLOP/s: {speeds[-1]}\n", flush=True)
    quiet = load <= QUIET and steady(speeds)
    for name, members in TABLES.items():
        whole = all(set(found.get(e, ())) == set(EVENTS[e]) for e in members)
        if whole and quiet:
            results = {event: found[event] for event in sorted(members)}
            write(name, load, speeds, results)
        elif members & found.keys():
            print(
                f"{name}.json stays: some were left out, the machine was "
                f"busy, or its processor changed its speed: {speeds}"
            )


def write(name: str, load: float, speeds: list[Limits], found: Record) -> None:
    """Write ``experiments/results/bench/NAME.json``."""
    kept = {
        "settings": {
            "rounds": ROUNDS,
            "threads": THREADS,
            "steps": work.STEPS,
            "sentences": work.SENTENCES,
            "new_tokens": work.NEW_TOKENS,
            "answer": work.ANSWER,
            "processor": processor(),
        },
        "command": "make bench" + " EVENTS=smollm2" * (name == "smollm2"),
        "machine": machine(),
        "results": {
            "date": datetime.date.today().isoformat(),
            "load": round(load, 2),
            "gflops": speeds,
            **found,
        },
    }
    store.write_json(store.folder("bench") / f"{name}.json", kept, indent=1)


if __name__ == "__main__":
    main()
