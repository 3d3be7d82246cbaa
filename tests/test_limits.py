"""Limits that a count can hold: of chapters, modules and built pages."""

import gzip
import re
from pathlib import Path

import pytest
from built_book import (
    BOOK,
    ROOT,
    SITE,
    code_cells,
    loads_of_style,
    markdown_of,
    not_ready,
    pictures,
    read,
)
from lxml import html

CHAPTER = {"words": 3200, "folded": 900, "pictures": 12, "numbers": 125}
"""In a chapter's prose, and its figures. What is folded is counted apart."""
LONG_CHAPTERS = {
    # the loop, the loss and the schedule are one argument
    "12_training": {"words": 3500},
    # scores, their noise and judging need the same examples
    "14_evaluation": {"words": 3300},
    # one training is followed from raw text to its judges
    "15_translation": {"words": 3400},
    # 3,600 with its folds: a real model, and one of our own beside counts
    "18_bert": {"words": 2900, "folded": 700},
}
SPINE = {
    "01_sequence_to_sequence": 1300,
    "02_tokens_and_embeddings": 1300,
    "03_positional_encoding": 1300,
    "04_attention": 1300,
    "05_score_functions": 1300,
    "06_masks": 1300,
    "07_multi_head_attention": 1300,
    "08_add_and_norm": 1300,
    "09_feed_forward": 1300,
    "10_transformer": 1300,
    "11_batches": 1300,
    "12_training": 1800,
    "13_generation": 1300,
    "14_evaluation": 1300,
    # one training is followed from raw text to its judges
    "15_translation": 1800,
    "16_soseki": 1300,
    "17_classification": 1500,
    "18_bert": 1500,
    "19_vision_transformer": 1500,
    "20_reading_attention": 1500,
    "23_from_text_to_answers": 1500,
    "21_speed": 1500,
    "22_since_2017": 1500,
}
"""Words of what stands above a chapter's section In depth."""
WHOLE = {
    "07_multi_head_attention": 3300,
    "12_training": 3600,
    "14_evaluation": 3500,
    "15_translation": 3500,
    "18_bert": 3200,
    "20_reading_attention": 3600,
    "21_speed": 3600,
    # the parts of today's models, and how changes are compared
    "22_since_2017": 3300,
    "23_from_text_to_answers": 3600,
}
"""Words of such a chapter, folds included, where they may be over 3000."""
GUESSES = 4
"""Questions that a chapter stops for."""
MODULE = 430
"""Lines of a module of the package."""
LONG_MODULES = {
    "data/grammar/lexicon.py": 550,  # a list of words
    "inference/model.py": 485,  # all that the command line does with a model
    "interpretation/viz.py": 750,  # figures for the book
}
FIRST_PAGE = 1_100_000
"""Bytes of the first page and of all that it loads."""
BEFORE_PAINT = 150_000
"""Zipped bytes that a page needs before it shows something."""
LIVE = 150_000
"""Bytes of the scripts of all figures that answer."""
SEARCHED = 400_000
"""Zipped bytes of what the search page alone loads."""
MINIMAP = 4000
"""Bytes of the minimap below a chapter's title."""

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


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.relative_to(BOOK).as_posix())
        for path in sorted(BOOK.glob("*/[0-9]*.ipynb"))
    ],
)
def test_a_chapter_is_not_too_long(path):
    unfolded, folded = prose(markdown_of(path))
    counts = {
        "words": len(unfolded.split()),
        "folded": len(folded.split()),
        "pictures": sum(map(pictures, code_cells(path))),
        "numbers": len(re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", unfolded)),
    }
    most = CHAPTER | LONG_CHAPTERS.get(path.stem, {})
    assert counts["words"] > 1000  # they are counted
    assert not {name: n for name, n in counts.items() if n > most[name]}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem)
        for path in sorted((BOOK / "en").glob("[0-9][0-9]_*"))[:18]
    ],
)
def test_a_chapter_stops_for_few_guesses_that_take_an_answer(path):
    box = r"^(:{3,})\{guess\}(.*?)^\1 *$"
    markdown = markdown_of(path)
    assert "Guess first" not in markdown
    guesses = [found[2] for found in re.finditer(box, markdown, re.M | re.S)]
    assert len(guesses) <= GUESSES
    for guess in guesses:
        choices = re.search(r"^:choices:(.*)", guess, re.M)
        slider = re.search(r"^:slider: \S+ \S+", guess, re.M)
        assert slider or 2 <= len(choices[1].split("|")) <= 4, guess


