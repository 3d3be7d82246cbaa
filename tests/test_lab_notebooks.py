"""The copies of the chapters that `make lab` opens."""

import re
from base64 import b64decode
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from built_book import ROOT, built_site
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from tiny import Killed, killed

from tools.lab_guesses import fold_what_waits
from tools.lab_markdown import Frame, Writer, fold
from tools.lab_notebooks import (
    OPENINGS,
    chapter_paths,
    is_changed,
    learner_notebook,
    read_book,
    read_chapter,
    write_copy,
)
from tools.translate.tree import Edition

PATHS = chapter_paths()
SVG = "{http://www.w3.org/2000/svg}"
LEFT_OVER = re.compile(
    r":::|^`{3,} *\{|\{[a-z][\w:-]*\}`|^\([\w-]+\)=$|^\{[.#]|\]\(\)|\[\]\(",
    re.M,
)
"""Marks of MyST, and links without words or without an end."""


@pytest.fixture(scope="module")
def book():
    return read_book(PATHS)


@pytest.fixture(scope="module")
def copies(book):
    """The copy of each chapter, by its page."""
    book = replace(book, is_built=True)
    return {path.stem: learner_notebook(path, book) for path in PATHS}


@pytest.fixture
def writer(book):
    return Writer("04_attention", replace(book))


def texts_of(notebook) -> str:
    return "\n\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )


def test_copies_keep_no_mark_of_myst_and_name_no_place_of_this_machine(copies):
    assert len(copies) == 24
    for page, copy in copies.items():
        assert not LEFT_OVER.findall(texts_of(copy)), page
        assert not re.search(r"\\(softmax|Attention|R|T)\b", texts_of(copy))
        assert str(ROOT) not in nbformat.writes(copy)
        assert not is_changed(copy)


def test_a_copy_begins_with_its_opening_in_colours_of_its_own(copies):
    for page, copy in copies.items():
        drawn = (OPENINGS / f"{page[:2]}.svg").exists()
        assert (copy.cells[1].id == "opening") == drawn
        if drawn:
            [data] = re.findall(r"base64,([^)]+)\)$", copy.cells[1].source)
            svg = ElementTree.fromstring(b64decode(data))
            assert "font-size" in svg.findtext(f"{SVG}style")


def test_links_between_copies_lead_to_cells(copies):
    ids = {
        page: {"", *(f"cell-id={cell.id}" for cell in copy.cells)}
        for page, copy in copies.items()
    }
    targets = [
        target.partition("#")
        for copy in copies.values()
        for target in re.findall(r"\]\(([^)\s]+)", texts_of(copy))
        if not target.startswith(("http", "/static/", "data:"))
    ]
    assert len(targets) > 300
    for file, _, cell in targets:
        assert cell in ids[file.removesuffix(".ipynb")], (file, cell)


def test_a_japanese_copy_has_the_code_and_figures_of_the_english(
    book, copies, tmp_path, monkeypatch
):
    monkeypatch.setattr("course_edition.language", "ja")
    path = tmp_path / "04_attention.ipynb"
    path.write_text(Edition(path.stem).source(), "utf-8")
    own = replace(
        book, is_built=True, figures={**book.figures}, frames={**book.frames}
    )
    own._add(path.stem, read_chapter(path).cells)
    japanese, english = learner_notebook(path, own), copies[path.stem]
    text = texts_of(japanese)
    assert not LEFT_OVER.findall(text)
    assert "## トークン三つで手計算" in text and "**図 4.1.** " in text
    assert "Three tokens" not in text and "答え" in text
    ids = [[cell.id for cell in copy.cells] for copy in (japanese, english)]
    assert ids[0] == ids[1]


def test_what_the_book_folds_is_folded(copies):
    for page, copy in copies.items():
        code = [cell for cell in copy.cells if cell.cell_type == "code"]
        assert code[0].id == "install-course"
        for cell in code:
            tags = {*cell.metadata.get("tags", [])}
            jupyter = cell.metadata.get("jupyter", {})
            if {"hide-input", "hide-cell"} & tags or "use_dev" in cell.source:
                assert jupyter["source_hidden"], page
            assert "hide-cell" not in tags or jupyter["outputs_hidden"]


def test_a_figure_has_its_caption_below(copies):
    cells = copies["04_attention"].cells
    captions = [i for i, c in enumerate(cells) if c.id.endswith("-caption")]
    for number, place in enumerate(captions, 1):
        assert cells[place - 1].cell_type == "code"
        assert f"**Figure 4.{number}.** " in cells[place].source


def test_figures_have_the_numbers_and_ids_of_the_built_book(book):
    site = built_site()
    for page in (path.stem for path in PATHS):
        html = Path(site, f"{page}.html").read_text("utf-8")
        built = re.findall(r'"caption-number">(Figure [\d.]+)', html)
        figures = book.figures.values()
        assert built == [name for there, name, _ in figures if there == page]
        for (there, _), anchor in book.frames.items():
            assert there != page or f'id="{anchor}"' in html, (page, anchor)


