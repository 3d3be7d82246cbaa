"""Chapters' numbers in titles and figures: ``book/_ext/course_numbers.py``."""

import sys

from bs4 import BeautifulSoup
from built_book import BOOK, build_project

sys.path.insert(0, str(BOOK / "_ext"))

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


def test_figures_are_numbered_in_each_chapter_and_referred_to(tmp_path):
    source = tmp_path / "source"
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
    assert not build_project(source, tmp_path / "html", settings)
    index, second = (
        BeautifulSoup((tmp_path / "html" / name).read_text("utf-8"), "lxml")
        for name in ("index.html", "03_second.html")
    )
    captions = [c.get_text().strip() for c in index.select(".caption-number")]
    assert captions == ["Fig. 1", "Fig. 2"]  # no chapter
    captions = [c.get_text().strip() for c in second.select(".caption-number")]
    assert captions == ["Fig. 3.1", "Fig. 3.2"]
    references = [text.get_text() for text in index.select("a .std-numref")]
    assert references == ["Fig. 2.2", "Fig. 3.2"]
    assert second.h1.find(string=True) == "03 · Second"
    assert second.title.get_text() == "03 · Second — The book"
    assert index.select_one("p > a .doc").get_text() == "03 · Second"
    ids = [section["id"] for section in second.select("section")]
    assert ids == ["second", "a-section"]
