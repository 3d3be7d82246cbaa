"""What a page loads: what it uses, and little before it shows something."""

import gzip
import importlib
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from built_book import BOOK, build_project, loads_of_style
from PIL import Image

sys.path.insert(0, str(BOOK / "_ext"))
course_assets = importlib.import_module("course_assets")
course_icons = importlib.import_module("course_icons")

FIRST_PAGE = 1_100_000
BEFORE_PAINT = 150_000
EXTENSIONS = [
    "myst_parser",
    "sphinx_book_theme",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_togglebutton",
    "course_assets",
    "course_icons",
    "course_images",
    "course_search",
]
PAGES = {
    "index": "# First\n\nWords.\n\n```{toctree}\nformula\ncode\nfold\n```\n",
    "formula": "# Formula\n\nThe sum $a + b$.\n\n![A square](square.png)\n",
    "code": "# Code\n\n```python\nprint(1)\n```\n",
    "fold": "# Fold\n\n:::{dropdown} Title\nHidden.\n:::\n",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A site of four pages, built with the book's theme and extensions."""
    folder = tmp_path_factory.mktemp("small")
    source = folder / "source"
    source.mkdir()
    (source / "conf.py").touch()
    for name, text in PAGES.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    shutil.copy(BOOK.parent / "docs/book.png", source / "square.png")
    settings = {
        "extensions": EXTENSIONS,
        "html_theme": "sphinx_book_theme",
        "templates_path": [str(BOOK / "_templates")],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
        "mathjax_path": "mathjax/startup.js",
        "suppress_warnings": ["config.cache"],
    }
    assert build_project(source, folder / "html", settings) == ""
    return folder / "html"


def soup_of(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def assets(path: Path) -> set[str]:
    """Names of the style sheets and scripts that a page refers to."""
    soup = soup_of(path)
    found = [link["href"] for link in soup.select("link[rel=stylesheet]")]
    found += [script["src"] for script in soup.select("script[src]")]
    return {Path(urlsplit(address).path).name for address in found}


@pytest.mark.parametrize(
    ("part", "pages"),
    [
        ("startup.js", {"formula"}),
        ("copybutton.js", {"code"}),
        ("clipboard.min.js", {"code"}),
        ("copybutton.css", {"code"}),
        ("sphinx-design.min.css", {"fold"}),
        ("togglebutton.js", set()),
        ("design-tabs.js", set()),
        ("bootstrap.css", set(PAGES)),
        ("bootstrap.js", set(PAGES)),
        ("pydata-sphinx-theme.css", set(PAGES)),
        ("course_icons.css", set(PAGES)),
        ("all.min.js", set()),
        ("all.min.css", set()),
    ],
)
def test_a_page_loads_what_it_uses(small, part, pages):
    with_it = {
        name for name in PAGES if part in assets(small / f"{name}.html")
    }
    assert with_it == pages


def test_scripts_wait(small):
    scripts = [
        script
        for name in [*PAGES, "search"]
        for script in soup_of(small / f"{name}.html").select("script[src]")
    ]
    at_once = {
        Path(urlsplit(script["src"]).path).name
        for script in scripts
        if not script.has_attr("defer")
    }
    assert at_once == {"documentation_options.js"}


def test_the_search_page_has_its_scripts_once_and_in_order(small):
    found = [
        Path(urlsplit(script["src"]).path).name
        for script in soup_of(small / "search.html").select("script[src]")
    ]
    needed = ["doctools.js", "language_data.js", "search_sections.js"]
    needed += ["search_rank.js", "search_page.js"]
    assert [name for name in found if name in needed] == needed
    assert "searchindex.js" not in found


def test_an_image_has_the_size_of_its_file(small):
    image = soup_of(small / "formula.html").select_one("article img")
    with Image.open(BOOK.parent / "docs/book.png") as picture:
        assert (int(image["width"]), int(image["height"])) == picture.size


# --- icons -------------------------------------------------------------------


def icon_names(html: str) -> set[str]:
    sizes = {"fa-solid", "fa-regular", "fa-brands", "fa-lg"}
    return {
        name
        for name in course_assets.classes_of(html)
        if name.startswith("fa-") and name not in sizes
    }


def assert_icons_are_drawn(folder: Path) -> None:
    """Each icon of each page has its rule, and no file is left of the rest."""
    sheet = (folder / "_static/course_icons.css").read_text(encoding="utf-8")
    named = set()
    for page in folder.rglob("*.html"):
        named |= icon_names(page.read_text(encoding="utf-8"))
    assert {"fa-moon", "fa-sun", "fa-bars"} <= named
    assert not {name for name in named if f".{name}:before" not in sheet}
    assert all(url.startswith("data:") for url in loads_of_style(sheet))
    left = list((folder / "_static/vendor/fontawesome").glob("*/*/*"))
    assert not left


def test_every_icon_of_a_page_is_drawn(small):
    assert_icons_are_drawn(small)


def test_the_font_has_the_icons_and_no_others():
    source = course_icons.find_font_awesome()
    with_two = course_icons.icon_sheet(source, {"fas", "fa-moon"}, {0xF0F3})
    everything = (source / "css/all.min.css").read_text(encoding="utf-8")
    assert ".fa-moon:before" in with_two
    assert ".fa-sun:before" not in with_two
    assert ".fa-sun:before" in everything
    assert with_two.count("@font-face") == 1
    assert len(with_two) < 4000
    assert "SIL OFL 1.1" in with_two


def test_a_theme_without_its_icons_is_told(monkeypatch):
    monkeypatch.setattr(course_icons, "FONT_AWESOME", "nowhere")
    with pytest.raises(course_icons.ExtensionError, match="make env"):
        course_icons.find_font_awesome()


# --- the built book ----------------------------------------------------------


def loaded(path: Path, addresses: list[str]) -> dict[Path, int]:
    """Sizes of the files that addresses in a page or style sheet name."""
    files = {}
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme or not parts.path:
            continue
        file = Path(path.parent, unquote(parts.path)).resolve()
        files[file] = file.stat().st_size
        if file.suffix == ".css":
            css = file.read_text(encoding="utf-8")
            files |= loaded(file, loads_of_style(css))
    return files


def before_paint(path: Path) -> set[Path]:
    """The page, its style sheets, and scripts in front that do not wait."""
    text = path.read_text(encoding="utf-8")
    soup = BeautifulSoup(text.partition("<body")[0], "html.parser")
    found = [link["href"] for link in soup.select("link[rel=stylesheet]")]
    found += [
        script["src"]
        for script in soup.select("script[src]")
        if not script.has_attr("defer") and not script.has_attr("async")
    ]
    return {path, *loaded(path, found)}


def test_the_first_page_is_light(site):
    path = site.folder / "index.html"
    files = loaded(path, site.pages[path].loads)
    assert path.stat().st_size + sum(files.values()) <= FIRST_PAGE


def test_little_is_needed_before_a_page_shows_something(site):
    heavy = {}
    for path in site.pages:
        files = before_paint(path)
        zipped = sum(len(gzip.compress(file.read_bytes())) for file in files)
        if zipped > BEFORE_PAINT:
            heavy[site.name(path)] = zipped
    assert not heavy


def test_mathjax_is_loaded_where_a_formula_is(site):
    for path, page in site.pages.items():
        text = path.read_text(encoding="utf-8")
        has_formula = bool(re.search(r'class="[^"]*\bmath\b', text))
        loads_it = any("mathjax/startup.js" in name for name in page.loads)
        assert has_formula == loads_it, site.name(path)


def test_every_icon_of_the_book_is_drawn(site):
    assert_icons_are_drawn(site.folder)


def test_every_image_of_the_book_says_its_size(site):
    for path in site.pages:
        text = path.read_text(encoding="utf-8")
        for image in re.findall(
            r'<img\b[^>]*\bsrc="[^"]*_images/[^>]*>', text
        ):
            assert re.search(r'\bwidth="\d', image), site.name(path)
            assert re.search(r'\bheight="\d', image), site.name(path)
