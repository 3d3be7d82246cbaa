"""Limits that a count can hold: of chapters and built pages."""

import ast
import gzip
import re
from pathlib import Path

import pytest
from built_book import (
    BOOK,
    ROOT,
    built_site,
    code_cells,
    loads_of_style,
    markdown_of,
    pictures,
    read,
)
from lxml import html

CHAPTERS = sorted((BOOK / "en").glob("[0-9][0-9]_*.ipynb"))
ABOVE, WHOLE = 1500, 3700
"""Words of a chapter's prose: of its core, without folds and *Write it*; and
of all of it, a hundred of them for what the reader's own model asks."""
LONGER = {
    **{"12_training": 4030, "14_evaluation": 3910, "15_translation": 3760},
    **{"20_reading_attention": 4500},
}
"""Words of all, where the practice of today stands beside the paper's, or
directions beside heads."""
SPINE = {
    **{"01_sequence_to_sequence": 924, "02_tokens_and_embeddings": 864},
    **{"03_positional_encoding": 845, "04_attention": 1279},
    **{"05_score_functions": 640, "06_masks": 975},
    **{"07_multi_head_attention": 978, "08_add_and_norm": 898},
    **{"09_feed_forward": 700, "10_transformer": 894},
    **{"11_batches": 850, "12_training": 1650},
    **{"15_translation": 1800, "22_since_2017": 1680},
}
"""Words of a core, where they are not `ABOVE`: fewer on the way to the
whole model, and more where one training is followed from text to judges."""
PICTURES, GUESSES = 14, 5
"""Pictures of a chapter, and questions that it stops for."""
PROSE = 1 / 3
"""Share of a Python file's characters that its strings, but not its
docstrings, may have: text belongs in a text file."""
MOSTLY_STRINGS = {
    "transformer_course/cli/options.py",
}
"""The files that hold more: what a browser is asked, in JavaScript, and the
help of options that commands share."""
FIRST_PAGE = 1_100_000
"""Bytes of the first page and of all that it loads."""
BEFORE_PAINT = 150_000
"""Zipped bytes that a page needs before it shows something, fonts apart."""
BEGINNING = 100_000
"""Bytes of a page that a browser has read by then."""
PAGE = 150_000
"""Zipped bytes of a page with its figures."""
FONTS = 120_000
"""Bytes of all fonts."""
LIVE = 218_100
"""Bytes of the scripts of all figures that answer; 58,000 of them, zipped
18,000, are the film of attention, which also opens the boxes of the walk, and
22,000 the four figures in the cores of 01, 05, 09 and 10. A page loads those
of its own figures."""
SEARCHED = 460_000
"""Zipped bytes of what the search page alone loads."""

# --- chapters ----------------------------------------------------------------


def prose(markdown: str) -> tuple[str, str]:
    """What stands unfolded, and what is folded, without code and markup."""
    blocks = r"^(:{3,})\{(?:dropdown|admonition)\}.*?^\1 *$"
    folded = [
        match[0]
        for match in re.finditer(blocks, markdown, re.M | re.S)
        if re.search(r"\{dropdown\}|^:class:.*\bdropdown\b", match[0], re.M)
    ]
    for block in folded:
        markdown = markdown.replace(block, "")
    return words(markdown), words("\n".join(folded))


def words(markdown: str) -> str:
    """The text of some Markdown: a formula is one word, an address none."""
    for pattern, stands in [
        # code, and blocks without prose; a live figure has its caption
        (r"^(`{3,})\{live\}(?:(?!^\1).)*?^:caption: ([^\n]*).*?^\1 *$", r"\2"),
        (r"^(`{3,})\{write\}\n(.*?)^\1 *$", r"\2"),
        (r"^(`{3,})[a-z{].*?^\1 *$", ""),
        (r"<!--.*?-->", ""),
        (r"\$\$.*?\$\$", "x"),
        (r"\$[^$]+\$", "x"),
        (r"^:[a-z-]+:[^\n]*$", ""),  # a block's options
        (r"^:{3,}(\{[a-z-]+\})?", ""),
        (r"\]\([^)]*\)", "]"),
        (r"</?[a-z][^<>]*>", ""),
    ]:
        markdown = re.sub(pattern, stands, markdown, flags=re.M | re.S)
    return " ".join(w for w in markdown.split() if re.search(r"\w", w))


each_chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=lambda path: path.stem
)


@each_chapter
def test_a_chapter_is_not_too_long(path):
    whole = sum(len(part.split()) for part in prose(markdown_of(path)))
    assert 1000 < whole <= LONGER.get(path.stem, WHOLE)
    assert sum(map(pictures, code_cells(path))) <= PICTURES
    assert markdown_of(path).count(":{guess}") <= GUESSES


