"""What is found by reading the notebooks' code; and that the book keeps to it.

The finders are tried on small notebooks first, so that they can fail.
"""

import sys

import pytest
from built_book import BOOK, ROOT, code_cells, notebooks, read
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import notebook_code
from tools.notebook_code import (
    KINDS,
    clock_assertions,
    lost_names,
    needs_corpus,
)

notebook = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.relative_to(BOOK).as_posix())
        for path in notebooks()
    ],
)


def cell(source: str, *corpora: str, **more):
    """A code cell that says which corpora it needs."""
    cell = new_code_cell(source, **more)
    if corpora:
        cell.metadata["transformer_course"] = {"corpus": list(corpora)}
    return cell


def made_of(*cells):
    return new_notebook(cells=list(cells))


# --- names from cells that may be skipped ------------------------------------

LOADED = cell("text = load()", "enja")


@pytest.mark.parametrize(
    "source",
    [
        "print(text)",
        "text = sorted(text)",
        "text += more",
        "def first():\n    return text[0]",
        "rows = [len(line) for line in text]",
        "f'{text}'",
    ],
)
def test_a_name_from_a_cell_that_may_be_skipped_is_found(source):
    user = cell(source, id="user")
    assert lost_names(made_of(LOADED, user)) == {("user", "text")}
    for known in ("text = []", "import text", "def text(): pass"):
        assert lost_names(made_of(cell(known), LOADED, user)) == set()


@pytest.mark.parametrize(
    "source",
    [
        "print('text')",
        "text = 'my own'\nprint(text)",
        "for text in ('a', 'b'):\n    print(text)",
        "def count(text):\n    return len(text)",
        "print([text for text in 'ab'])",
        "print(splits.text)",
    ],
)
def test_a_name_of_the_cell_itself_is_not(source):
    assert lost_names(made_of(LOADED, cell(source))) == set()


def test_who_names_the_corpus_too_may_use_its_names():
    user = cell("print(text)", "enja", id="user")
    assert lost_names(made_of(LOADED, user)) == set()
    other = cell("print(text)", "soseki", id="user")
    assert lost_names(made_of(LOADED, other)) == {("user", "text")}
    both = cell("print(text)", "soseki", "enja", id="user")
    assert lost_names(made_of(LOADED, both)) == set()


def test_any_of_the_corpora_may_be_missing_and_all_of_them():
    """Each of two defines the name: it is lost where neither is here."""
    cells = (LOADED, cell("text = other()", "soseki"))
    user = cell("print(text)", id="user")
    assert lost_names(made_of(*cells, user)) == {("user", "text")}
    in_one = cell("print(text)", "enja", id="user")
    assert lost_names(made_of(*cells, in_one)) == set()


def test_what_nothing_defines_is_not_the_corpus_s_fault():
    user = cell("get_ipython()\nprint(typo)")
    assert lost_names(made_of(LOADED, user)) == set()


@notebook
def test_no_cell_uses_what_may_have_been_skipped(path):
    """It names the corpus that the cells which define its names do."""
    assert lost_names(read(path)) == set()


# --- assertions on a clock ---------------------------------------------------

START = "import time\nstart = time.perf_counter()\n"


@pytest.mark.parametrize(
    "source",
    [
        "assert time.perf_counter() - start < 1",
        "taken = time.perf_counter() - start\nassert taken < 1",
        "a = b = start\nc, (d, *e) = 1, a\nassert all(e)",
        "times = []\ntimes.append(start)\nassert max(times) < 1",
        "times = {}\ntimes['a'] = start\ntimes['b'] = 0\n"
        "ratio = times['a'] / 2\nassert ratio > 2",
        "total = 0\nfor t in [start]:\n    total += t\ntotal += 1\n"
        "assert total < 1",
        "def took(call):\n    begun = time.process_time()\n    call()\n"
        "    return time.process_time() - begun\n"
        "assert took(print) < took(input)",
        "from time import time_ns\nassert time_ns() > 5",
        "from torch.testing import assert_close\nassert_close(start, 1.0)",
        "if True:\n    with open('a'):\n        assert start",
        "class A:\n    def test(self):\n        assert start",
    ],
)
def test_an_assertion_on_a_clock_is_found(source):
    assert clock_assertions(START + source) != []


@pytest.mark.parametrize(
    "source",
    [
        "assert 1 + 1 == 2",
        "print(time.perf_counter() - start)",
        "start = 5\nassert start == 5",
        "time.sleep(1)\nassert True",
        "def rise(start):\n    assert start > 0",
        "def rise():\n    took = time.time()\n\n\ntook = 1\nassert took",
        "assert [start for start in (1, 2)] == [1, 2]",
        "assert runs['seconds'] < 2",
    ],
)
def test_an_assertion_on_something_else_is_not(source):
    assert clock_assertions(START + source) == []


@notebook
def test_no_notebook_asserts_on_a_clock(path):
    code = "\n".join(each.source for each in code_cells(path))
    assert clock_assertions(code) == []


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name)
        for path in sorted(ROOT.glob("tests/*.py"))
    ],
)
def test_no_test_asserts_on_a_clock(path):
    assert clock_assertions(path.read_text(encoding="utf-8")) == []


# --- the lists that the Makefile asks for ------------------------------------


def test_a_notebook_needs_a_corpus_if_a_cell_of_it_does():
    assert not needs_corpus(made_of(cell("x = 1"), new_markdown_cell("enja")))
    assert needs_corpus(made_of(cell("x = 1"), LOADED))
    whole = made_of(cell("x = 1"))
    whole.metadata["transformer_course"] = {"corpus": "enja"}
    assert needs_corpus(whole)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("kept = trained(PRESETS['grammar'])", {"training", "shared"}),
        ("took = process_time()\ntrained(toy)", {"training"}),
        ("for batch in batches:\n    optimizer.step()", {"training"}),
        ("def go():\n    return train.train_step(model, batch)", {"training"}),
        ("'trained(x)'  # optimizer.step()", set()),
        ("step = trained\nsteps(trained)", set()),
    ],
)
def test_who_trains_is_found_in_the_code(source, kinds):
    made = made_of(cell("x = 1"), cell(source))
    assert {kind for kind, holds in KINDS.items() if holds(made)} == kinds


@pytest.mark.parametrize("kind", KINDS)
def test_the_lists_are_paths_of_notebooks(kind, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["notebook_code", kind])
    notebook_code.main()
    listed = capsys.readouterr().out.splitlines()
    assert 0 < len(listed) < len(notebooks())
    assert {ROOT / name for name in listed} < set(notebooks())
