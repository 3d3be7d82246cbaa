"""Glossary page, written as Markdown from ``book/glossary.yml``.

On the page ``glossary`` the line ``{glossary} terms`` stands for Sphinx's
glossaries of all terms, one under each letter, and ``{glossary} index`` for
the Japanese words in the order of the kana.
"""

import re
import unicodedata
from itertools import groupby
from pathlib import Path

import yaml
from sphinx.application import Sphinx

PAGE = "glossary"
ROWS = "あかさたなはまやらわ"
"""Rows of the table of kana, each named by its first."""
SMALL = str.maketrans("ぁぃぅぇぉっゃゅょゎ", "あいうえおつやゆよわ")
VOWELS = {
    "あ": "あかさたなはまやらわ",
    "い": "いきしちにひみり",
    "う": "うくすつぬふむゆる",
    "え": "えけせてねへめれ",
    "お": "おこそとのほもよろを",
}

Term = dict[str, str | dict]


def reading(term: Term) -> str:
    """Japanese word in kana."""
    return term.get("reading", term["ja"].replace("・", ""))


def gojuon_order(word: str) -> tuple[str, str]:
    """Sort key of a word in kana.

    Voiced and small letters are equal to the plain ones at first, and ー to
    the vowel before it.
    """
    hiragana = "".join(
        chr(ord(letter) - 0x60) if "ァ" <= letter <= "ヶ" else letter
        for letter in word
    )
    decomposed = unicodedata.normalize("NFD", hiragana)
    plain = re.sub("[\u3099\u309a]", "", decomposed).translate(SMALL)
    for vowel, row in VOWELS.items():
        plain = re.sub(rf"(?<=[{row}])ー", vowel, plain)
    return plain, hiragana


def row(term: Term) -> str:
    """Row of the table of kana in which a Japanese word begins."""
    first = gojuon_order(reading(term))[0][0]
    return max(each for each in ROWS if each <= first)


def with_reading(term: Term) -> str:
    """Japanese word, with its reading if it has kanji."""
    kanji = re.search(r"[々㐀-鿿]", term["ja"])
    return term["ja"] + (f"（{reading(term)}）" if kanji else "")


def entry(term: Term) -> str:
    """Term and definitions, as Sphinx's directive reads them."""
    also = term.get("also", {})
    english = ", ".join(also.get("en", []))
    japanese = "、".join(also.get("ja", []))
    notes = [
        english and f"Also: {english}.",
        "symbol" in term and f"Symbol: {term['symbol']}.",
        f"→ {{chapter}}`{term['where']}`",
    ]
    beside = f"**{with_reading(term)}**：{term['definition']['ja']}"
    if japanese:
        beside += f"（{japanese}）"
    paragraphs = [
        term["definition"]["en"],
        " ".join(filter(None, notes)),
        beside,
    ]
    return f"{term['en']}\n" + "\n\n".join(f"  {p}" for p in paragraphs)


def terms_page(terms: list[Term]) -> str:
    """Terms in the order of the file, under their first letters."""
    return "\n\n".join(
        f"## {letter}\n\n```{{glossary}}\n"
        + "\n\n".join(map(entry, members))
        + "\n```"
        for letter, members in groupby(terms, lambda t: t["en"][0].upper())
    )


def index_page(terms: list[Term]) -> str:
    """Japanese words, each with a link to its term."""
    ordered = sorted(terms, key=lambda term: gojuon_order(reading(term)))
    parts = []
    for kana, members in groupby(ordered, row):
        parts.append(f"### {kana}\n\n{{.glossary-index}}")
        parts[-1] += "".join(
            f"\n- {with_reading(term)} {{term}}`{term['en']}`"
            for term in members
        )
    return "\n\n".join(parts)


def write(app: Sphinx, page: str, source: list[str]) -> None:
    """Put terms and index in their places."""
    if page != PAGE:
        return
    path = Path(app.srcdir, app.config.course_glossary).resolve()
    app.env.note_dependency(str(path))
    terms = yaml.safe_load(path.read_text(encoding="utf-8"))
    source[0] = source[0].replace("{glossary} terms", terms_page(terms))
    source[0] = source[0].replace("{glossary} index", index_page(terms))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("course_chapters")
    app.add_config_value("course_glossary", "../glossary.yml", "env")
    app.connect("source-read", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
