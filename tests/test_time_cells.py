"""The clock that is read around each cell."""

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.time_cells import time_cells

BUSY = """
import time
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
"""


def test_work_counts_and_waiting_does_not(tmp_path):
    cells = [
        new_markdown_cell("# Title", id="title"),
        new_code_cell(BUSY, id="busy"),
        new_code_cell("time.sleep(1)", id="waiting"),
    ]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    seconds = time_cells(path)
    assert set(seconds) == {"busy", "waiting"}
    assert seconds["busy"] >= 0.45  # the kernel's clock ticks in hundredths
    assert seconds["waiting"] < seconds["busy"] / 2
