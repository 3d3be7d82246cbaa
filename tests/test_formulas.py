"""Formulas: drawn when the book is built, for eyes and for ears."""

import pytest
from built_book import build_project, built_page
from lxml import html

PAGE = r"""# The root of $d_k$

The root ($\sqrt{d_k}$), $a < b$ and $\text{猫}$.

$$\R^{n}$$ (of-n)

\begin{align}x &= 1 \\ y &= 2\end{align}

The space is {eq}`of-n`.
"""


def build(folder, text: str, **settings) -> str:
    """What the build of a page warned of."""
    extensions = "myst_parser course_mathjax course_pages"
    settings |= {"myst_update_mathjax": False}
    return build_project(folder, extensions, {"index": text}, **settings)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> html.HtmlElement:
    """Formulas in a title, in a line and alone."""
    macros = {"mathjax3_config": {"tex": {"macros": {"R": r"\mathbb{R}"}}}}
    folder = tmp_path_factory.mktemp("drawn")
    assert not build(folder, PAGE, **macros)
    return built_page(folder)


def test_each_is_drawn_and_can_be_heard(page):
    formulas = page.xpath("//*[@role='main']//mjx-container")
    heard = [each.xpath("string(.//math)") for each in formulas]
    assert heard == ["dk", "dk", "a<b", "猫", "Rn", "x=1y=2"]
    assert formulas[1].get("data-tex") == r"\sqrt{d_k}"
    assert all(each.xpath("svg[@aria-hidden='true']") for each in formulas)
    display = [each.get("display") for each in formulas]
    assert display == [None] * 4 + ["true"] * 2
    assert not page.xpath("//script[contains(@src, 'math')]")


def test_signs_stand_there_once_and_none_is_missing(page):
    ids = page.xpath("//defs/path/@id")
    used = {name[1:] for name in page.xpath("//use/@href")}
    assert len(ids) == len(used) and {*ids} == used
    assert all(page.xpath("//defs/path/@d"))


def test_what_is_around_a_formula_stays(page):
    kept = page.xpath("//span[@class='kept-together']")
    assert ["".join(each.xpath("text()")) for each in kept] == ["(),", "."]
    assert page.xpath("//a[@href='#equation-of-n']")
    assert page.xpath("//math//*[@lang='ja']/text()") == ["猫"]


@pytest.mark.parametrize(
    ("tex", "reason"),
    [
        (r"\unknown", r"Undefined control sequence \unknown"),
        (r"\frac{a", "Missing close brace"),
    ],
)
def test_a_formula_that_cannot_be_set_is_a_warning(tmp_path, tex, reason):
    warned = build(tmp_path, f"# A title\n\nWrong: ${tex}$.\n")
    assert f"{reason}: {tex}" in warned and "index.md:3" in warned
