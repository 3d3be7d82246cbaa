"""The glossary and the links to chapters: the file of terms, and the pages."""

import re
import sys

import pytest
import yaml
from built_book import (
    BOOK,
    ROOT,
    Page,
    assert_leads_somewhere,
    build_project,
)

sys.path.insert(0, str(BOOK / "_ext"))

from course_glossary import (
    ROWS,
    GlossaryError,
    english_order,
    gojuon_order,
    grouped,
    load_terms,
)

FILE = BOOK / "glossary.yml"
TERMS = load_terms(FILE)
ONE = pytest.mark.parametrize("term", TERMS, ids=lambda term: term.en)


# --- the file of terms -------------------------------------------------------


def test_there_are_enough_terms_and_they_are_sorted():
    words = [term.en for term in TERMS]
    assert len(words) > 150
    assert words == sorted(words, key=english_order)


@ONE
def test_a_term_leads_to_its_section(term):
    assert_leads_somewhere(term.where)


@ONE
def test_a_definition_is_one_sentence_in_its_language(term):
    english, japanese = term.definition["en"], term.definition["ja"]
    assert re.fullmatch(r"[A-Z].*[^.]\.", english)
    assert japanese.endswith("。")
    assert re.search("[ぁ-ん]", japanese), "no Japanese"
    assert not re.search("[ぁ-鿿ー、。] | [ぁ-鿿ー、。]", japanese), "a space"
    for text in (english, japanese, term.symbol):
        assert text.count("$") % 2 == 0
        assert text.count("`") % 2 == 0


def test_every_word_of_the_notation_page_has_an_entry():
    text = (BOOK / "en" / "notation.md").read_text(encoding="utf-8")
    defined = re.findall(r"^([^\n:]+)\n: ", text, re.M)
    assert len(defined) >= 5
    known = {term.en for term in TERMS}
    known |= {name for term in TERMS for name in term.also["en"]}
    for words in defined:
        assert set(words.split(", ")) <= known


# --- order -------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "あい いえ うえ えき おか",
        "カーネル かいが",  # ー counts as the vowel before it
        "データ てんい トークン",
        "はは ばば ぱぱ ひ",  # voiced after plain, as the second criterion
        "はっと はつど",  # small as large
        "ロジット ろしゅつ わ",
        "ヴァ うし",
    ],
)
def test_japanese_is_sorted_by_the_table_of_kana(words):
    expected = words.split()
    mixed = expected[::-1]
    assert sorted(mixed, key=gojuon_order) == expected


def test_katakana_and_hiragana_are_sorted_alike():
    assert gojuon_order("マスク") == gojuon_order("ますく")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_term_stands_under_one_heading(language):
    groups = grouped(TERMS, language)
    listed = [term for _, members in groups for term in members]
    assert sorted(listed, key=id) == sorted(TERMS, key=id)
    headings = [heading for heading, _ in groups]
    assert headings == sorted(set(headings))
    if language == "ja":
        assert set(headings) <= set(ROWS)


# --- a broken file -----------------------------------------------------------

GOOD = {
    "en": "mask",
    "ja": "マスク",
    "definition": {"en": "A mask.", "ja": "マスク。"},
    "where": "06_masks#the-future",
}


def write(tmp_path, entries):
    path = tmp_path / "glossary.yml"
    path.write_text(
        entries
        if isinstance(entries, str)
        else yaml.safe_dump(entries, allow_unicode=True),
        encoding="utf-8",
    )
    return path


