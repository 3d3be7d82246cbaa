"""Chapters' numbers in titles and figures: ``book/_ext/course_numbers.py``."""

from built_book import build_project, built_page

FIGURE = """
```{figure} ../p.png
:name: %s-%s
:alt: nothing

A caption.
```
"""


def page(title: str) -> str:
    """A page of two figures and a section."""
    figures = (FIGURE % (title.lower(), letter) for letter in "ab")
    return "".join([f"# {title}\n", *figures, "\n## A section\n"])


def test_figures_are_numbered_in_each_chapter_and_referred_to(tmp_path):
    (tmp_path / "p.png").write_bytes(b"")
    more = (
        "\n{numref}`first-b` {numref}`second-b` {doc}`03_second`\n"
        "\n```{toctree}\n02_first\n03_second\n```\n"
    )
    pages = {"02_first": page("First"), "03_second": page("Second")}
    pages["index"] = page("Book") + more
    title = {"project": "", "html_title": "The book"}
    assert not build_project(
        tmp_path, "myst_parser course_numbers", pages, **title
    )
    index, second = (built_page(tmp_path, n) for n in ("index", "03_second"))
    for built, numbers in ((index, ["1", "2"]), (second, ["3.1", "3.2"])):
        captions = built.find_class("caption-number")
        assert [c.text for c in captions] == [f"Fig. {n} " for n in numbers]
    references = index.xpath("//a/*[@class='std std-numref']")
    assert [r.text for r in references] == ["Fig. 2.2", "Fig. 3.2"]
    assert index.xpath("string(//p/a/*[@class='doc'])") == "03 · Second"
    assert second.xpath("//h1/text()")[0] == "03 · Second"
    assert second.head.findtext("title") == "03 · Second — The book"
    assert second.xpath("//section/@id") == ["second", "a-section"]
