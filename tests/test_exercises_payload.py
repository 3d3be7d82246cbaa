"""A learner's code reaches the process of its check, however it was made."""

import builtins
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course_exercises.candidate.payload import pack, unpack
from course_exercises.check import name_of

IMPORTS = "import functools, torch"
CELLS = Path(__file__).with_name("notebook_cells.md").read_text("utf-8")


def each(part):
    """Parametrise by the notebooks below a heading: the cells of each."""
    below = re.search(rf"^# {part}\n(.*?)(?=^# |\Z)", CELLS, re.M | re.S)[1]
    _, *found = re.split(r"^## (.*)\n", below, flags=re.M)
    cells = [
        re.findall(r"^```python\n(.*?)\n```$", text, re.M | re.S)
        for text in found[1::2]
    ]
    return pytest.mark.parametrize("cells", cells, ids=found[::2])


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """Run cells; return the answer, as it is in the notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    shell = InteractiveShell(
        config=Config({"HistoryManager": {"enabled": False}}),
        user_module=sys.modules["__main__"],
    )

    def run(cells):
        for cell in (IMPORTS, *cells):
            shell.run_cell(cell).raise_error()
        return sys.modules["__main__"].causal_mask

    yield run
    forget()
    InteractiveShell.clear_instance()


def forget():
    """Remove what a learner has set on what is not the learner's."""
    for owner in (torch.Tensor, builtins):
        if hasattr(owner, "low"):
            delattr(owner, "low")


@each("What IPython reads")
def test_cells_are_ipython_s(notebook, cells):
    assert_right(pack(notebook(cells)))


@each("Helpers")
def test_helpers_come_along_however_they_were_made(notebook, cells):
    assert_right(pack(notebook(cells)))


@each("Under its name")
def test_the_notebook_s_name_counts_not_that_of_def(notebook, cells):
    answer = notebook(cells)
    assert name_of(answer) == "causal_mask"
    assert_right(pack(answer))


@each("Not taken")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_cannot_be_taken_is_named(notebook, cells, request):
    payload = pack(notebook(cells))
    assert payload.left_out.keys() == {request.node.callspec.id}
    unpack(payload.content)


@each("Deleted again")
def test_the_process_of_the_check_lends_its_own_names_to_nobody(
    notebook, cells
):
    answer = notebook(cells)
    with pytest.raises(NameError):
        unpack(pack(answer).content)[0](2)


def assert_right(payload):
    assert not payload.left_out
    forget()
    length = 3
    expected = torch.ones(length, length).tril().bool()[None, None]
    assert torch.equal(unpack(payload.content)[0](length), expected)
