"""Make a learner's copy of each chapter, for JupyterLab.

    python -m tools.lab_notebooks            into my_chapters/
    python -m tools.lab_notebooks --to DIR   into another folder

The stored chapters are written for the book: their Markdown has directives
and roles of MyST. A copy says the same in plain Markdown, folds what the book
folds, and shows a figure that moves in a frame with the book's own page.

A copy that somebody has changed is left as it is; one that nobody has changed
is written anew when the chapter, or the book, has changed. What counts is the
text of the cells: to run them changes nothing.
"""

import argparse
import hashlib
import os
import re
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from nbformat.v4 import (
    new_code_cell,
    new_notebook,
    new_output,
    reads,
    writes,
)

from tools.edition import BUILT, EDITION, say
from tools.edition import SOURCES as CHAPTERS
from tools.lab_guesses import TAG, TITLE, fold_what_waits
from tools.lab_markdown import (
    SOURCES,
    Book,
    Frame,
    Writer,
    fold,
    sources,
)
from tools.refresh_outputs import FIXED_METADATA
from transformer_course import files

ROOT = Path(__file__).resolve().parent.parent
OPENINGS = CHAPTERS / "figures/openings"
STYLE = ROOT / "book/_static/openings.css"
TARGET = ROOT / "my_chapters" / ("" if EDITION == "en" else EDITION)
NAME = "building-the-transformer"
FOLDED = {
    "hide-input": {"source_hidden": True},
    "hide-output": {"outputs_hidden": True},
    "hide-cell": {"source_hidden": True, "outputs_hidden": True},
    TAG: {"outputs_hidden": True},
}
FRAME = """\
# A figure that moves, from the book
from IPython.display import IFrame

IFrame("{}", "100%", {})"""
HEIGHT = 640
"""Of a frame in pixels, until its page says another (`_static/only.js`)."""


def chapter_paths() -> list[Path]:
    """The chapters, in their order."""
    return sorted(
        path
        for path in CHAPTERS.glob("[0-9][0-9]_*")
        if path.suffix in (".ipynb", ".md")
    )


def read_chapter(path: Path) -> NotebookNode:
    """A chapter; of one that is a page, each section becomes a cell."""
    if path.suffix == ".ipynb":
        return reads(path.read_text(encoding="utf-8"))
    sections = re.split(r"\n(?=## )", path.read_text(encoding="utf-8"))
    return new_notebook(
        cells=[
            text_cell(text.strip(), f"section-{number}")
            for number, text in enumerate(sections)
        ]
    )


def text_cell(text: str, name: str) -> NotebookNode:
    """A cell of text; nbformat's own function would validate each."""
    fields = {"cell_type": "markdown", "id": name, "metadata": {}}
    return nbformat.from_dict({**fields, "source": text})


def read_book(paths: list[Path]) -> Book:
    """What the copies say of each other, and of the book's other pages."""
    return Book.read(
        CHAPTERS, {path.stem: read_chapter(path).cells for path in paths}
    )


def learner_notebook(path: Path, book: Book) -> NotebookNode:
    """The copy of a chapter, with a mark that tells whether it is changed."""
    chapter = read_chapter(path)
    writer = Writer(path.stem, book)
    listed = sources(chapter.cells, book)
    fold_what_waits(chapter.cells)
    cells = [install_cell(os.environ.get("REPO", ""))]
    cells += opening_cells(OPENINGS / f"{path.stem[:2]}.svg")
    first = next(
        (cell.id for cell in chapter.cells if cell.cell_type == "code"), None
    )
    for cell in chapter.cells:
        if cell.cell_type == "code":
            cells += code_cells(cell, writer, is_first=cell.id == first)
        else:
            cells += text_cells(cell, writer)
    if listed:
        cells.append(text_cell(listed, SOURCES))
    own = chapter.metadata.get("transformer_course", {})
    notebook = new_notebook(
        cells=cells, metadata=FIXED_METADATA | {"transformer_course": own}
    )
    nbformat.validate(notebook)
    whole = hashlib.sha256(writes(notebook).encode()).hexdigest()
    notebook.metadata["copy"] = {"made": whole, "text": text_hash(notebook)}
    return notebook


def text_hash(notebook: NotebookNode) -> str:
    """Of what stands in the cells, without outputs and metadata."""
    text = repr([(cell.cell_type, cell.source) for cell in notebook.cells])
    return hashlib.sha256(text.encode()).hexdigest()


def install_cell(repository: str) -> NotebookNode:
    """The first cell: it installs the course where it is missing."""
    address = repository.strip().removesuffix("/").removesuffix(".git")
    name = address.rpartition("/")[2] or NAME
    if address:
        get = f"!git clone --quiet --depth 1 {address}"
    else:
        get = "# first upload the course's archive, and unpack it here"
    source = f"""\
# Elsewhere, such as on Colab, this installs the course
import importlib.util
import os
import sys

if importlib.util.find_spec("transformer_course") is None:
    {get}
    %pip install --quiet --editable "{name}[book]"
    %cd {name}
    sys.path.append(os.getcwd())"""
    return new_code_cell(
        source, id="install-course", metadata={"jupyter": FOLDED["hide-input"]}
    )


