"""How long each cell of the chapters runs, for whoever shows it in class.

    python -m tools.time_cells                 every notebook of book/en
    python -m tools.time_cells NOTEBOOK ...    these

Stored under ``runs/cell-times/``, a file for each notebook. Measured is the
time that one thread of a processor works on a cell, not the time on the wall:
so it does not matter what else the machine has to do. A cell that waits, for
the network or for a disk, waits unseen. The outputs are not stored.
"""

import os
import sys
from pathlib import Path

import nbformat
import psutil
import torch
from nbclient import NotebookClient

from tools.refresh_outputs import ROOT, missing_anywhere
from transformer_course import runs
from transformer_course.device import machine

CELL_TIMEOUT = 600  # seconds


class Watch(NotebookClient):
    """Runs a notebook, and reads the clock of its kernel around each cell."""

    def __init__(self, notebook: nbformat.NotebookNode, folder: Path):
        self.seconds: dict[str, float] = {}
        super().__init__(
            notebook,
            timeout=CELL_TIMEOUT,
            kernel_name="python3",
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
            resources={"metadata": {"path": str(folder)}},
            on_cell_execute=lambda cell, **_: self._read(cell, -1),
            on_cell_executed=lambda cell, **_: self._read(cell, +1),
        )

    def _read(self, cell: nbformat.NotebookNode, sign: int) -> None:
        times = psutil.Process(self.km.provisioner.pid).cpu_times()
        worked = times.user + times.system
        worked += times.children_user + times.children_system
        self.seconds[cell.id] = self.seconds.get(cell.id, 0) + sign * worked


def time_cells(path: Path) -> dict[str, float]:
    """Seconds of one thread for each code cell of a notebook, by its id."""
    watch = Watch(nbformat.read(path, as_version=4), path.parent)
    watch.execute()
    return {key: round(value, 2) for key, value in watch.seconds.items()}


def main() -> None:
    """Measure the notebooks that the command line names, or all."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)  # so says machine()
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or sorted((ROOT / "book" / "en").glob("*.ipynb")):
        if missing := missing_anywhere(nbformat.read(path, as_version=4)):
            print(f"{path.stem}: skipped, it needs {', '.join(missing)}")
            continue
        seconds = time_cells(path)
        about = {
            "command": f"python -m tools.time_cells book/en/{path.name}",
            "machine": machine(),
            "seconds": seconds,
        }
        target = runs.folder("cell-times") / f"{path.stem}.json"
        runs.write_json(target, about, indent=1)
        print(f"{path.stem}: {sum(seconds.values()):.0f} s", flush=True)


if __name__ == "__main__":
    main()