@pytest.mark.parametrize("name", SPINE)
def test_what_later_chapters_rest_on_is_short_and_has_pictures(name):
    path = BOOK / "en" / f"{name}.ipynb"
    markdown, found, _ = markdown_of(path).partition("\n## In depth\n")
    assert found, "the chapter has no section In depth"
    assert re.search(
        r"You can (go on to \[chapter \d\d\]\(\S+\)|stop) here", markdown
    )
    whole = sum(len(part.split()) for part in prose(markdown_of(path)))
    assert whole <= WHOLE.get(name, 3000)
    unfolded, _ = prose(markdown)
    count = len(unfolded.split())
    named = re.sub(r"[Cc]hapters? \d\d|\{[a-z]+\}`[^`]*`", "", unfolded)
    numbers = re.findall(r"(?<![\w.])\d(?:[.,]?\d)+", named)  # but digits
    seen = sum(map(pictures, code_cells(path)[: code_above(path)]))
    seen += len(re.findall(r"\{(?:live|time-machine|head-viewer)\}", markdown))
    assert count <= SPINE[name]
    assert len(numbers) <= 1.5 * count / 100
    assert seen >= count // 200


@pytest.mark.parametrize("name", SPINE)
def test_a_decimal_has_its_zero(name):
    path = BOOK / "en" / f"{name}.ipynb"
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


def test_no_module_is_too_long():
    package = ROOT / "transformer_course"
    lines = {
        path.relative_to(package).as_posix(): len(path.open("rb").readlines())
        for path in package.rglob("*.py")
    }
    assert LONG_MODULES.keys() <= lines.keys()
    assert not {
        name: count
        for name, count in lines.items()
        if count > LONG_MODULES.get(name, MODULE)
    }


def test_the_scripts_of_the_live_figures_are_light():
    scripts = [*(BOOK / "_static/live").glob("*.js")]
    assert len(scripts) > 10
    assert sum(script.stat().st_size for script in scripts) <= LIVE


# --- built pages -------------------------------------------------------------


@pytest.fixture
def site() -> Path:
    """The built pages."""
    if reason := not_ready():
        pytest.skip(reason)
    return SITE


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
    """The page, its style sheets, and scripts in front that do not wait."""
    zipped = {}
    for page in site.glob("*.html"):
        head = html.parse(page).getroot().head
        files = files_of(
            page,
            head.xpath("link[@rel='stylesheet']/@href")
            + head.xpath("script[not(@defer) and not(@async)]/@src"),
        )
        for file in {page, *files} - zipped.keys():
            zipped[file] = len(gzip.compress(file.read_bytes()))
        assert len(files) > 3
        size = sum(zipped[file] for file in {page, *files})
        assert size <= BEFORE_PAINT, page.name


def test_what_is_searched_is_light_and_asked_for_by_its_page_alone(site):
    asking = {
        page.name
        for page in site.rglob("*.html")
        if "search_sections.js" in page.read_text(encoding="utf-8")
    }
    assert asking == {"search.html"}
    script = (site / "search_sections.js").read_bytes()
    assert len(gzip.compress(script)) <= SEARCHED


def test_a_minimap_is_light(site):
    for page in site.glob("[0-9][0-9]_*.html"):
        minimap, *_ = (
            html.parse(page).getroot().find_class("transformer-minimap")
        )
        assert len(html.tostring(minimap)) < MINIMAP, page.name
