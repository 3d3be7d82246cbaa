"""The book's sources: stored outputs, contents, the picture of the model."""

import copy
import re
from urllib.parse import urlsplit
from xml.etree import ElementTree

import nbformat
import pytest
from built_book import (
    BOOK,
    ROOT,
    code_cells,
    notebooks,
    pictures,
    read,
)

from tools.refresh_outputs import tidy

notebook = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.relative_to(BOOK).as_posix())
        for path in notebooks()
    ],
)

# --- notebooks ---------------------------------------------------------------


@notebook
def test_outputs_are_those_of_one_run_as_make_outputs_stores_it(path):
    """In order, with no timestamps, no machine's metadata and stable ids."""
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run `make outputs`"
    tidied = copy.deepcopy(read(path))
    tidy(tidied)
    stored = path.read_text(encoding="utf-8").rstrip("\n")
    written = nbformat.v4.writes(tidied).rstrip("\n")
    assert stored == written, f"run `make outputs NB={path}`"


@notebook
def test_outputs_have_no_unmeant_error_and_no_folder_of_a_machine(path):
    place = re.compile(r"/home/|/root/|/Users/|/tmp/|C:\\|site-packages")
    for cell in code_cells(path):
        meant = "raises-exception" in cell.metadata.get("tags", [])
        for output in cell.outputs:
            assert meant or output.output_type != "error", cell.source
            texts = [output.get("text", "")] + [
                str(content)
                for kind, content in output.get("data", {}).items()
                if kind.startswith("text/")
            ]
            assert not any(map(place.search, texts)), cell.source


@notebook
def test_every_picture_has_alt_text_and_a_caption(path):
    """Said in the cell's metadata: ``mystnb: {image: {alt}, figure: ...}``."""
    for cell in code_cells(path):
        count = pictures(cell)
        if not count or "remove-output" in cell.metadata.get("tags", []):
            continue
        assert count == 1, f"one picture a cell, not {count}:\n{cell.source}"
        values = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert not values, f"the last value is shown, too:\n{cell.source}"
        render = cell.metadata.get("mystnb", {})
        alt = render.get("image", {}).get("alt", "")
        figure = render.get("figure", {})
        assert alt.strip(), f"no alt text:\n{cell.source}"
        assert figure.get("caption", "").strip(), f"no caption:\n{cell.source}"
        assert figure.get("name", "").startswith("fig-"), cell.source


# --- the table of contents ---------------------------------------------------


def toc_files() -> set[str]:
    """Every page that the table of contents names."""
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    return set(re.findall(r"\b(?:file|root): (\S+)", toc))


def test_every_module_has_a_page_in_the_reference():
    documented = {
        name
        for path in (BOOK / "en" / "api").glob("*.md")
        for name in re.findall(
            r"automodule:: (\S+)", path.read_text(encoding="utf-8")
        )
    }
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("transformer_course", "course_exercises")
        for path in (ROOT / package).rglob("*.py")
    }
    modules = {name.removesuffix(".__init__") for name in modules}
    left = re.compile(r"\._\w+$|\.catalogue\.\w+\.|^transformer_course$")
    assert {m for m in modules if not left.search(m)} <= documented


# --- the first page ----------------------------------------------------------


def test_the_parts_of_the_picture_lead_to_their_chapters():
    """Each says its name, to eyes and ears, and the number of its chapter."""
    svg = "{http://www.w3.org/2000/svg}"
    path = BOOK / "en" / "figures" / "transformer.svg"
    picture = ElementTree.parse(path).getroot()
    assert picture.get("role") == "group"  # links in an image are not heard
    linked = set()
    for link in picture.iter(f"{svg}a"):
        words = [
            (text.get("class"), text.text) for text in link.iter(f"{svg}text")
        ]
        (number,) = [text for kind, text in words if kind == "number"]
        name = " ".join(text for kind, text in words if kind != "number")
        label = link.get("aria-label").replace(",", "")
        assert label.startswith(name) and number in label
        page = urlsplit(link.get("href")).path.removesuffix(".html")
        assert page in toc_files() and page.startswith(f"{number}_")
        linked |= {link, *link.iter()}
    # 00 is about the whole, 05 about what goes on inside all attention
    numbers = {text.text for part in linked for text in part.iter()}
    parts = {name[:2] for name in toc_files() if name < "11"}
    parts -= {"00", "01", "05"}
    assert parts <= numbers
