"""The glossary: its order, and the page made from the file of terms."""

import re
import shutil
from pathlib import Path

import lxml.html
import yaml
from built_book import BOOK, build_project, built_page
from course_glossary import (
    entry,
    gojuon_order,
    index_page,
    read_terms,
    reading,
    terms_page,
)

TERMS = yaml.safe_load((BOOK / "glossary.yml").read_text(encoding="utf-8"))


def test_terms_are_sorted_and_can_be_read_in_kana():
    words = [re.sub("[^a-z0-9]", "", term["en"].casefold()) for term in TERMS]
    assert words == sorted(words)
    for term in TERMS:
        assert re.fullmatch("[ぁ-ゖァ-ヺー]+", reading(term)), term["en"]


def test_japanese_is_sorted_by_the_table_of_kana():
    for words in [
        "カーネル かいが",  # ー counts as the vowel before it
        "データ てんい トークン",
        "はは ばば ぱぱ ひ",  # voiced after plain, as the second criterion
        "はっと はつど",  # small as large
        "ヴァ うし",
    ]:
        mixed = words.split()[::-1]
        assert sorted(mixed, key=gojuon_order) == words.split()


def test_in_japanese_terms_stand_in_the_order_of_the_kana(monkeypatch):
    monkeypatch.setattr("course_edition.language", "ja")
    page = terms_page(TERMS)
    assert page.startswith("## あ\n") and "\n## わ\n" in page
    attention = next(term for term in TERMS if term["en"] == "attention")
    said = attention["definition"]
    names = "注意機構（ちゅういきこう）\nattention\n"
    assert entry(attention).startswith(f"{names}  {said['ja']}")
    assert said["en"] in entry(attention)
    link = "- attention {term}`注意機構（ちゅういきこう） <attention>`"
    assert link in index_page(TERMS)


def test_stale_japanese_is_english_again(tmp_path):
    path = tmp_path / "glossary.yml"
    [term] = [t for t in TERMS if t["en"] == "variance"]
    for english, shown in (
        (term["definition"]["en"], term["definition"]["ja"]),
        ("Something else.", "Something else."),
    ):
        stale = term | {"definition": term["definition"] | {"en": english}}
        path.write_text(yaml.safe_dump([stale]), "utf-8")
        read_terms.cache_clear()
        assert read_terms(path)[0]["definition"]["ja"] == shown


SMALL = Path(__file__).with_name("small_glossary")
"""A book of two pages, and its terms."""


def test_the_page_shows_what_the_file_says(tmp_path):
    shutil.copytree(SMALL, tmp_path, dirs_exist_ok=True)
    pages = {"glossary": (BOOK / "en/glossary.md").read_text("utf-8")}
    warnings = build_project(
        tmp_path,
        "myst_parser course_glossary",
        pages,
        myst_enable_extensions=["attrs_block", "dollarmath"],
        nitpicky=True,
    )
    assert "06_masks#the-past" in warnings
    assert "reference target not found: masks" in warnings
    assert warnings.count("WARNING") == 2

    first = built_page(tmp_path)
    (paragraph, *_) = first.xpath("//section/p")
    said = " ".join(paragraph.text_content().split())
    assert "in chapter 06, The future, in chapter 06 and in Glossary." in said
    links = paragraph.xpath(".//a/@href")
    assert links[:2] == ["glossary.html#term-mask", "06_masks.html#the-future"]

    assert not first.xpath("//template")
    chapter = built_page(tmp_path, "06_masks")
    linked = chapter.xpath("//a[*[contains(@class, 'term')]]")
    assert [link.text_content() for link in linked] == ["masks", "look"]
    assert linked[1].getparent().tag == "strong"
    hidden = chapter.xpath("//template/div")
    meanings = [lxml.html.tostring(div, encoding="unicode") for div in hidden]
    mask = "<b>mask</b> A <code>mask</code>."
    assert mask in meanings[0] and "<b>attention</b> A look." in meanings[1]
    japanese = "<p><strong>注意機構（ちゅういきこう）</strong>：見"
    assert japanese in meanings[1]

    page = built_page(tmp_path, "glossary")
    text = " ".join(page.xpath("string(//body)").split())
    assert (
        "A look. Also: look. Symbol: \\(A\\). → chapter 06 注意機構（ちゅう"
        in text
    )
    assert "Also: masking. → chapter 06, The future" in text
    assert {"term-attention", "term-mask"} <= {*page.xpath("//@id")}
    assert page.xpath("//ul/li//a/@href").count("#term-mask") == 1
