"""The clock that is read around each cell."""

import itertools
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import time_cells
from tools.refresh_outputs import ROOT

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


@pytest.fixture
def timed(monkeypatch, tmp_path):
    """The command, with a clock of its own; where it would store."""

    def run(*args: str) -> int:
        monkeypatch.setattr("sys.argv", ["time_cells", *args])
        return time_cells.main()

    monkeypatch.setattr(time_cells, "time_cells", lambda path: {"cell": 2.0})
    monkeypatch.setattr(time_cells, "missing_anywhere", lambda notebook: [])
    monkeypatch.setattr(time_cells.runs, "folder", lambda name: tmp_path)
    return run


@pytest.mark.parametrize(
    "name",
    ["04_attention", "04_attention.ipynb", "book/en/04_attention.ipynb"],
)
def test_a_notebook_has_its_path_or_its_chapter_s_name(
    name, timed, tmp_path, capsys, monkeypatch
):
    """And nothing is stored that nobody asked for."""
    monkeypatch.chdir(ROOT)
    assert timed(name) == 0
    assert capsys.readouterr().out == "04_attention: 2 s\n"
    assert not list(tmp_path.iterdir())


def test_times_are_stored_when_asked_for(timed, tmp_path):
    assert timed("--store", "04_attention") == 0
    stored = json.loads((tmp_path / "04_attention.json").read_text())
    assert stored["seconds"] == {"cell": 2.0}
    command = "python -m tools.time_cells --store 04_attention"
    assert stored["command"] == command


@pytest.mark.parametrize("name", ["4_attention", "nowhere/04_attention.ipynb"])
def test_an_unknown_notebook_is_told_with_those_that_there_are(
    name, timed, capsys
):
    with pytest.raises(SystemExit):
        timed(name)
    told = capsys.readouterr().err.splitlines()[-1]
    assert f"no notebook {name!r}" in told and "04_attention" in told


def test_outside_the_environment_a_line_says_what_to_do():
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-m", "tools.time_cells"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert re.fullmatch(r"error: .*make cell-times NB=.*\n", done.stderr)
