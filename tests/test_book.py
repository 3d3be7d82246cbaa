"""The book: its notebooks, its pages, and what a reader's browser gets."""

import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import nbformat
import pytest
import yaml
from built_book import (
    BOOK,
    EDITIONS,
    ROOT,
    code_cells,
    ends_with_semicolon,
    is_foreign,
    loads_of_style,
    markdown_of,
    markdown_pages,
    notebooks,
    pictures,
    pictures_without_alt,
    read,
)

import transformer_course
from tools.refresh_outputs import corpora_of, tidy
from transformer_course.cli.commands import COMMANDS
from transformer_course.data.manifest import find_corpus


def named(paths):
    """Parameters that are called what they are."""
    return [
        pytest.param(path, id=path.relative_to(BOOK).as_posix())
        for path in paths
    ]


notebook = pytest.mark.parametrize("path", named(notebooks()))
page_source = pytest.mark.parametrize(
    "path", named(notebooks() + markdown_pages())
)


# --- notebooks ---------------------------------------------------------------


@notebook
def test_every_code_cell_was_run_in_order(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run `make outputs`"


@notebook
def test_no_code_cell_is_empty(path):
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    assert all(cell.source.strip() for cell in cells)


@notebook
def test_an_error_is_shown_only_where_it_is_meant(path):
    for cell in code_cells(path):
        if "raises-exception" not in cell.metadata.get("tags", []):
            kinds = [output.output_type for output in cell.outputs]
            assert "error" not in kinds, cell.source


@notebook
def test_stored_as_make_outputs_stores_it(path):
    """No timestamps, no machine's metadata, stable ids."""
    tidied = read(path)
    tidy(tidied)
    written = nbformat.writes(tidied).rstrip("\n")
    stored = path.read_text(encoding="utf-8").rstrip("\n")
    assert stored == written, f"run `make outputs NB={path}`"


@notebook
def test_outputs_name_no_folder_of_a_machine(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            text = str(output.get("text", "")) + "".join(
                str(content)
                for kind, content in output.get("data", {}).items()
                if kind.startswith("text/")
            )
            found = re.findall(
                r"(?:/home/|/root/|/Users/|/tmp/|C:\\)\S*|\S*site-packages\S*",
                text,
            )
            assert not found, cell.source


@notebook
def test_code_is_at_most_79_columns_wide(path):
    for cell in code_cells(path):
        for line in cell.source.splitlines():
            assert len(line) <= 79, line


@notebook
def test_no_code_cell_ends_with_a_semicolon(path):
    """Outputs must not depend on it; ``_ = ...`` says what is meant."""
    for cell in code_cells(path):
        assert not ends_with_semicolon(cell.source), cell.source


@pytest.mark.parametrize(
    ("source", "ends"),
    [
        ("plot(x);", True),
        ("plot(x); \n", True),
        ("plot(x);  # a comment", True),
        ("plot(x);\n# one\n\n# two", True),
        ("if x:\n    plot(x);", True),
        ("_ = plot(x)", False),
        ("a = 1; b = 2", False),
        ("x = 1  # a; comment;", False),
        ("'a;'", False),
        ("text = '''a;\n'''", False),
        ("print(", False),
    ],
)
def test_the_search_for_semicolons_finds_what_it_should(source, ends):
    assert ends_with_semicolon(source) is ends


@notebook
def test_a_corpus_is_named_as_it_can_be_fetched(path):
    """By a notebook or by a code cell, in the metadata."""
    stored = read(path)
    for part in (stored, *stored.cells):
        assert all(find_corpus(name) for name in corpora_of(part))
        if part.get("cell_type", "code") != "code":
            assert not corpora_of(part), part.source


@notebook
def test_no_cell_installs_or_calls_a_shell(path):
    for cell in code_cells(path):
        assert not re.search(r"^\s*[!%]", cell.source, re.M), cell.source


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


@page_source
def test_images_in_the_prose_have_alt_text(path):
    assert not pictures_without_alt(markdown_of(path))


@pytest.mark.parametrize(
    ("markdown", "lacking"),
    [
        ("![](a.png)", 1),
        ("![a mask](a.png)", 0),
        ('<img src="a.png">', 1),
        ('<img alt="a mask" src="a.png">', 0),
        ("```{figure} a.png\n:name: x\n\ntext\n```", 1),
        (":::{figure} a.png\n:alt: a mask\n\ntext\n:::", 0),
    ],
)
def test_the_search_for_alt_texts_finds_what_it_should(markdown, lacking):
    assert len(pictures_without_alt(markdown)) == lacking


# --- the table of contents ---------------------------------------------------


def toc_files() -> list[str]:
    """Every page that the table of contents names."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [c for part in toc["parts"] for c in part["chapters"]]
    sections = [s for c in chapters for s in c.get("sections", [])]
    return [toc["root"]] + [c["file"] for c in chapters + sections]


@pytest.mark.parametrize("edition", EDITIONS)
def test_contents_and_files_agree(edition):
    folder = BOOK / edition
    sources = {
        path.relative_to(folder).with_suffix("").as_posix()
        for path in notebooks() + markdown_pages()
        if path.is_relative_to(folder)
    }
    assert sources == set(toc_files())


def test_every_module_has_a_page_in_the_reference():
    documented = {
        name
        for path in (BOOK / "en" / "api").glob("*.md")
        for name in re.findall(
            r"automodule:: (\S+)", path.read_text(encoding="utf-8")
        )
    }
    modules = {
        module.name
        for module in pkgutil.walk_packages(
            transformer_course.__path__, "transformer_course."
        )
        if not module.name.rpartition(".")[2].startswith("_")
        and not re.search(r"\.catalogue\.\w+\.", module.name)  # an exercise
    }
    assert modules - documented == set()


# --- the picture of the whole Transformer on the first page ------------------

SVG = "{http://www.w3.org/2000/svg}"
TARGET = 24  # what a finger needs at least, in pixels
PHONE = 358  # how wide the picture is on a screen of 390


def texts(link: ElementTree.Element, number: bool) -> str:
    """The words in a part, or its chapter's number."""
    return " ".join(
        text.text
        for text in link.iter(f"{SVG}text")
        if (text.get("class") == "number") is number
    )


def boxes(link: ElementTree.Element) -> list[tuple[float, float, float]]:
    """Top, width and height of what can be hit of a part."""
    return [
        tuple(float(box.get(key)) for key in ("y", "width", "height"))
        for box in link.iter(f"{SVG}rect")
        if box.get("class") != "frame"
    ]


@pytest.fixture(params=EDITIONS)
def picture(request) -> ElementTree.Element:
    path = BOOK / request.param / "figures" / "transformer.svg"
    return ElementTree.parse(path).getroot()


def links_of(element: ElementTree.Element) -> list[ElementTree.Element]:
    """The parts, in the order in which the keyboard reaches them."""
    return list(element.iter(f"{SVG}a"))


def test_every_part_of_the_picture_is_a_link(picture):
    """What flows is plain text; all that is drawn as a part leads on."""
    linked = {part for link in links_of(picture) for part in link.iter()}
    for shape in ("rect", "circle"):
        assert set(picture.iter(f"{SVG}{shape}")) <= linked
    words = set(picture.iter(f"{SVG}text"))
    assert {text.get("class") for text in words - linked} == {"data"}


def test_each_part_says_its_name_and_its_chapter(picture):
    for link in links_of(picture):
        number = texts(link, number=True)
        name = link.get("aria-label", "").replace(",", "")
        assert name.startswith(texts(link, number=False)), name
        assert number in name, name
        page = urlsplit(link.get("href")).path.removesuffix(".html")
        assert page in toc_files()
        assert page.startswith(f"{number}_")


def test_the_chapters_of_the_parts_are_in_the_picture(picture):
    """But 05, which is about what goes on inside all attention."""
    linked = {texts(link, number=True) for link in links_of(picture)}
    parts = {name[:2] for name in toc_files() if name < "11"} - {"01", "05"}
    assert parts <= linked


def test_the_keyboard_goes_through_the_picture_as_the_data_do(picture):
    """Encoder, decoder, output; each from the bottom up."""
    assert not [part for part in picture.iter() if part.get("tabindex")]
    groups = picture.findall(f"{SVG}g")
    assert [len(links_of(group)) > 1 for group in groups] == [True] * 3
    assert len(links_of(picture)) == sum(len(links_of(g)) for g in groups)
    for group in groups:
        assert group.get("role") == "group" and group.get("aria-label")
        tops = [
            boxes(link)[0][0]
            for link in links_of(group)
            if not link.findall(f"{SVG}rect[@class='frame']")
        ]
        assert tops == sorted(tops, reverse=True)


def test_a_finger_can_hit_every_part_on_a_phone(picture):
    scale = PHONE / float(picture.get("viewBox").split()[2])
    for link in links_of(picture):
        for _, width, height in boxes(link):
            assert min(width, height) * scale >= TARGET, link.get("aria-label")


def test_the_picture_has_a_title_and_a_description(picture):
    """And is no image: the links in an image are hidden from a reader."""
    assert picture.get("role") == "group"
    for reference, tag in (("labelledby", "title"), ("describedby", "desc")):
        text = picture.find(f"{SVG}{tag}")
        assert text.text.strip()
        assert picture.get(f"aria-{reference}") == text.get("id")


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_first_page_quotes_its_translations_from_the_card(edition):
    japanese = re.compile(r"\| ([\u3000-\u9fff]+) \|")
    card = (ROOT / "models" / "en-ja" / "README.md").read_text("utf-8")
    page = (BOOK / edition / "index.md").read_text(encoding="utf-8")
    quoted, written = map(set, map(japanese.findall, (page, card)))
    assert quoted and quoted <= written


# --- what lecturers are told -------------------------------------------------


def lecturers_page(edition: str) -> str:
    return (BOOK / edition / "lecturers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("edition", EDITIONS)
def test_lecturers_cite_what_the_citation_file_says(edition):
    about = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    page = lecturers_page(edition)
    assert f"title  = {{{about['title']}}}" in page
    assert f"Version {about['version']}." in page
    assert f"year   = {{{about['date-released'][:4]}}}" in page
    assert f"{{{{{about['authors'][0]['name']}}}}}" in page


# --- the built pages ---------------------------------------------------------


def without_code(page: str) -> str:
    """A page's text, but for what is code on it."""
    return re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_every_page_of_the_contents_is_built(site):
    names = {site.name(path) for path in site.pages}
    assert {f"{name}.html" for name in toc_files()} <= names


def test_the_picture_is_on_the_first_page(site):
    edition = site.folder.parents[1].name
    path = BOOK / edition / "figures" / "transformer.svg"
    links = links_of(ElementTree.parse(path).getroot())
    first = site.pages[site.folder / "index.html"]
    assert {link.get("href") for link in links} <= set(first.links)


def test_each_chapter_says_once_where_in_the_model_it_is(site):
    strip = 'class="transformer-strip"'
    for path in site.pages:
        is_chapter = bool(re.match(r"\d\d_", site.name(path)))
        built = path.read_text(encoding="utf-8")
        assert built.count(strip) == is_chapter, site.name(path)


def test_links_inside_the_site_resolve(site):
    ids = {path: page.ids for path, page in site.pages.items()}
    broken = []
    for path, page in site.pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path
            if parts.path:
                target = Path(path.parent, unquote(parts.path)).resolve()
            anchor = unquote(parts.fragment)
            if not target.is_file():
                broken.append(f"{site.name(path)}: no file {link}")
            elif anchor and anchor not in ids.get(target, {anchor}):
                broken.append(f"{site.name(path)}: no anchor {link}")
    assert not broken


def test_no_page_loads_anything_from_another_host(site):
    foreign = [
        f"{site.name(path)}: {address}"
        for path, page in site.pages.items()
        for address in page.loads
        if is_foreign(address)
    ]
    assert not foreign


def test_no_script_in_a_page_names_another_host(site):
    for path, page in site.pages.items():
        for script in page.scripts:
            hosts = re.findall(r"https?://[\w.]+", script)
            assert not hosts, f"{site.name(path)}: {hosts}"


def test_no_style_sheet_loads_anything_from_another_host(site):
    foreign = [
        f"{site.name(path)}: {address}"
        for path in site.folder.rglob("*.css")
        for address in loads_of_style(path.read_text(encoding="utf-8"))
        if is_foreign(address)
    ]
    assert not foreign


def test_what_the_pages_load_is_there(site):
    missing = []
    for path, page in site.pages.items():
        for address in page.loads:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or not parts.path:
                continue
            if not Path(path.parent, unquote(parts.path)).is_file():
                missing.append(f"{site.name(path)}: {address}")
    assert not missing


def test_every_image_has_alt_text(site):
    lacking = {
        site.name(path): page.no_alt
        for path, page in site.pages.items()
        if page.no_alt
    }
    assert not lacking


def test_no_table_is_left_as_signs(site):
    """The line below a table's head, with dashes as the page writes them."""
    rule = re.compile(r"\|\s*:?(-{3,}|—|–-?):?\s*\|")
    left = [
        site.name(path)
        for path in site.pages
        if rule.search(without_code(path.read_text(encoding="utf-8")))
    ]
    assert not left


def test_every_page_says_its_language_and_has_one_title(site):
    edition = site.folder.parents[1].name
    built = {site.folder / f"{name}.html" for name in toc_files()}
    for path in built & set(site.pages):
        page = site.pages[path]
        assert page.language == edition, site.name(path)
        assert page.headings == 1, site.name(path)


# --- what is written about commands ------------------------------------------

PAGES_WITH_COMMANDS = ["README.md", "README.ja.md", "CONTRIBUTING.md"]


def code_of(path: Path) -> str:
    """What stands between backticks in a Markdown file."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.S))


@pytest.mark.parametrize(
    "path",
    [ROOT / name for name in PAGES_WITH_COMMANDS]
    + [BOOK / edition / "setup.md" for edition in EDITIONS],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_commands_that_the_pages_name_exist(path):
    code = code_of(path)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", code, re.M)) <= targets
    commands = {words.split()[0] for words in COMMANDS}
    named = re.findall(
        r"(?:^|[`/]|\| )transformer-course ([a-z]+)", code, re.M
    )
    assert set(named) <= commands


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_code_and_notebooks_are_in_the_project_s_style(command):
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ruff.returncode == 0, f"run `make format`\n{ruff.stdout}"
