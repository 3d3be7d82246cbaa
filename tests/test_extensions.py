"""The book's own extensions, in small books with and without addresses.

``REPO=`` and ``SITE_URL=`` say where the repository and the site are; what
needs them is on the pages only where they are said. What the extensions do
for each page of the whole book is checked on the built pages.
"""

import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import course_guess
import course_live
import course_minimap
import course_site
import nbformat
import pytest
from built_book import BOOK, build_project, built_page, is_foreign
from docutils import nodes
from lxml import html
from nbformat.v4 import new_markdown_cell, new_notebook
from PIL import Image

REPO = "https://github.com/nobody/invented"
SITE = "https://course.example/books/transformer"
CHAPTER = "book/en/06_masks.ipynb"
EXTENSIONS = """myst_nb sphinx_togglebutton sphinx_copybutton sphinx_design
sphinx_book_theme course_chapters course_minimap course_opening course_pages
course_site course_search course_mathjax"""
"""In the order of ``_config.yml``."""
PROSE = "A sentence which is long enough to say what this page is about. "
PAGES = {
    "index": """# The book

````{only} repository
```bash
git clone %REPO%
cd %NAME%
```
````

````{only} site
[The class](%SITE_URL%/class/index.html)
````

```{toctree}
part/one
06_masks
99_later
```
""",
    "part/one": f"# One\n\n$a$ in a formula describes no page.\n\n{PROSE * 9}",
    "99_later": "# Later\n",
}


class Built:
    """A small book: three pages and a chapter."""

    def __init__(self, folder: Path, has_addresses: bool):
        self.has_addresses = has_addresses
        self.folder = folder / "html"
        self.page = partial(built_page, folder)
        source = folder / "source"
        shutil.copytree(BOOK / "en/figures", source / "figures")
        openings = source / "figures/openings"
        shutil.copy(openings / "13.svg", openings / "06.svg")
        masks = new_notebook(cells=[new_markdown_cell("# Masks")])
        nbformat.write(masks, source / "06_masks.ipynb")
        self.warnings = build_project(
            folder,
            EXTENSIONS,
            PAGES,
            html_theme="sphinx_book_theme",
            html_title="The book",
            html_css_files=["icons.css", "course.css"],
            course_glossary=str(BOOK / "glossary.yml"),
            html_static_path=[str(BOOK / "_static")],
            templates_path=[str(BOOK / "_templates")],
            language="en",
            nb_execution_mode="off",
        )


