"""The glossary: the file of terms, its order, and the page made from it."""

import re
import sys
from itertools import chain

import pytest
import yaml
from built_book import BOOK, assert_leads_somewhere, build_project
from lxml import html

sys.path.insert(0, str(BOOK / "_ext"))
from course_glossary import gojuon_order, index_page, reading, row, terms_page

TERMS = yaml.safe_load((BOOK / "glossary.yml").read_text(encoding="utf-8"))
FIELDS = {"en", "ja", "reading", "also", "symbol", "definition", "where"}


# --- the file of terms -------------------------------------------------------


def names(term: dict, language: str) -> list[str]:
    """A term's words in a language."""
    return [term[language], *term.get("also", {}).get(language, [])]


def test_terms_are_whole_sorted_and_lead_to_their_sections():
    words = [re.sub("[^a-z0-9]", "", term["en"].casefold()) for term in TERMS]
    assert len(words) > 150
    assert words == sorted(words)
    for term in TERMS:
        assert FIELDS >= {*term} >= {"en", "ja", "definition", "where"}
        assert {*term["definition"]} == {"en", "ja"}
        assert re.fullmatch("[ぁ-ゖァ-ヺー]+", reading(term)), term["en"]
        assert_leads_somewhere(term["where"])


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_word_belongs_to_one_term(language):
    words = [
        word.casefold() for term in TERMS for word in {*names(term, language)}
    ]
    assert len(words) == len({*words})


def test_every_word_of_the_notation_page_has_an_entry():
    text = (BOOK / "en" / "notation.md").read_text(encoding="utf-8")
    defined = re.findall(r"^([^\n:]+)\n: ", text, re.M)
    known = {*chain.from_iterable(names(term, "en") for term in TERMS)}
    assert defined
    for words in defined:
        assert set(words.split(", ")) <= known


# --- the page ----------------------------------------------------------------


def test_japanese_is_sorted_by_the_table_of_kana():
    for words in [
        "カーネル かいが",  # ー counts as the vowel before it
        "データ てんい トークン",
        "はは ばば ぱぱ ひ",  # voiced after plain, as the second criterion
        "はっと はつど",  # small as large
        "ヴァ うし",
    ]:
        expected = words.split()
        mixed = expected[::-1]
        assert sorted(mixed, key=gojuon_order) == expected


def test_every_term_stands_under_one_letter_and_one_row():
    for text, mark in [(terms_page(TERMS), "##"), (index_page(TERMS), "###")]:
        found = re.findall(rf"^{mark} (.+)$", text, re.M)
        assert found == sorted({*found})
        for term in TERMS:
            assert term["en"] in text and term["ja"] in text
    assert {*map(row, TERMS)} == {*found}


WORDS = """# Words

A {term}`mask` is told of in {chapter}`06_masks#the-future`, in
{chapter}`06_masks` and in {chapter}`glossary`. Wrong are
{chapter}`06_masks#the-past` and {chapter}`masks`.

```{toctree}
glossary
06_masks
```
"""
FILE = """
- en: attention
  ja: 注意機構
  reading: ちゅういきこう
  symbol: $A$
  definition: {en: A look., ja: 見ること。}
  where: 06_masks
- en: mask
  ja: マスク
  also: {en: [masking], ja: [覆い]}
  definition: {en: A mask., ja: 覆うもの。}
  where: 06_masks#the-future
"""


def test_the_page_shows_what_the_file_says(tmp_path):
    source = tmp_path / "book"
    source.mkdir()
    (tmp_path / "glossary.yml").write_text(FILE, encoding="utf-8")
    page = (BOOK / "en" / "glossary.md").read_text(encoding="utf-8")
    (source / "glossary.md").write_text(page, encoding="utf-8")
    (source / "index.md").write_text(WORDS, encoding="utf-8")
    (source / "06_masks.md").write_text("# Masks\n\n## The future\n")
    settings = {
        "extensions": ["myst_parser", "course_glossary"],
        "myst_enable_extensions": ["attrs_block", "dollarmath"],
        "nitpicky": True,
    }
    warnings = build_project(source, tmp_path / "html", settings)
    assert "06_masks#the-past" in warnings
    assert "reference target not found: masks" in warnings
    assert warnings.count("WARNING") == 2

    first = html.parse(tmp_path / "html" / "index.html")
    (paragraph, *_) = first.xpath("//section/p")
    said = " ".join(paragraph.text_content().split())
    assert "in chapter 06, The future, in chapter 06 and in Glossary." in said
    links = paragraph.xpath(".//a/@href")
    assert links[:2] == ["glossary.html#term-mask", "06_masks.html#the-future"]

    page = html.parse(tmp_path / "html" / "glossary.html")
    text = " ".join(page.xpath("string(//body)").split())
    assert "A look. Symbol: \\(A\\). → chapter 06 注意機構（ちゅう" in text
    assert "Also: masking. → chapter 06, The future" in text
    assert {"term-attention", "term-mask"} <= {*page.xpath("//@id")}
    assert page.xpath("//ul/li//a/@href").count("#term-mask") == 1
