"""The clock that is read around each cell."""

import itertools
from types import SimpleNamespace

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import time_cells

SAY_WHO = """
import os, pathlib
pathlib.Path("pid").write_text(str(os.getpid()))
"""
KINDS = ("user", "system", "children_user", "children_system")


def test_work_counts_before_and_after_each_cell(tmp_path, monkeypatch):
    """Of the kernel and its children, in its code and in the system's; a
    clock that stands still while a cell waits says that it took nothing."""
    cells = [
        new_markdown_cell("# Title", id="title"),
        new_code_cell(SAY_WHO, id="busy"),
        new_code_cell("2", id="waiting"),
    ]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    asked = []
    readings = itertools.chain([1.0, 1.5], itertools.repeat(2.0))

    def process(pid):
        asked.append(pid)
        reading = next(readings)
        return SimpleNamespace(
            cpu_times=lambda: SimpleNamespace(**dict.fromkeys(KINDS, reading))
        )

    psutil = SimpleNamespace(Process=process)
    monkeypatch.setattr(time_cells, "psutil", psutil)
    assert time_cells.time_cells(path) == {"busy": 2.0, "waiting": 0.0}
    assert set(asked) == {int((tmp_path / "pid").read_text())}
