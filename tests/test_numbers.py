"""Chapters' numbers in titles and figures: ``book/_ext/course_numbers.py``."""

import sys

import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, build_project

sys.path.insert(0, str(BOOK / "_ext"))
from course_numbers import by_chapter

FIGURES = """
```{figure} p.png
:name: NAME-a
:alt: nothing

One
```

```{figure} p.png
:name: NAME-b
:alt: nothing

Two
```

## A section
"""


def soup_of(path):
    """A built page."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two chapters, and a page around them that points at their figures."""
    folder = tmp_path_factory.mktemp("numbers")
    source = folder / "source"
    source.mkdir()
    (source / "p.png").write_bytes(b"")
    pages = {
        "index": "# The book\n\n```{toctree}\n02_first\n03_second\n```\n\n"
        "{numref}`f-b` {numref}`s-b` {doc}`03_second`\n"
        + FIGURES.replace("NAME", "i"),
        "02_first": "# First\n" + FIGURES.replace("NAME", "f"),
        "03_second": "# Second\n" + FIGURES.replace("NAME", "s"),
    }
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "course_numbers"],
        "html_theme": "basic",
        "numfig": True,
        "project": "",
        "html_title": "The book",
    }
    warnings = build_project(source, folder / "html", settings)
    assert not warnings
    return folder / "html"


def test_figures_are_counted_in_each_chapter(small):
    for page, numbers in [
        ("02_first", ["Fig. 2.1", "Fig. 2.2"]),
        ("03_second", ["Fig. 3.1", "Fig. 3.2"]),
        ("index", ["Fig. 1", "Fig. 2"]),  # no chapter
    ]:
        captions = soup_of(small / f"{page}.html").select(".caption-number")
        assert [c.get_text().strip() for c in captions] == numbers


def test_references_say_the_number_that_the_figure_has(small):
    told = soup_of(small / "index.html").select("a .std-numref")
    assert [text.get_text() for text in told] == ["Fig. 2.2", "Fig. 3.2"]


def test_a_chapter_s_number_stands_before_its_title(small):
    page = soup_of(small / "03_second.html")
    assert page.h1.find(string=True) == "03 · Second"
    assert page.title.get_text() == "03 · Second — The book"
    link = soup_of(small / "index.html").select_one("p > a .doc")
    assert link.get_text() == "03 · Second"


def test_no_anchor_hangs_on_a_number(small):
    page = soup_of(small / "03_second.html")
    assert [s["id"] for s in page.select("section")] == ["second", "a-section"]


def test_figures_and_tables_are_counted_alone():
    counts = {
        "04_b": {"figure": {"x": (3,), "y": (2,)}, "table": {"t": (9,)}},
        "setup": {"figure": {"z": (7,)}},
    }
    assert by_chapter(counts) == {
        "04_b": {
            "figure": {"y": (4, 1), "x": (4, 2)},
            "table": {"t": (4, 1)},
        },
        "setup": {"figure": {"z": (1,)}},
    }
