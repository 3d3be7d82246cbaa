"""Chapters' numbers in titles and figures: ``book/_ext/course_numbers.py``."""

from built_book import build_project, built_page

FIGURES = """
```{figure} ../p.png
:name: NAME-a
:alt: nothing

One
```

```{figure} ../p.png
:name: NAME-b
:alt: nothing

Two
```

## A section
"""


def test_figures_are_numbered_in_each_chapter_and_referred_to(tmp_path):
    (tmp_path / "p.png").write_bytes(b"")
    pages = {
        "index": "# The book\n\n```{toctree}\n02_first\n03_second\n```\n\n"
        "{numref}`f-b` {numref}`s-b` {doc}`03_second`\n"
        + FIGURES.replace("NAME", "i"),
        "02_first": "# First\n" + FIGURES.replace("NAME", "f"),
        "03_second": "# Second\n" + FIGURES.replace("NAME", "s"),
    }
    extensions = "myst_parser course_numbers"
    title = {"project": "", "html_title": "The book"}
    assert not build_project(tmp_path, extensions, pages, **title)
    index, second = (built_page(tmp_path, n) for n in ("index", "03_second"))
    for page, numbers in ((index, ["1", "2"]), (second, ["3.1", "3.2"])):
        captions = page.find_class("caption-number")
        assert [c.text for c in captions] == [f"Fig. {n} " for n in numbers]
    references = index.xpath("//a/*[@class='std std-numref']")
    assert [r.text for r in references] == ["Fig. 2.2", "Fig. 3.2"]
    assert index.xpath("string(//p/a/*[@class='doc'])") == "03 · Second"
    assert second.xpath("//h1/text()")[0] == "03 · Second"
    assert second.head.findtext("title") == "03 · Second — The book"
    assert second.xpath("//section/@id") == ["second", "a-section"]