@each_chapter
def test_what_later_chapters_rest_on_is_short_and_has_pictures(path):
    above, found, _ = markdown_of(path).partition("\n## In depth\n")
    assert found, "the chapter has no section In depth"
    assert re.search(
        r"You can (go on to \[chapter \d\d\]\(\S+\)|stop) here"
        r"|Then you can go on to \[chapter \d\d\]\(",
        above,
    )
    core = above.partition("\n## Write it\n")[0]
    count = len(prose(core)[0].split())
    seen = sum(map(pictures, code_cells(path)[: code_above(path)]))
    seen += len(re.findall(r"\{(?:live|time-machine|head-viewer)\}", above))
    assert count <= SPINE.get(path.stem, ABOVE)
    assert seen >= count // 200


@each_chapter
def test_a_decimal_has_its_zero(path):
    printed = [
        "".join(output.get("text", ""))
        for cell in code_cells(path)
        for output in cell.outputs
    ]
    for text in (*prose(markdown_of(path)), *printed):
        assert not re.findall(r"(?<![\w.\]*])\.\d+", text)


def code_above(path: Path) -> int:
    """How many code cells stand above the section In depth."""
    cells = read(path).cells
    depth = next(i for i, c in enumerate(cells) if "## In depth" in c.source)
    return sum(cell.cell_type == "code" for cell in cells[:depth])


def share_of_strings(path: Path) -> float:
    """The share of a file's characters that stand in strings.

    A string alone on its lines is a docstring, and counts as none.
    """
    source = path.read_text("utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    alone = {node.value for node in nodes if isinstance(node, ast.Expr)}
    strings = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and node not in alone
    ]
    letters = sum(len(text) for text in strings if isinstance(text, str))
    return letters / max(1, len(source))


def test_no_python_file_is_mostly_prose():
    files = ROOT.glob("[a-z]*/**/*.py")
    found = {path for path in files if share_of_strings(path) > PROSE}
    assert found == {ROOT / name for name in MOSTLY_STRINGS}


def test_the_scripts_of_the_live_figures_are_light():
    scripts = [*(BOOK / "_static/live").glob("*.js")]
    assert len(scripts) > 10
    assert sum(script.stat().st_size for script in scripts) <= LIVE


def test_no_style_asks_of_each_element_what_is_in_a_page():
    """A subject that is any element, behind :has(), costs a second a page."""
    sheets = [*(BOOK / "_static").rglob("*.css")]
    assert len(sheets) > 5
    for sheet in sheets:
        css = re.sub(r"/\*.*?\*/", "", sheet.read_text("utf-8"), flags=re.S)
        for selector in re.findall(r"([^{};]*:has\([^{};]*)\{", css):
            assert not re.search(r"[\s>+~]:(not|has)\(|^\s*:has", selector)


# --- built pages -------------------------------------------------------------


@pytest.fixture
def site() -> Path:
    """The built pages."""
    return built_site()


def files_of(page: Path, addresses: list[str]) -> set[Path]:
    """Files that addresses in a page or style sheet name, and what they do."""
    files = set()
    for address in addresses:
        if re.match(r"[a-z]+:|#|$", address):
            continue
        file = (page.parent / address.partition("?")[0]).resolve()
        files.add(file)
        if file.suffix == ".css":
            css = file.read_text(encoding="utf-8")
            files |= files_of(file, loads_of_style(css))
    return files


def test_the_first_page_is_light(site):
    page = site / "index.html"
    loads = html.parse(page).xpath("//@src | //link/@href")
    loaded = {f for f in files_of(page, loads) if f.suffix != ".html"}
    assert {".js", ".css", ".svg"} <= {file.suffix for file in loaded}
    size = sum(file.stat().st_size for file in {page, *loaded})
    assert size <= FIRST_PAGE


def test_little_is_needed_before_a_page_shows_something(site):
    """Its beginning, style sheets, and scripts in front that do not wait."""
    zipped, fonts = {}, set()
    for page in site.glob("*.html"):
        head = html.parse(page).getroot().head
        files = files_of(
            page,
            head.xpath("link[@rel='stylesheet']/@href")
            + head.xpath("script[not(@defer) and not(@async)]/@src"),
        )
        fonts |= {file for file in files if file.suffix == ".woff2"}
        for file in files - fonts - zipped.keys():
            zipped[file] = len(gzip.compress(file.read_bytes()))
        assert len(files) > 3
        text = page.read_bytes()
        begun = len(gzip.compress(text[:BEGINNING]))
        needed = sum(zipped[file] for file in files - fonts)
        assert begun + needed <= BEFORE_PAINT, page.name
        assert len(gzip.compress(text)) <= PAGE, page.name
    assert 0 < sum(file.stat().st_size for file in fonts) <= FONTS


def test_what_is_searched_is_light_and_asked_for_by_its_page_alone(site):
    asking = {
        page.name
        for page in site.rglob("*.html")
        if "search_sections.js" in page.read_text(encoding="utf-8")
    }
    assert asking == {"search.html"}
    script = (site / "search_sections.js").read_bytes()
    assert len(gzip.compress(script)) <= SEARCHED