def guessed(*cells, hides=""):
    """What a guess and the cells below it become."""
    guess = f":::{{guess}} What?\n:slider: 0 9\n:answer: 8\n{hides}\nSo.\n:::"
    cells = [new_markdown_cell(guess), *map(deepcopy, cells)]
    fold_what_waits(cells)
    return [cell.metadata.get("tags") or cell.source for cell in cells[1:]]


def test_what_waits_for_a_guess_is_folded():
    printed = new_output("stream", text="8")
    code = new_code_cell("8", outputs=[printed])
    text = new_markdown_cell("It is 8.\n\nOn.")
    folded = ":::::{dropdown} After your guess\nIt is 8.\n:::::\n\nOn."
    assert guessed(code, text) == [["after-guess"], folded]
    assert guessed(new_code_cell("8"), text) == ["8", text.source]
    assert guessed(text, code) == [text.source, "8"]
    assert guessed(text, code, hides=":hides: 1\n") == [folded, "8"]
    heading = new_markdown_cell("## On\n\nNow.")
    assert guessed(code, heading) == [["after-guess"], heading.source]


def test_a_guess_keeps_its_answer_in_a_fold(writer):
    guess = ":::{guess} What?\n:choices: one | *two*\n:answer: 2\n\nSo.\n:::"
    [text] = writer.parts(guess)
    assert text == (
        "**Guess.** What?\n\n1. one\n1. *two*\n\n"
        + fold("Answer", "***two***\n\nSo.")
    )
    slider = ":::{guess} Who?\n:slider: 0 100 %\n:answer: 85\n\nSo.\n:::"
    [text] = writer.parts(slider)
    assert "*Guess a number from 0 to 100 %.*" in text
    assert "**85 %**" in text.partition("<details>")[2]


def test_roles_become_words_and_links(writer):
    vaswani = "https://arxiv.org/abs/1706.03762"
    for text, plain in {
        "as {cite:t}`vaswani2017attention`": (
            f"as [Vaswani et al. (2017)]({vaswani})"
        ),
        "{cite:p}`vaswani2017attention,hochreiter1997long`": (
            f"([Vaswani et al., 2017]({vaswani}); "
            "[Hochreiter and Schmidhuber, 1997]"
            "(04_attention.ipynb#cell-id=cited-sources))"
        ),
        "{doc}`text <api/training>`": "[text](/static/api/training.html)",
        "[here](05_score_functions.ipynb)": "[here](05_score_functions.ipynb)",
        "{numref}`fig-04-lookup`": (
            "[Figure 4.1](04_attention.ipynb#cell-id=lookup-figure)"
        ),
        r"$\softmax(x)$": r"$\operatorname{softmax}(x)$",
    }.items():
        assert writer.prose(text) == plain
    with pytest.raises(ValueError, match="kbd"):
        writer.prose("{kbd}`x`")
    with pytest.raises(ValueError, match="figure"):
        writer.parts(":::{figure} x.png\n:::")


def test_a_figure_that_moves_is_framed_once_the_book_is_built(writer):
    live = "Before\n\n```{live} plane\n:controls:\n```\n\nafter"
    address = "/static/04_attention.html"
    writer.book.is_built = True
    frame = Frame(f"{address}?only=live-1")
    assert writer.parts(live) == ["Before", frame, "after"]
    writer.book.is_built = False
    [text] = writer.parts(live)
    assert f"[in the book]({address}#live-1)" in text


def test_only_a_copy_that_nobody_changed_is_renewed(
    book, tmp_path, monkeypatch
):
    for variable in ("REPO", "SITE_URL"):
        monkeypatch.delenv(variable, raising=False)
    paths = PATHS[4:6]
    signed = []

    def write():
        done = []
        for path in paths:
            copy = tmp_path / f"{path.stem}.ipynb"
            notebook = learner_notebook(path, book)
            done.append(write_copy(notebook, copy, signed.append))
        return done

    with pytest.raises(Killed):  # no copy stands there that is not signed
        copy = tmp_path / f"{paths[0].stem}.ipynb"
        write_copy(learner_notebook(paths[0], book), copy, killed)
    assert write() == ["made", "made"] and len(signed) == 2
    assert write() == ["kept", "kept"] and len(signed) == 2

    first, second = (tmp_path / f"{path.stem}.ipynb" for path in paths)
    run = nbformat.read(first, as_version=4)
    run.cells[0].execution_count = 1
    nbformat.write(run, first)
    changed = nbformat.read(second, as_version=4)
    changed.cells[1].source += "\n\nMy note."
    nbformat.write(changed, second)
    monkeypatch.setenv("REPO", "https://example.org/someone/course.git")
    assert write() == ["renewed", "left"]
    assert "clone --quiet --depth 1 https://example.org/someone/course\n" in (
        nbformat.read(first, as_version=4).cells[0].source
    )
    assert "My note." in second.read_text("utf-8")
    first.write_text("no notebook")
    assert write() == ["left", "left"]
