"""Run one notebook from standard input; write the outputs of its cells.

    python -m course_grading.run < handed_in.ipynb > outputs

It runs in a sandbox; nothing here needs nbgrader, the marks or the course. It
writes a line when a cell begins, and in the end one of JSON: a list for each
cell. A cell that ends the kernel, or does not end, is stopped, and the
notebook runs again with an error in its place, so that the other cells are
marked all the same.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

CELL_SECONDS = 60
"""Seconds that a student's cell may run."""
MAX_OUTPUT = 100_000
"""Characters of output that are kept for each cell."""
MAX_ANSWER = 10_000_000
"""The same for a cell that hands an answer over."""
NO_EXIT = "get_ipython().ask_exit = lambda: None"
"""``exit()`` ends no kernel, and so costs the cells below nothing."""
CUT = "\n[The rest of the output is left out.]\n"
BEGUN = "begun"
"""The line that says that a cell begins."""


class Client(NotebookClient):
    """Runs a notebook and remembers which cell is running.

    Args:
        notebook: the one to run.
        begun: called before each cell.
    """

    def __init__(self, notebook: NotebookNode, begun: Callable[[], None]):
        super().__init__(
            notebook,
            kernel_name="python3",
            allow_errors=True,
            timeout=CELL_SECONDS,
            shutdown_kernel="immediate",
            on_cell_execute=self._begin,
            extra_arguments=[f"--IPKernelApp.exec_lines={NO_EXIT}"],
        )
        self.running = 0
        self._begun = begun
        self._printed: Counter[int] = Counter()

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """Handle a message of the kernel; cut output beyond MAX_OUTPUT."""
        content = msg["content"]
        if msg["msg_type"] in ("stream", "display_data", "execute_result"):
            before = self._printed[cell_index]
            self._printed[cell_index] += len(str(content))
            most = MAX_ANSWER if is_test(cell) else MAX_OUTPUT
            if self._printed[cell_index] > most:
                if before > most or msg["msg_type"] != "stream":
                    return None
                content["text"] = content["text"][:1000] + CUT
        return super().process_message(msg, cell, cell_index)

    def _begin(self, cell: NotebookNode, cell_index: int) -> None:
        self.running = cell_index
        self._begun()


def execute(
    notebook: NotebookNode, begun: Callable[[], None] = lambda: None
) -> NotebookNode:
    """Run all cells of a notebook, in place.

    Args:
        notebook: the one to run.
        begun: called before each cell.

    Returns:
        The notebook, with outputs.
    """
    sources = [cell.source for cell in notebook.cells]
    for _ in notebook.cells:
        client = Client(notebook, begun)
        try:
            client.execute()
            break
        except CellTimeoutError:
            reason = f"stopped: this cell ran for more than {CELL_SECONDS} s"
        except DeadKernelError:
            reason = "stopped: this cell ended Python or took all its memory"
        stopped = notebook.cells[client.running]
        stopped.source = f"raise RuntimeError({reason!r})"
    for cell, source in zip(notebook.cells, sources, strict=True):
        cell.source = source
    return notebook


TEST = "-test"
"""End of the name of the cell that marks an exercise."""


def is_test(cell: NotebookNode) -> bool:
    """Whether a cell marks an exercise."""
    role = cell.metadata.get("nbgrader", {})
    return cell.cell_type == "code" and bool(role.get("grade"))


def exercise_of(cell: NotebookNode) -> str:
    """The exercise that a test cell marks."""
    return cell.metadata.nbgrader.grade_id.removesuffix(TEST)


def main() -> None:
    """Run the notebook on standard input."""
    output = os.dup(1)  # the kernel inherits 1, and code may write there
    os.dup2(2, 1)
    notebook = nbformat.reads(sys.stdin.read(), as_version=4)
    with open(output, "w", encoding="utf-8") as file:

        def say(line: str) -> None:
            print(line, file=file, flush=True)

        execute(notebook, lambda: say(BEGUN))
        cells = (cell.get("outputs", []) for cell in notebook.cells)
        say(json.dumps(list(cells)))


if __name__ == "__main__":
    main()
