"""The glossary: the file of terms, its order, and the pages made from it."""

import re
import sys

import pytest
import yaml
from built_book import BOOK, assert_leads_somewhere, build_project
from lxml import html

sys.path.insert(0, str(BOOK / "_ext"))

from course_glossary import (
    GlossaryError,
    english_order,
    gojuon_order,
    grouped,
    load_terms,
)

TERMS = load_terms(BOOK / "glossary.yml")


# --- the file of terms -------------------------------------------------------


def test_terms_are_sorted_and_lead_to_their_sections():
    words = [term.en for term in TERMS]
    assert len(words) > 150
    assert words == sorted(words, key=english_order)
    for term in TERMS:
        assert_leads_somewhere(term.where)


def test_every_word_of_the_notation_page_has_an_entry():
    text = (BOOK / "en" / "notation.md").read_text(encoding="utf-8")
    defined = re.findall(r"^([^\n:]+)\n: ", text, re.M)
    known = {term.en for term in TERMS}
    known |= {name for term in TERMS for name in term.also["en"]}
    assert defined
    for words in defined:
        assert set(words.split(", ")) <= known


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


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_term_stands_under_one_heading(language):
    groups = grouped(TERMS, language)
    listed = [term for _, members in groups for term in members]
    assert sorted(listed, key=id) == sorted(TERMS, key=id)
    headings = [heading for heading, _ in groups]
    assert headings == sorted(set(headings))


GOOD = {
    "en": "mask",
    "ja": "マスク",
    "definition": {"en": "A mask.", "ja": "マスク。"},
    "where": "06_masks#the-future",
}


def write(tmp_path, entries):
    path = tmp_path / "glossary.yml"
    text = yaml.safe_dump(entries, allow_unicode=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("mask", "should be a list of terms"),
        ([GOOD | {"ja": "注意"}], r"entry 1 \(mask\).*'reading'.*in kana"),
        ([GOOD | {"jp": "マスク"}], "unknown field 'jp'"),
        ([GOOD | {"definition": "A."}], "should hold 'en' and 'ja'"),
        ([GOOD | {"where": "chapter 6"}], "page#section.*not 'chapter 6'"),
        ([GOOD, GOOD | {"ja": "カバー"}], "mask"),
    ],
)
def test_an_error_says_what_is_wrong(tmp_path, entries, message):
    with pytest.raises(GlossaryError, match=message):
        load_terms(write(tmp_path, entries))


# --- the pages ---------------------------------------------------------------

WORDS = """# Words

A {term}`mask`, by another name {term}`masking`, is told of in
{chapter}`06_masks#the-future`; more in {chapter}`99_later`. Wrong are
{chapter}`06_masks#the-past` and {chapter}`masks`.

```{course-glossary}
```

```{course-glossary-index}
```
"""


def test_the_page_shows_what_the_file_says(tmp_path):
    source = tmp_path / "book"
    source.mkdir()
    attention = {
        "en": "attention",
        "ja": "注意機構",
        "reading": "ちゅういきこう",
        "symbol": "$A$",
        "definition": {"en": "A look.", "ja": "見ること。"},
        "where": "99_later",
    }
    other = {"also": {"en": ["masking"], "ja": ["覆い"]}}
    write(tmp_path, [attention, GOOD | other])
    (source / "index.md").write_text(WORDS, encoding="utf-8")
    (source / "06_masks.md").write_text(
        "---\norphan: true\n---\n\n# Masks\n\n## The future\n"
    )
    settings = {
        "extensions": ["myst_parser", "course_glossary"],
        "myst_enable_extensions": ["dollarmath"],
    }
    warnings = build_project(source, tmp_path / "html", settings)
    assert "no section 'the-past' in 06_masks" in warnings
    assert "no page 'masks'" in warnings
    assert warnings.count("WARNING") == 2

    page = html.parse(tmp_path / "html" / "index.html")
    text = " ".join(page.xpath("string(//body)").split())
    assert "attention 注意機構（ちゅういきこう）" in text
    assert "Also: masking. In Japanese also: 覆い." in text
    assert "→ chapter 06, The future" in text
    assert "→ chapter 99 (to come)" in text
    assert "見ること" not in text  # that is for the Japanese edition
    assert len(page.xpath("//*[@lang='ja']")) >= 4
    assert {"term-attention", "term-mask"} <= {*page.xpath("//@id")}
    links = page.xpath("//a/@href")
    assert links.count("06_masks.html#the-future") == 2
    assert links.count("#term-mask") >= 3  # both names, and the index
