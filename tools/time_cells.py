"""How long each cell of the chapters runs, for whoever shows it in class.

    python -m tools.time_cells                  every notebook of book/en
    python -m tools.time_cells 04_attention     this one
    python -m tools.time_cells --store          and keep what was measured

Kept under ``experiments/results/cell-times/``, a file for each notebook, in
place of what is there: the page for lecturers prints it. Measured is the time
that one thread of a processor works on a cell, not the time on the wall: so it
does not matter what else the machine has to do. A cell that waits, for the
network or for a disk, waits unseen. The outputs are not stored.
"""

import os
import sys
from pathlib import Path

import nbformat
import psutil
import torch

from experiments import store
from tools.refresh_outputs import client_of, parser_of, run_each
from transformer_course.device import machine


def time_cells(path: Path) -> dict[str, float]:
    """Seconds of one thread for each code cell of a notebook, by its id."""
    seconds: dict[str, float] = {}
    client = client_of(nbformat.read(path, as_version=4), path.parent)

    def worked() -> float:
        times = psutil.Process(client.km.provisioner.pid).cpu_times()
        own = times.user + times.system
        return own + times.children_user + times.children_system

    def begin(cell: nbformat.NotebookNode, **_) -> None:
        seconds[cell.id] = -worked()

    def end(cell: nbformat.NotebookNode, **_) -> None:
        seconds[cell.id] += worked()

    client.on_cell_execute, client.on_cell_executed = begin, end
    client.execute()
    return {key: round(value, 2) for key, value in seconds.items()}


def measure(path: Path, keep: bool) -> str:
    """Time a notebook; its seconds, and its slow cells."""
    seconds = time_cells(path)
    if keep:
        about = {
            "command": f"python -m tools.time_cells --store {path.stem}",
            "machine": machine(),
            "seconds": seconds,
        }
        target = store.folder("cell-times") / f"{path.stem}.json"
        store.write_json(target, about, indent=1)
    return "\n".join([f"{sum(seconds.values()):.0f} s", *slow(path, seconds)])


def slow(path: Path, seconds: dict[str, float]) -> list[str]:
    """The cells that take half a second or more, by their first lines."""
    cells = nbformat.read(path, as_version=4).cells
    return [
        f"{seconds[cell.id]:8.1f} s  {cell.source.splitlines()[0]}"
        for cell in cells
        if seconds.get(cell.id, 0) >= 0.5
    ]


def main() -> int:
    """Measure the notebooks that the command line names; 1 if one failed."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep it in experiments/results/cell-times, which is versioned",
    )
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)  # so says machine()
    return run_each(
        options.notebooks, lambda path: measure(path, options.store)
    )


if __name__ == "__main__":
    sys.exit(main())
