"""The Japanese edition: its texts keep the rules, its sources are English."""

import ast
import json
import re
from xml.etree import ElementTree

import nbformat
import pytest
import yaml
from built_book import BOOK, ROOT, build_project, built_page, read
from docutils.nodes import make_id
from lxml import html

from course_exercises.language import Translation, digest_of
from tools.lectures.chapter import sections_of
from tools.translate import __main__ as translate
from tools.translate import pieces, tree
from tools.translate.rules import broken
from tools.translate.strings import replace_strings, strings

PAGES = pieces.pages()
TO_DO = re.compile(r"missing|stale|gone from")
"""What the edition shows in English until somebody translates it."""
ENGLISH = """Eleven of 45, {cite:p}`a2017`, `code`, $x_1$: 11 million.

:::{guess} Which?
:choices: one | two
:answer: 1

[This](a.ipynb#one).
:::"""
JAPANESE = """45のうち11、{cite:p}`a2017`、`code`、$x_1$：1100万。

:::{guess} どれですか。
:choices: 一 | 二
:answer: 1

[これ](a.ipynb#one)です。
:::"""


@pytest.mark.parametrize("page", PAGES)
def test_a_translation_keeps_the_rules(page):
    found = [*translate.faults(page)]
    assert not [fault for fault in found if not TO_DO.search(fault)]
    if found:
        pytest.skip(f"{page}: {'; '.join(found)}")


@pytest.mark.parametrize(
    ("here", "wrong", "rule"),
    [
        ("45", "46", "numbers"),
        ("1100万", "110万", "numbers"),
        ("a2017", "a2018", "roles"),
        ("`code`", "`コード`", "code spans"),
        ("x_1", "x_2", "formulas"),
        ("#one", "#two", "links"),
        (" | 二", "", "directives"),
        (":answer: 1", ":answer: 2", "directives"),
        ("45の", "## 45の", "headings"),
        ("どれですか", "あなたはどれですか", "avoided"),
    ],
)
def test_a_broken_rule_is_named(here, wrong, rule):
    assert not broken(ENGLISH, JAPANESE, "")
    [said] = broken(ENGLISH, JAPANESE.replace(here, wrong, 1), "")
    assert rule in said


