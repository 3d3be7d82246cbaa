"""A cell tagged ``copyable`` can be copied into an empty file and runs."""

import ast
import builtins
import os
import subprocess
import sys

import pytest
from built_book import BOOK, code_cells

CELLS = {
    f"{path.stem}/{cell.id}": cell
    for path in sorted((BOOK / "en").glob("[0-9][0-9]_*.ipynb"))
    for cell in code_cells(path)
    if "copyable" in cell.metadata.get("tags", ())
}
each_cell = pytest.mark.parametrize("name", CELLS)


def names_from_above(source: str) -> set[str]:
    """Names that the code uses and makes nowhere."""
    nodes = [*ast.walk(ast.parse(source))]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    used = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    made = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
    return used - made - {*dir(builtins)}


def test_a_name_from_above_is_noticed():
    source = "import math\ndef area(r):\n    return math.pi * scale * r**2\n"
    assert names_from_above(source) == {"scale"}


@each_cell
def test_a_copyable_cell_needs_nothing_above_it(name):
    assert names_from_above(CELLS[name].source) == set()
    assert CELLS[name].source.startswith(("import ", "from ", "#"))


@pytest.mark.exhaustive
@each_cell
def test_a_copyable_cell_runs_in_an_empty_file(name, tmp_path):
    (tmp_path / "copied.py").write_text(CELLS[name].source, "utf-8")
    done = subprocess.run(
        [sys.executable, "copied.py"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "agg", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
