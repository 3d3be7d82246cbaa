"""Stored outputs: the same bytes whenever and wherever a notebook is run."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import refresh_outputs
from tools.refresh_outputs import (
    corpora_of,
    missing_anywhere,
    refresh,
    run_each,
)

SLEEPY = "import time\n\nprint(1)\ntime.sleep(0.1)\nprint(2)"


@pytest.fixture
def notebook(tmp_path):
    """A notebook as an editor leaves it, with what should not be stored."""
    cells = [
        new_markdown_cell("# A title", id="title"),
        new_code_cell(
            SLEEPY,
            id="two-prints",
            execution_count=17,
            metadata={
                "tags": ["nbval-ignore-output"],
                "mystnb": {"image": {"alt": "none"}},
                "transformer_course": {"corpus": "soseki"},
                "scrolled": True,
                "execution": {"iopub.execute_input": "2024-01-01T00:00:00"},
            },
        ),
        new_code_cell("3 + 4", id="two-prints"),  # a copied cell
    ]
    metadata = {
        "kernelspec": {"name": "mine", "display_name": "My own kernel"},
        "language_info": {"name": "python", "version": "3.11.2"},
        "transformer_course": {"corpus": "fashion_mnist"},
        "widgets": {},
    }
    path = tmp_path / "chapter.ipynb"
    with pytest.warns(nbformat.warnings.DuplicateCellId):
        nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    return path


def has_corpora(monkeypatch, there: bool) -> None:
    monkeypatch.setattr(refresh_outputs, "is_available", lambda name: there)


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_two_runs_store_the_same_bytes_and_only_what_is_meant(
    notebook, monkeypatch
):
    has_corpora(monkeypatch, True)
    assert refresh(notebook) == "changed"
    first = notebook.read_bytes()
    assert refresh(notebook) == "same"
    assert notebook.read_bytes() == first
    stored = nbformat.read(notebook, as_version=4)
    title, prints, last = stored.cells
    assert prints.outputs[0].text == "1\n2\n"  # joined, though sent in two
    assert [prints.execution_count, last.execution_count] == [1, 2]
    assert [title.id, prints.id] == ["title", "two-prints"]
    assert last.id not in ("title", "two-prints")
    assert stored.metadata.kernelspec.name == "python3"
    assert stored.metadata.language_info == {"name": "python"}
    assert "widgets" not in stored.metadata
    assert {*prints.metadata} == {"tags", "mystnb", "transformer_course"}


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_without_a_corpus_of_its_own_or_of_a_cell_it_is_left_alone(
    notebook, monkeypatch, capsys
):
    before = notebook.read_bytes()
    has_corpora(monkeypatch, False)
    assert run_each([notebook], refresh) == 0
    told = capsys.readouterr().out
    assert "skipped: it needs fashion_mnist, soseki" in told
    assert "transformer-course data fetch fashion_mnist" in told
    assert notebook.read_bytes() == before
    stored = nbformat.read(notebook, as_version=4)
    stored.cells += stored.cells
    assert missing_anywhere(stored) == ["fashion_mnist", "soseki"]
    stored.metadata.transformer_course["corpus"] = ["grammar", "enja"]
    assert corpora_of(stored) == ["grammar", "enja"]  # one name or several
    assert corpora_of(stored.cells[0]) == []