def test_an_exception_has_a_reason():
    text = JAPANESE.replace("45", "46")
    assert not broken(ENGLISH, text, "free numbers: counted anew")
    assert broken(ENGLISH, text, "free numbers:")
    assert broken(ENGLISH, text, "free links: counted anew")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A folder of translations of its own."""
    monkeypatch.setattr(pieces, "JAPANESE", tmp_path)
    return tmp_path


def test_what_is_stale_is_english_with_a_note(texts):
    english = pieces.pieces_of("04_attention")
    path = texts / "04_attention.md"
    mark = digest_of(english["soft"])
    fresh = f"<!-- soft {mark} -->\n\n平均です。\n"
    path.write_text(fresh, "utf-8")
    assert tree.Edition("04_attention").text("soft") == "平均です。"
    path.write_text(fresh.replace(mark, "0" * 8), "utf-8")
    shown = tree.Edition("04_attention").text("soft")
    assert tree.NOTE in shown and english["soft"] in shown
    said = translate.skeleton("04_attention", beside=False)
    assert f"<!-- soft 00000000 stale: now {mark}\n{english['soft']}" in said
    assert "\n\n平均です。\n" in said
    path.write_text(said.replace("00000000 stale: now ", ""), "utf-8")
    assert tree.Edition("04_attention").text("soft") == "平均です。"


def without_words(cell: dict) -> dict:
    """A code cell without what readers read of it."""
    text = json.dumps(cell | {"metadata": cell["metadata"].get("tags")})
    text = re.sub(
        r'"\*From `([^`]+)`:\*', r'"`\1` \\u3088\\u308a\\uff1a', text
    )
    text = re.sub(r' (?:textLength|lengthAdjust)=\\"[^"]*\\"', "", text)
    return json.loads(re.sub(r"(<text\b[^>]*>)[^<]*", r"\1", text))


def test_a_translation_goes_where_its_english_has_gone():
    """As in the plan, whose pieces are numbered; and none is lost."""

    def numbered(*texts):
        return {f"more.{n}": text for n, text in enumerate(texts)}

    old = {
        key: Translation(digest_of(text), "", text)
        for key, text in numbered("one", "two", "three").items()
    }
    for texts, wanted in (
        (["new", "one", "two", "three"], {}),
        (["two", "three"], {"more.0.before": "one"}),
        (["two", "one changed"], {"more.0.before": "one", "more.2": "three"}),
    ):
        english = numbered(*texts)
        found = translate.moved(old, english)
        wanted |= {
            k: t for k, t in english.items() if t in ("one", "two", "three")
        }
        assert {key: one.text for key, one in found.items()} == wanted
    alike = old["more.0"], old["more.0"]._replace(text="in other words")
    same = dict(zip("ab", alike, strict=True))
    assert translate.moved(same, {"a": "one", "b": "one"}) == same


def test_code_outputs_and_headings_are_those_of_the_english_notebook():
    english = read(pieces.source_of("04_attention")).cells
    edition = nbformat.v4.reads(tree.Edition("04_attention").source())
    for here, there in zip(edition.cells, english, strict=True):
        if there.cell_type == "code":
            assert without_words(here) == without_words(there)
        found = [h[0] for h in pieces.headings_of(here.source)]
        assert found == [h[0] for h in pieces.headings_of(there.source)]


def test_a_table_that_a_cell_writes_is_translated_and_a_source_is_not():
    cells = json.loads(tree.Edition("16_soseki").source())["cells"]
    written = [
        "".join(output["data"][pieces.MARKDOWN])
        for cell in cells
        for output in cell.get("outputs", [])
        if pieces.MARKDOWN in output.get("data", {})
    ]
    assert any(text.startswith("| 回数 |") for text in written)
    english = pieces.pieces_of("12_training")
    assert "show-rate" not in english and "show-rate.output" not in english


def test_a_drawn_formula_stays_where_it_was():
    drawn = """<g id="axes_1"><!-- $d_k$, wide -->
<g transform="translate(9 8)"><text>
<tspan x="0" y="1" style="font-style: italic; fill: red">d</tspan>
<tspan x="20" y="1" style="fill: red">e</tspan></text></g></g>"""
    labels = {"$d_k$, wide": "$d_k$、広い"}
    made = tree.translate_drawing(drawn, labels)
    assert 'translate(9 8)"><text x="10.0"' in made
    assert 'style="text-anchor: middle; fill: red"' in made
    text = "".join(ElementTree.fromstring(made).itertext())
    assert text.replace("\u200b", "").strip() == "dk、広い"
    key = tree.translate_drawing(drawn.replace("axes_1", "legend_1"), labels)
    assert '<text x="0" style="text-anchor: start' in key


def test_a_drawing_is_as_wide_as_its_words(monkeypatch):
    from course_figures import ends_of

    drawing = ElementTree.fromstring(
        """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 20">