def opening_cells(path: Path) -> list[NotebookNode]:
    """The chapter's opening, where it has one, in the colours of paper."""
    if not path.exists():
        return []
    _, tag, shapes = re.split(r"(<svg[^>]*>)", path.read_text("utf-8"))
    [label] = re.findall(r'aria-label="([^"]*)"', tag)
    drawn = f"{tag}<style>{STYLE.read_text('utf-8')}</style>{shapes}"
    data = b64encode(drawn.encode()).decode()
    picture = f"![{label}](data:image/svg+xml;base64,{data})"
    return [text_cell(picture, "opening")]


def text_cells(cell: NotebookNode, writer: Writer) -> list[NotebookNode]:
    """The cells that a cell of text becomes: frames get their own."""
    cells = []
    for number, part in enumerate(writer.parts(cell.source)):
        own = f"{cell.id}-{number}" if number else cell.id
        if isinstance(part, Frame):
            cells.append(frame_cell(part.address, own))
        else:
            cells.append(text_cell(part, own))
    return cells


def frame_cell(address: str, name: str) -> NotebookNode:
    """A figure of the book in a frame."""
    html = (
        f'<iframe src="{address}" width="100%" height="{HEIGHT}" '
        'frameborder="0" allowfullscreen></iframe>'
    )
    data = {"text/html": html, "text/plain": f"<IFrame {address}>"}
    return new_code_cell(
        FRAME.format(address, HEIGHT),
        id=name,
        metadata={"jupyter": FOLDED["hide-input"]},
        outputs=[new_output("execute_result", data)],
    )


def code_cells(
    cell: NotebookNode, writer: Writer, is_first: bool
) -> list[NotebookNode]:
    """A cell of code, folded as in the book, and the caption below it."""
    settings = cell.metadata.pop("mystnb", {})
    folds = [*cell.metadata.get("tags", []), *["hide-input"] * is_first]
    jupyter = {}
    for tag in folds:
        jupyter |= FOLDED.get(tag, {})
    if jupyter:
        cell.metadata["jupyter"] = jupyter
    title = settings.get("code_prompt_show")
    if is_first:
        title = say("What this chapter imports")
    if title:
        cell.source = f"# {title}\n{cell.source}"
    for output in cell.outputs:
        describe(output, settings.get("image", {}).get("alt", ""))
    if not (figure := settings.get("figure")):
        return [cell]
    caption = writer.caption(figure)
    if TAG in folds:
        caption = fold(say(TITLE), caption)
    return [cell, text_cell(caption, f"{cell.id[:50]}-caption")]


def describe(output: NotebookNode, alt: str) -> None:
    """Give a picture the words for who cannot see it."""
    for kind in output.get("data", {}):
        if kind.startswith("image/"):
            output.metadata[kind] = {"alt": alt}


def is_changed(notebook: NotebookNode) -> bool:
    """Whether somebody has changed a copy since it was written."""
    mark = notebook.metadata.get("copy", {})
    return mark.get("text") != text_hash(notebook)


def write_copy(
    notebook: NotebookNode, path: Path, sign: Callable[[NotebookNode], object]
) -> str:
    """Write a copy where that harms nobody; what was done, in a word."""
    done = "made"
    if path.exists():
        try:
            there = nbformat.read(path, as_version=4)
        except ValueError:  # no notebook any more, but somebody's
            return "left"
        if (
            there.metadata.get("copy", {}).get("made")
            == (notebook.metadata["copy"]["made"])
        ):
            return "kept"
        if is_changed(there):
            return "left"
        done = "renewed"
    text = writes(notebook) + "\n"
    sign(reads(text))  # before: a copy that is there is signed
    files.write_atomic(path, text)
    return done


def write_all(
    folder: Path, sign: Callable[[NotebookNode], object]
) -> dict[Path, str]:
    """Write all copies; ``sign`` makes JupyterLab trust their frames."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = chapter_paths()
    book = read_book(paths)
    done = {}
    for path in paths:
        copy = folder / f"{path.stem}.ipynb"
        done[copy] = write_copy(learner_notebook(path, book), copy, sign)
    return done


def main() -> int:
    """Write them, and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=TARGET)
    done = write_all(parser.parse_args().to, NotebookNotary().sign)
    for path, word in done.items():
        if word == "left":
            print(f"left {path}, which you have changed, as it is")
        elif word != "kept":
            print(f"{word} {path}")
    if "left" in done.values():
        print("To have one afresh, rename your copy and run this again.")
    if not BUILT.is_dir():
        print("Figures that move stand in the book: `make book` builds it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
