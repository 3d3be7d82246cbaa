"""Stored outputs: the same bytes whenever and wherever a notebook is run."""

import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from tools import refresh_outputs
from tools.refresh_outputs import (
    ROOT,
    corpora_of,
    missing_anywhere,
    missing_corpora,
    refresh,
    tidy,
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
                "scrolled": True,
                "execution": {"iopub.execute_input": "2024-01-01T00:00:00"},
            },
        ),
        new_code_cell("3 + 4", id="two-prints"),  # a copied cell
    ]
    metadata = {
        "kernelspec": {"name": "mine", "display_name": "My own kernel"},
        "language_info": {"name": "python", "version": "3.11.2"},
        "transformer_course": {"corpus": "grammar"},
        "widgets": {},
    }
    path = tmp_path / "chapter.ipynb"
    with pytest.warns(nbformat.warnings.DuplicateCellId):
        nbformat.write(new_notebook(cells=cells, metadata=metadata), path)
    return path


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_two_runs_store_the_same_bytes(notebook):
    assert refresh(notebook, store=True).endswith("changed")
    first = notebook.read_bytes()
    assert refresh(notebook, store=True).endswith("same")
    assert notebook.read_bytes() == first
    stored = nbformat.read(notebook, as_version=4)
    title, prints, last = stored.cells
    assert prints.outputs[0].text == "1\n2\n"  # joined, though sent in two
    assert [prints.execution_count, last.execution_count] == [1, 2]
    assert [title.id, prints.id] == ["title", "two-prints"]
    assert last.id not in ("title", "two-prints")


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_tidying_keeps_what_is_meant_and_drops_the_rest(notebook):
    untidy = nbformat.read(notebook, as_version=4)
    tidy(untidy)
    assert set(untidy.metadata) == {
        "kernelspec",
        "language_info",
        "transformer_course",
    }
    assert untidy.metadata.kernelspec.name == "python3"
    assert untidy.metadata.language_info == {"name": "python"}
    assert set(untidy.cells[1].metadata) == {"tags", "mystnb"}


@pytest.mark.filterwarnings("ignore::nbformat.warnings.DuplicateCellId")
def test_a_notebook_without_its_corpus_is_left_alone(notebook, monkeypatch):
    before = notebook.read_bytes()
    monkeypatch.setattr(refresh_outputs, "is_available", lambda name: False)
    said = refresh(notebook, store=True)
    assert "skipped" in said and "grammar" in said
    assert notebook.read_bytes() == before


def test_corpora_are_one_name_or_several():
    book = new_notebook(metadata={"transformer_course": {"corpus": "grammar"}})
    assert missing_corpora(book) == []
    book.metadata.transformer_course["corpus"] = ["grammar"]
    assert missing_corpora(book) == []
    assert missing_corpora(new_notebook()) == []


@pytest.fixture
def with_corpus_cell(tmp_path):
    """A notebook with one cell that needs Soseki, and two that do not."""
    needs = {"transformer_course": {"corpus": "soseki"}}
    cells = [
        new_code_cell("a = 1", id="one", execution_count=1),
        new_code_cell("nonsense", id="two", execution_count=2, metadata=needs),
        new_code_cell(
            "print(a)",
            id="three",
            execution_count=3,
            outputs=[new_output("stream", name="stdout", text="1\n")],
        ),
    ]
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_a_notebook_without_a_cells_corpus_is_left_alone(
    with_corpus_cell, monkeypatch
):
    before = with_corpus_cell.read_bytes()
    monkeypatch.setattr(refresh_outputs, "is_available", lambda name: False)
    for store in (True, False):
        said = refresh(with_corpus_cell, store=store)
        assert "skipped: it needs soseki" in said
        assert "transformer-course data fetch soseki" in said
    assert with_corpus_cell.read_bytes() == before


def test_what_is_missing_is_named_once(with_corpus_cell, monkeypatch):
    stored = nbformat.read(with_corpus_cell, as_version=4)
    stored.cells += stored.cells
    stored.metadata.transformer_course = {"corpus": "fashion_mnist"}
    monkeypatch.setattr(refresh_outputs, "is_available", lambda name: False)
    assert missing_corpora(stored) == ["fashion_mnist"]
    assert missing_anywhere(stored) == ["fashion_mnist", "soseki"]
    monkeypatch.setattr(refresh_outputs, "is_available", lambda name: True)
    assert missing_anywhere(stored) == []


def test_tidying_keeps_the_corpus_of_a_cell(with_corpus_cell):
    stored = nbformat.read(with_corpus_cell, as_version=4)
    tidy(stored)
    assert corpora_of(stored.cells[1]) == ["soseki"]
    assert corpora_of(stored.cells[0]) == []


def outcome_of(path, *words, **environment):
    """What a test run of its own prints about a notebook; it must pass."""
    outer = {k: v for k, v in os.environ.items() if "XDIST" not in k}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--nbval", "-c", "pyproject.toml"]
        + ["-p", "no:cacheprovider", "-p", "conftest", *words, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=outer | environment,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return " ".join(run.stdout.split())


@pytest.mark.exhaustive
def test_a_cell_without_its_corpus_is_skipped_by_name(with_corpus_cell):
    """The other cells run, and share a kernel."""
    empty = str(with_corpus_cell.parent / "empty")
    said = outcome_of(
        with_corpus_cell,
        *("-p", "no:xdist"),
        TRANSFORMER_COURSE_MIRROR=empty,
        TRANSFORMER_COURSE_CACHE=empty,
    )
    assert "2 passed, 1 skipped" in said
    assert "chapter.ipynb, Cell 1, needs the corpus soseki" in said


@pytest.mark.exhaustive
def test_a_worker_s_notebook_has_the_threads_that_are_asked_for(tmp_path):
    """As ``make test-processors`` asks."""
    cell = new_code_cell(
        "import torch\nprint(torch.get_num_threads())",
        execution_count=1,
        outputs=[new_output("stream", name="stdout", text="4\n")],
    )
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[cell]), path)
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
    asking = dict.fromkeys(names, "4") | {"MKL_DYNAMIC": "FALSE"}
    assert "1 passed" in outcome_of(path, "-n", "1", **asking)
