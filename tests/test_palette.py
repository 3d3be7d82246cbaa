"""Colours follow the page, on paper and in the dark."""

import re

import pytest
from built_book import BOOK
from course_figures import inline

from transformer_course.figures import palette
from transformer_course.figures.palette import DRAWN, HUES, PARTS, ROLES

STYLES = [*BOOK.glob("_static/**/*.css"), *BOOK.glob("en/**/*.md")]
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10.5 20"
xmlns:xlink="http://www.w3.org/1999/xlink" width="10.5pt" height="20pt">
<defs><clipPath id="c"><path d="M 0 1.23456"/></clipPath></defs>
<g id="axes_1" clip-path="url(#c)"><use xlink:href="#c" style="fill: #0072b2"/>
<text style="font-size: 11px; \
font-family: 'Course Sans', 'IPAexGothic'; text-anchor: middle"
transform="rotate(-0 1 2)">a &lt; b</text></g></svg>"""


def test_a_hue_becomes_a_variable_and_a_shade_a_mixture():
    assert palette.variable("#0072b2") == "var(--course-blue)"
    assert palette.variable("#80b8d8") == (  # half of it, half white
        "color-mix(in srgb,var(--course-blue) 50%,var(--course-paper))"
    )
    assert palette.variable("#123456") == "#123456"


@pytest.mark.parametrize("name", sorted({*DRAWN} - {"paper", "line"}))
@pytest.mark.parametrize("share", [1.0, 0.75, 0.4])
def test_every_shade_of_a_hue_is_known(name, share):
    mixed = [255 - share * (255 - p) for p in palette._rgb(DRAWN[name].light)]
    shade = "#" + "".join(f"{round(part):02x}" for part in mixed)
    found = palette.variable(shade)
    assert found == f"var(--course-{name})" or "color-mix" in found


def test_a_page_uses_no_colour_that_the_palette_lacks():
    known = {*HUES, *PARTS, *ROLES}
    for path in STYLES:
        text = path.read_text(encoding="utf-8")
        used = set(re.findall(r"var\(--course-([a-z-]+)", text))
        defined = set(re.findall(r"^  --course-([a-z-]+):", text, re.M))
        letters = {"font", "mono", "japanese", "measure", "small"}
        assert used <= known | defined | letters, path.name


@pytest.mark.parametrize(
    "sheet", [*BOOK.glob("_static/**/*.css")], ids=lambda sheet: sheet.name
)
def test_a_style_sheet_closes_what_it_opens(sheet):
    """A browser passes over all that follows an open brace."""
    css = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.S)
    assert css.count("{") == css.count("}") > 0


def test_a_drawing_in_a_page_keeps_to_itself():
    """Its ids are its own, its letters and colours the page's."""
    drawn = inline(PICTURE, 'the "words"')
    (own,) = re.findall(r'id="([0-9a-f]{6})c"', drawn)
    assert f'clip-path="url(#{own}c)"' in drawn
    assert f'href="#{own}c"' in drawn
    assert 'role="img" aria-label="the &quot;words&quot;"' in drawn
    assert "fill:var(--course-blue)" in drawn
    assert "M 0 1.23" in drawn
    for gone in ("Course Sans", "axes_1", "rotate", "1.2345"):
        assert gone not in drawn
    assert "a &lt; b" in drawn
    other = PICTURE.replace("a &lt; b", "c")
    assert f'id="{own}c"' not in inline(other, "")