@pytest.fixture(
    scope="module", params=[False, True], ids=["nowhere", "somewhere"]
)
def built(request, tmp_path_factory) -> Built:
    """A small book, with addresses or without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPO", REPO if request.param else "")
        patch.setenv("SITE_URL", SITE if request.param else "")
        return Built(tmp_path_factory.mktemp("book"), request.param)


# --- addresses ---------------------------------------------------------------


def test_buttons_lead_to_the_repository_or_are_not_there(built):
    """A notebook can be launched as well."""
    of_pages = {REPO, f"{REPO}/edit/main/book/en/99_later.md"}
    of_notebooks = {
        REPO,
        f"{REPO}/edit/main/{CHAPTER}",
        f"https://mybinder.org/v2/gh/nobody/invented/main?urlpath=lab/tree/"
        f"{CHAPTER}",
        f"https://colab.research.google.com/github/nobody/invented/blob/main/"
        f"{CHAPTER}",
    }
    for name, expected in [("99_later", of_pages), ("06_masks", of_notebooks)]:
        found = {*filter(is_foreign, built.page(name).xpath("//a/@href"))}
        reports = {link for link in found if "/issues/new?" in link}
        assert found - reports == (expected if built.has_addresses else set())
        assert len(reports) == built.has_addresses


def test_what_needs_an_address_is_said_with_it_or_not_at_all(built):
    (article,) = built.page("index").xpath("//article")
    text = article.text_content()
    shell = f"git clone {REPO}\ncd invented\n"
    assert (shell in text) == ("git clone" in text) == built.has_addresses
    assert "REPO%" not in text and "SITE_URL%" not in text
    links = article.xpath(".//a/@href")
    assert (f"{SITE}/class/index.html" in links) == built.has_addresses


def test_a_page_of_a_site_says_what_it_is_and_where(built):
    head = built.page("part/one").head
    said = {
        tag.get("name") or tag.get("property"): tag.get("content")
        for tag in head.iter("meta")
    }
    assert head.findtext("title") == "One — The book"
    canonical = head.xpath("link[@rel='canonical']/@href")
    if not built.has_addresses:
        assert not canonical and "og:title" not in said
        return
    assert said["og:title"] == "One"
    assert said["description"] == said["og:description"]
    assert PROSE.strip() in said["description"]
    assert canonical == [said["og:url"]] == [f"{SITE}/part/one.html"]
    assert said["og:image"] == f"{SITE}/_static/preview.png"
    with Image.open(built.folder / "_static/preview.png") as picture:
        assert picture.size == (1200, 630)


def test_addresses_of_the_404_count_from_that_of_the_site(built):
    path = built.folder / "404.html"
    assert path.is_file() == built.has_addresses
    if built.has_addresses:
        page = built.page("404")
        loaded = page.xpath("//link[@rel='stylesheet']/@href | //script/@src")
        folder = urlsplit(SITE).path
        assert loaded
        for address in loaded:
            assert address.startswith(f"{folder}/")
            name = urlsplit(address).path.removeprefix(f"{folder}/")
            assert (built.folder / name).is_file()


def test_a_wrong_address_is_one_line(monkeypatch):
    monkeypatch.setenv("REPO", "github.com/nobody")
    with pytest.raises(Exception, match="REPO is 'github.com/nobody'; it sh"):
        course_site.read_address("REPO")
    monkeypatch.setenv("REPO", f"{REPO}.git")  # that of a clone
    assert course_site.read_address("REPO") == REPO
    monkeypatch.setenv("SITE_URL", "example.org")
    with pytest.raises(Exception, match="should be where the first page"):
        course_site.read_address("SITE_URL")


@pytest.mark.parametrize(
    ("address", "launched"),
    [
        ("https://gitlab.com/nobody/invented", {"binderhub_url"}),
        ("https://gitlab.school.invalid/a/b", set()),
        ("https://git.school.invalid/a/b", None),
    ],
)
def test_a_server_has_the_buttons_that_it_can_serve(address, launched):
    options = course_site.repository_options(address)
    assert bool(options) == (launched is not None)
    buttons = {*options.get("launch_buttons", {})} - {"notebook_interface"}
    assert buttons == (launched or set())


# --- the minimap below a chapter's title -------------------------------------

PICTURE = ElementTree.parse(BOOK / "en" / course_minimap.PICTURE).getroot()


def test_a_minimap_lights_what_the_picture_links_to_its_chapter():
    for path in (BOOK / "en").glob("[0-9][0-9]_*.ipynb"):
        number = path.name[:2]
        about = any(
            part.get("href", "").startswith(path.stem)
            or number in part.get("data-also", "").split()
            for part in PICTURE.iter()
        )
        drawn = course_minimap.drawing(PICTURE, number)
        assert bool(drawn.findall("g[@class='lit']")) == about
        assert ("the whole" in drawn.get("aria-label")) == (not about)


def test_from_chapter_to_chapter_the_minimap_grows_to_the_whole():
    numbers = {page[:2]: page for page in course_minimap.PLACES}
    outlined = {}
    for number, page in numbers.items():
        box = course_minimap.minimap(PICTURE, page, "index.html", runs=False)
        groups = ElementTree.fromstring(box).findall("a/svg/g")
        shades = enumerate(group.get("class") for group in groups)
        outlined[number] = {place for place, s in shades if s == "later"}
    growing = [outlined[f"{number:02}"] for number in range(2, 14)]
    assert all(after <= before for before, after in pairwise(growing))
    assert len(growing[0]) > 15 and not growing[-1]
    assert not any(outlined[n] for n in numbers if n == "00" or n > "12")


def test_a_chapter_without_a_place_in_the_picture_is_a_warning(built):
    (warning,) = built.warnings.strip().splitlines()
    assert "99_later" in warning and "course_places.yml" in warning
    (minimap,) = built.page("06_masks").find_class("transformer-minimap")
    opening = minimap.getprevious()
    assert opening.get("class") == "opening"
    assert opening.getprevious().tag == "h1"
    assert minimap.find("a").get("href") == "index.html#transformer"
    assert minimap.find(".//p").text_content() == (
        f"Chapter 06 · {course_minimap.PLACES['06_masks']}"
    )


# --- directives --------------------------------------------------------------

ASKED = ":::{guess} Why?\n%s\n\nBecause.\n:::"
FAULTS = {
    "```{live} plan\n```": "no figure is named 'plan': choose one of transl",
    "```{live} plane\n:sampling:\n```": "options caption, controls, and :sam",
    "```{live} translator\n:sentence: 9\n```": "sentences 1 to 6, and :sente",
    ASKED % ":answer: 1": "neither is given: write ':choices:",
    ASKED % ":choices: a | b\n:slider: 0 9": "both are given: write",
    ASKED % ":choices: a\n:answer: 1": "and 'a' is given",
    ASKED % ":choices: a | | b\n:answer: 1": "two to four choices",
    ASKED % ":choices: a | b\n:answer: 0": "with the answer '0'",
    ASKED % ":slider: 0 all %\n:answer: 4": "'0 all %' is given",
    ASKED % ":slider: 0 100 %\n:answer: 101": "a number between",
    ASKED % ":choices: a | b\n:answer: 1\n:hides: 2": "only 0 blocks stand",
}
"""What a directive cannot do, and some words of what it says."""


def test_a_fault_in_a_directive_is_one_line_that_says_what_to_do(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(course_live, "MODELS", ())  # no weights are written
    page = "\n\n".join(["# Faults", *FAULTS])
    extensions = "myst_parser course_guess course_live"
    build = build_project(tmp_path, extensions, {"index": page})
    for line, said in zip(
        build.strip().splitlines(), FAULTS.values(), strict=True
    ):
        assert said in line


def cell(*classes, prints=True):
    """A cell of a page, as MyST-NB makes it."""
    box = nodes.container(classes=["cell", *classes])
    box += [nodes.container(classes=["cell_output"])] * prints
    return box


def said(text):
    return nodes.paragraph("", text)


@pytest.mark.parametrize(
    ("hides", "below", "waits"),
    [
        (None, [cell(), said("8"), said("On.")], ["output", "8"]),
        (None, [cell("tag_hide-input"), said("8")], ["cell", "8"]),
        (None, [cell(prints=False), cell()], ["output"]),
        (None, [cell(), nodes.bullet_list()], ["output"]),
        (None, [cell(), nodes.section("", said("8"))], ["output"]),
        (None, [cell(prints=False), said("8")], []),
        (None, [said("Here:"), cell()], []),
        (2, [said("Here:"), cell(), said("8")], ["Here:", "output"]),
        (0, [cell(), said("8")], []),
    ],
)  # fmt: skip
def test_what_gives_a_guess_away_waits_for_the_answer(hides, below, waits):
    guess = nodes.container(classes=["guess"], hides=hides)
    page = nodes.section("", cell(), said("Before."), guess, *below)
    course_guess.mark_what_waits(None, page)
    names = {"cell": "cell", "cell_output": "output"}
    found = [
        names.get(node["classes"][0], node.astext())
        for node in page.findall(nodes.Element)
        if "after-guess" in node["classes"]
    ]
    assert found == waits


@pytest.mark.parametrize("edition", ["en", "ja"])
@pytest.mark.parametrize(
    "name", sorted(course_live.FIGURES.keys() - {"free-translator"})
)
def test_every_figure_has_a_still_for_a_page_without_scripts(name, edition):
    """With nothing to press; a reader's own sentence has none."""
    path = BOOK / f"_ext/live/stills/{edition}/{name}.html"
    still = path.read_text("utf-8")
    drawn = html.fromstring(still)
    assert not drawn.xpath("//button | //input | //select | //script | //@id")
    assert drawn.xpath("//*[local-name() = 'svg'] | //table | //span")