def test_a_word_in_kana_is_its_own_reading(tmp_path):
    (term,) = load_terms(write(tmp_path, [GOOD]))
    assert term.reading == "マスク"
    assert term.also == {"en": [], "ja": []}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ja": "注意"}, r"entry 1 \(mask\).*'reading'.*注意 in kana"),
        ({"reading": "masuku"}, "'reading'.*not 'masuku'"),
        ({"jp": "マスク"}, "unknown field 'jp'"),
        ({"ja": None}, "'ja' should be a text, not None"),
        ({"en": "mask "}, "'en' should be a text, not 'mask '"),
        ({"definition": "A mask."}, "'definition' should hold 'en' and 'ja'"),
        ({"definition": {"en": "A mask."}}, "should hold 'en' and 'ja'"),
        ({"where": "chapter 6"}, "page#section.*not 'chapter 6'"),
        ({"where": ""}, "'where' should be a text"),
        ({"also": ["masking"]}, "'also' should hold lists"),
        ({"also": {"de": ["Maske"]}}, "'also' should hold lists"),
        ({"also": {"en": "masking"}}, "'also: en' should be a list"),
    ],
)
def test_an_error_names_the_entry_and_the_field(tmp_path, change, message):
    with pytest.raises(GlossaryError, match=message) as caught:
        load_terms(write(tmp_path, [GOOD | change]))
    assert "glossary.yml, entry 1" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"ja": "覆い", "reading": "おおい"},
        {"en": "cover", "also": {"en": ["Mask"]}, "ja": "カバー"},
        {"en": "cover"},
    ],
)
def test_no_word_may_stand_for_two_terms(tmp_path, change):
    with pytest.raises(GlossaryError, match="stands for both"):
        load_terms(write(tmp_path, [GOOD, GOOD | change]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- en: [", "cannot be read"),
        ("", "should be a list of terms"),
        ("en: mask", "should be a list of terms"),
        ("- mask", r"entry 1 \(mask\) should have fields"),
    ],
)
def test_an_error_says_what_is_wrong_with_the_file(tmp_path, text, message):
    with pytest.raises(GlossaryError, match=message):
        load_terms(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(GlossaryError, match=r"none\.yml cannot be read"):
        load_terms(tmp_path / "none.yml")


# --- the pages ---------------------------------------------------------------

ORPHAN = "---\norphan: true\n---\n\n"
WORDS = """# Words

A {term}`mask`, by another name {term}`masking`, is told of in
{chapter}`06_masks#the-future`; more in {chapter}`99_later`.

```{course-glossary}
```

```{course-glossary-index}
```
"""


@pytest.fixture
def build(tmp_path):
    """Builds a book of two pages; returns the first and the warnings."""
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
    (source / "06_masks.md").write_text(ORPHAN + "# Masks\n\n## The future\n")

    def run(language="en", **pages):
        for name, text in pages.items():
            (source / f"{name}.md").write_text(text, encoding="utf-8")
        settings = {
            "extensions": ["myst_parser", "course_glossary"],
            "myst_enable_extensions": ["dollarmath"],
            "language": language,
        }
        warnings = build_project(source, tmp_path / language, settings)
        path = tmp_path / language / "index.html"
        return path.read_text(encoding="utf-8"), warnings

    return run


def text_of(html):
    """What a reader sees, in one line."""
    return " ".join(re.sub(r"<[^>]+>", "", html).split())


def test_the_page_shows_what_the_file_says(build, tmp_path):
    html, warnings = build()
    assert not warnings
    text = text_of(html)
    assert "attention 注意機構（ちゅういきこう）" in text
    assert "Also: masking. In Japanese also: 覆い." in text
    assert "→ chapter 06, The future" in text
    assert "→ chapter 99 (to come)" in text
    assert "見ること" not in text  # that is for the Japanese edition
    assert html.count('lang="ja"') >= 4
    page = Page(tmp_path / "en" / "index.html")
    assert {"term-attention", "term-mask"} <= page.ids
    assert page.links.count("06_masks.html#the-future") == 2
    assert page.links.count("#term-mask") >= 3  # both names, and the index


def test_the_japanese_edition_puts_japanese_first(build):
    html, warnings = build(
        "ja",
        index=WORDS.replace("`mask`", "`マスク`")
        .replace("ing`", "`")
        .replace("{term}`mask`", "{term}`覆い`"),
    )
    assert not warnings
    text = text_of(html)
    assert "注意機構（ちゅういきこう） attention" in text
    assert "見ること。" in text
    assert "A look." not in text
    assert "第99章（準備中）" in text
    assert text.index("注意機構") < text.index("マスク mask")


def test_a_chapter_that_appears_is_linked_by_pages_read_before(build):
    build()
    html, warnings = build(**{"99_later": ORPHAN + "# Later\n"})
    assert not warnings
    assert "to come" not in html
    assert html.count('href="99_later.html"') >= 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("06_masks#the-past", "no section 'the-past' in 06_masks"),
        ("masks", "no page 'masks'"),
    ],
)
def test_a_wrong_link_is_a_warning(build, target, message):
    _, warnings = build(index=f"# Words\n\n{{chapter}}`{target}`\n")
    assert message in warnings


def test_the_book_s_pages_use_the_extensions():
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    page = (BOOK / "en" / "glossary.md").read_text(encoding="utf-8")
    for directive in ("course-glossary", "course-glossary-index"):
        assert f"{{{directive}}}" in page
    assert "course_glossary" in config["sphinx"]["config"]["extensions"]
