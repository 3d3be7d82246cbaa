"""The search: what it searches, and what it finds, without a browser."""

import json
from pathlib import Path

import course_search
import lxml.html
import pytest
import yaml
from built_book import BOOK, ROOT, built_site, in_node

QUERIES = yaml.safe_load(
    (ROOT / "tests/queries.yml").read_text(encoding="utf-8")
)
TERM = {"en": "part", "also": {"en": ["piece"]}, "where": "01_all#part"}


def index(*pages: str) -> dict:
    """What the script holds of pages of a small site."""
    folder = Path(__file__).with_name("small_search")
    articles = (
        (path.name, lxml.html.fromstring(path.read_text("utf-8")))
        for path in (folder / f"{page}.html" for page in pages)
    )
    return course_search.index_of(articles, [TERM])


# --- what is searched --------------------------------------------------------


def test_a_section_is_an_entry_of_its_own_words():
    whole, part = index("01_all")["sections"]
    text = "First. The root √d_k. Last."
    assert whole == [0, "all", "01 · All", text, "", ""]
    assert part[:5] == [0, "part", "A part", "Second. More Third.", "a_name"]


def test_a_term_is_an_entry_and_names_the_section_that_it_leads_to():
    searched = index("01_all", "glossary")
    sections = searched["sections"]
    assert sections[1][-1].split() == ["part", "piece"]
    assert sections[-1][1:3] == ["term-part", "part"]
    assert sections[-1][3].startswith("One of two.")
    assert searched["pages"][0] == ["01_all.html", "01 · All", 1.0]
    assert searched["pages"][1][:2] == ["glossary.html", "Glossary"]
    assert searched["pages"][1][2] < 1  # chapters count more


# --- the built book ----------------------------------------------------------


@pytest.fixture(scope="module")
def site() -> Path:
    """The built pages."""
    return built_site()


def test_what_is_searched_is_each_section_and_each_term_once(site):
    text = (site / course_search.INDEX).read_text(encoding="utf-8")
    searched = json.loads(text.partition("=")[2].rpartition(";")[0])
    pages = [address for address, *_ in searched["pages"]]
    trees = {name: lxml.html.parse(site / name) for name in pages}
    ids = {name: {*tree.xpath("//@id")} for name, tree in trees.items()}
    found = [
        (pages[page], anchor) for page, anchor, *_ in searched["sections"]
    ]
    assert len(found) == len(set(found))
    assert all(anchor in ids[page] for page, anchor in found)
    there = {
        (name, anchor)
        for name, tree in trees.items()
        if name[:2].isdigit()
        for anchor in tree.xpath("//article//section/@id")
    }
    assert there and there <= set(found)

    terms = yaml.safe_load((BOOK / "glossary.yml").read_text(encoding="utf-8"))
    titles = {
        title
        for _, anchor, title, *_ in searched["sections"]
        if anchor.startswith("term-")
    }
    assert titles == {term["en"] for term in terms}


SPELLINGS = [
    ("layer norm", "layernorm", "LayerNorm", "layer-norm"),
    ("warm-up", "warmup", "warm up"),
]
NOTHING = ("xyzzyx", "the", "")


@pytest.fixture(scope="module")
def found(site) -> dict[str, list[str]]:
    """The pages that queries find, in their order."""
    queries = [*QUERIES["known"], *QUERIES["new"], *NOTHING]
    return find(site, queries + [way for ways in SPELLINGS for way in ways])


def find(site: Path, queries: list[str]) -> dict[str, list[str]]:
    """The pages that the script of a site finds, in their order."""
    static, script = site / "_static", site / course_search.INDEX
    scripts = [static / "language_data.js", script]
    scripts += [static / "minisearch.js", static / "search_rank.js"]
    ranked = in_node("rank", scripts, queries)
    return dict(zip(queries, ranked, strict=True))


def missed(found: dict[str, list[str]], asked: dict) -> dict[str, list[str]]:
    """The queries without a right page among the first three, and these."""
    return {
        query: found[query][:3]
        for query, right in asked.items()
        if not any(page.startswith(tuple(right)) for page in found[query][:3])
    }


@pytest.mark.parametrize(("part", "least"), [("known", 38), ("new", 8)])
def test_the_right_chapter_is_among_the_first_three(found, part, least):
    wrong = missed(found, QUERIES[part])
    assert len(QUERIES[part]) - len(wrong) >= least, wrong


def test_japanese_is_found_without_spaces():
    """Of the chapters that are translated."""
    site = ROOT / "_build/ja/_build/html"
    if not (site.parents[1] / ".built").exists():
        pytest.skip("the Japanese edition is not built: make book EDITION=ja")
    text = (ROOT / "tests/queries_ja.yml").read_text("utf-8")
    there = tuple(path.stem for path in (BOOK / "ja").glob("[0-9]*.md"))
    asked = {
        query: right
        for query, right in yaml.safe_load(text).items()
        if any(page.startswith(tuple(right)) for page in there)
    }
    wrong = missed(find(site, [*asked]), asked)
    assert len(wrong) <= len(asked) / 20, wrong


def test_a_name_is_found_however_it_is_written(found):
    for ways in SPELLINGS:
        assert len({found[way][0] for way in ways}) == 1, ways


def test_nothing_is_found_of_what_nobody_wrote(found):
    assert not any(found[query] for query in NOTHING)