<text style="font-size: 10px; text-anchor: end" x="30" y="9"
transform="rotate(-0 30 9)">日本語の名前</text></svg>"""
    )
    for language, left in (("ja", -32.4), ("en", 0)):
        monkeypatch.setattr("course_edition.language", language)
        assert ends_of(drawing) == (pytest.approx(left), 100)


def test_a_lecture_reads_a_japanese_chapter_as_the_english_one(tmp_path):
    path = tmp_path / "04_attention.ipynb"
    path.write_text(tree.Edition(path.stem).source(), "utf-8")
    japanese = sections_of(path)
    found, expected = (
        [(one.slug, one.parent, one.all("math")) for one in each.values()]
        for each in (japanese, sections_of(pieces.source_of(path.stem)))
    )
    assert found == expected
    assert japanese["three-tokens-by-hand"].title == "トークン三つで手計算"


def test_the_japanese_plan_asks_in_japanese_and_names_the_same():
    plan = yaml.safe_load(tree.Edition(pieces.PLAN).source())
    english = yaml.safe_load(pieces.source_of(pieces.PLAN).read_text("utf-8"))
    here, there = (
        [topic for unit in each["units"] for topic in unit["core"]]
        for each in (plan, english)
    )
    for one, other in zip(here, there, strict=True):
        assert one["section"] == other["section"]
        assert one["shows"] == other["shows"]
        for line, same in zip(
            one.get("formula", []), other.get("formula", []), strict=True
        ):
            assert line[0] == same[0]
    assert all(re.search("[ぁ-ん]", one.get("asks", "ん")) for one in here)


def test_words_of_files_are_there():
    for name, words in strings()["files"].items():
        place = "" if name.startswith(("_", "en/")) else "_ext"
        text = (BOOK / place / name).read_text("utf-8")
        assert replace_strings(text, words, name) != text


def test_words_of_extensions_are_there():
    from course_minimap import parts_of

    paths = [*(BOOK / "_ext").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    said = {
        node.value
        for path in [*paths, ROOT / "experiments/index.py"]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant)
    }
    places = (BOOK / "_ext/course_places.yml").read_text("utf-8")
    said |= {*yaml.safe_load(places).values()}
    picture = ElementTree.parse(pieces.picture_of("index")).getroot()
    said |= {part.name for part in parts_of(picture)}
    assert strings()["extensions"].keys() <= said


def test_a_renamed_section_keeps_its_address(tmp_path, monkeypatch):
    monkeypatch.setattr("course_edition.language", "en")  # again, afterwards
    text = "# One\n\n~~~{renamed} 一つ目の $x$ と `y`\n~~~\n\nText.\n"
    extensions = "myst_parser course_edition"
    pages = {"index": text}
    assert not build_project(tmp_path, extensions, pages, language="ja")
    [section] = built_page(tmp_path).xpath("//section[@id='one']")
    title = section.xpath("string(h1)")
    assert title.startswith("一つ目の") and "One" not in title


@pytest.mark.parametrize("page", ["index", "04_attention"])
def test_a_built_page_is_japanese_with_the_addresses_of_the_english(page):
    path = ROOT / "_build/ja/_build/html" / f"{page}.html"
    if not path.exists():
        pytest.skip("the Japanese edition is not built: make book EDITION=ja")
    tree = html.parse(path).getroot()
    assert tree.get("lang") == "ja"
    assert re.search("[ぁ-ん一-鿿]", tree.findtext("head/title"))
    ids = tree.xpath("//article//section/@id")
    english = "\n\n".join(pieces.pieces_of(page).values())
    slugs = {make_id(h[2]) for h in pieces.headings_of(english)}
    assert slugs <= {*ids} and len(ids) <= len(slugs) + 1  # exercises
    left = ("untranslated", "Show the", "Figure ", "Chapter 0", "Toggle ")
    for said in (*left, "Link to this", "Copyright", "renamed"):
        assert said not in html.tostring(tree, encoding="unicode")
    for script in tree.xpath("//script[contains(@src, '/live/')]/@src"):
        text = (path.parent / script.partition("?")[0]).read_text("utf-8")
        assert "Loading the model" not in text


def test_a_japanese_term_is_no_part_of_a_longer_word():
    from course_glossary import Finder

    terms = yaml.safe_load((BOOK / "glossary.yml").read_text("utf-8"))
    text = "層正規化と自己注意機構、BERTは注意機構。"
    found = [use.term["en"] for use in Finder(terms, "ja").find(text)]
    expected = ["layer normalisation", "self-attention", "BERT", "attention"]
    assert found == expected
