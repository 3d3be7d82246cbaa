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

import argparse
import os
import sys
from pathlib import Path

try:
    import nbformat
    import psutil
    import torch
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    from experiments import store
    from tools.refresh_outputs import ROOT, missing_anywhere, notebook_path
    from transformer_course.device import machine
except ModuleNotFoundError as error:
    sys.exit(
        f"error: {error}. Run it in the course's environment: make "
        "cell-times NB=04_attention"
    )

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


def measured(path: Path, keep: bool) -> str:
    """What is to be said of one notebook, after it was run."""
    if missing := missing_anywhere(nbformat.read(path, as_version=4)):
        return f"skipped, it needs {', '.join(missing)}"
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
    parser = argparse.ArgumentParser(
        prog="python -m tools.time_cells", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "notebooks",
        nargs="*",
        type=notebook_path,
        help="a path or a chapter's name, such as 04_attention (all)",
    )
    parser.add_argument(
        "--store",
        action="store_true",
        help="keep it in experiments/results/cell-times, which is versioned",
    )
    options = parser.parse_args()
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)  # so says machine()
    every = sorted((ROOT / "book" / "en").glob("*.ipynb"))
    failed = 0
    for path in options.notebooks or every:
        print(f"{path.stem}: ", end="", flush=True)
        try:
            print(measured(path, options.store), flush=True)
        except CellExecutionError as error:
            failed += 1
            print("failed")
            print(error, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
