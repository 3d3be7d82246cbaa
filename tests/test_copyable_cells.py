"""A cell tagged ``copyable`` can be copied into an empty file and runs."""

import builtins
import os
import subprocess
import sys
from symtable import SymbolTable, symtable

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
    """Global names that the code uses and does not make."""
    whole = symtable(source, "cell", "exec")
    made = {s.get_name() for s in whole.get_symbols() if s.is_assigned()}
    made |= {s.get_name() for s in whole.get_symbols() if s.is_imported()}
    made |= {s.get_name() for s in whole.get_symbols() if s.is_namespace()}
    return used_globals(whole) - made - {*dir(builtins)}


def used_globals(table: SymbolTable) -> set[str]:
    """Names that a block, or one within it, looks for at the top."""
    at_top = table.get_type() == "module"
    names = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (at_top or symbol.is_global())
    }
    return names.union(*map(used_globals, table.get_children()))


def test_a_name_from_above_is_noticed():
    source = "import math\ndef area(r):\n    return math.pi * scale * r**2\n"
    assert names_from_above(source) == {"scale"}
    assert names_from_above(f"scale = 2\n{source}print(area(1))") == set()


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
