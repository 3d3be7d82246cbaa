"""The glossary, English and Japanese, from ``book/glossary.yml``.

``course-glossary`` shows the terms in the order of the edition's language,
with the other language beside each; the role ``term`` finds them all.
``course-glossary-index`` lists them in the order of the other language.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from course_chapters import chapter_link
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.std import make_glossary_term
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

FIELDS = {"en", "ja", "reading", "also", "symbol", "definition", "where"}
LANGUAGES = {"en", "ja"}


class GlossaryError(ExtensionError):
    """The file of terms is not as it should be."""


@dataclass(frozen=True)
class Term:
    """A word of the field in two languages."""

    en: str
    ja: str
    reading: str
    """The Japanese word in kana, by which it is sorted."""
    definition: dict[str, str]
    """One sentence in each language, in Markdown."""
    where: str
    """Where the book introduces it: ``page`` or ``page#section``."""
    also: dict[str, list[str]]
    """Other words for it, in each language."""
    symbol: str
    """How formulas write it; empty if they do not."""

    @property
    def anchor(self) -> str:
        """The name of its place in the page, the same in every edition."""
        return f"term-{nodes.make_id(self.en)}"

    def word(self, language: str) -> str:
        """The term in a language."""
        return self.en if language == "en" else self.ja

    def order(self, language: str) -> tuple[str, str]:
        """What to sort it by in a language."""
        if language == "en":
            return english_order(self.en), self.en
        return gojuon_order(self.reading), self.reading


# --- reading the file --------------------------------------------------------


def load_terms(path: Path) -> list[Term]:
    """The terms of a file.

    Raises:
        GlossaryError: the file is not there, is no YAML, or an entry lacks
            something, has too much, or says what another one says already.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GlossaryError(f"{path} cannot be read: {error}") from error
    if not isinstance(entries, list) or not entries:
        raise GlossaryError(
            f"{path} should be a list of terms, each beginning with '- en:', "
            f"not {type(entries).__name__}."
        )
    terms = []
    for number, entry in enumerate(entries, 1):
        name = entry.get("en", "?") if isinstance(entry, dict) else entry
        place = f"{path.name}, entry {number} ({name})"
        terms.append(read_term(entry, place))
    check_unique(terms, path.name)
    return terms


def read_term(entry: Any, place: str) -> Term:
    """One term; ``place`` is what an error calls it."""
    if not isinstance(entry, dict):
        raise GlossaryError(f"{place} should have fields, 'en:' and so on.")
    if unknown := set(entry) - FIELDS:
        raise GlossaryError(
            f"{place}: unknown field {', '.join(map(repr, sorted(unknown)))}; "
            f"there are {', '.join(sorted(FIELDS))}."
        )
    for name in ("en", "ja", "where"):
        check_text(entry.get(name), name, place)
    definition = entry.get("definition")
    if not isinstance(definition, dict) or set(definition) != LANGUAGES:
        raise GlossaryError(
            f"{place}: 'definition' should hold 'en' and 'ja', "
            f"not {definition!r}."
        )
    for language, text in definition.items():
        check_text(text, f"definition: {language}", place)
    if not re.fullmatch(r"[a-z0-9_/]+(#[a-z0-9-]+)?", entry["where"]):
        raise GlossaryError(
            f"{place}: 'where' should be page#section, as in "
            f"04_attention#why-three-projections, not {entry['where']!r}."
        )
    return Term(
        en=entry["en"],
        ja=entry["ja"],
        reading=read_reading(entry, place),
        definition=definition,
        where=entry["where"],
        also=read_also(entry.get("also", {}), place),
        symbol=entry.get("symbol", ""),
    )


def check_text(value: Any, name: str, place: str) -> None:
    """That a field holds text, and nothing around it."""
    if not isinstance(value, str) or not value or value != value.strip():
        raise GlossaryError(
            f"{place}: {name!r} should be a text, not {value!r}."
        )


def read_reading(entry: dict[str, Any], place: str) -> str:
    """The reading; a word written in kana is its own."""
    reading = entry.get("reading", entry["ja"].replace("・", ""))
    if not isinstance(reading, str) or not is_kana(reading):
        raise GlossaryError(
            f"{place}: 'reading' should say {entry['ja']} in kana, by which "
            f"it is sorted, not {reading!r}."
        )
    return reading


def read_also(also: Any, place: str) -> dict[str, list[str]]:
    """Other words, by language."""
    if not isinstance(also, dict) or not set(also) <= LANGUAGES:
        raise GlossaryError(
            f"{place}: 'also' should hold lists under 'en' and 'ja', "
            f"not {also!r}."
        )
    for language, words in also.items():
        if not isinstance(words, list):
            raise GlossaryError(
                f"{place}: 'also: {language}' should be a list, not {words!r}."
            )
        for word in words:
            check_text(word, f"also: {language}", place)
    return {language: also.get(language, []) for language in ("en", "ja")}


def check_unique(terms: list[Term], name: str) -> None:
    """That no word stands twice, so that a reference leads to one place."""
    for language in ("en", "ja"):
        owner: dict[str, Term] = {}
        for term in terms:
            for word in [term.word(language), *term.also[language]]:
                first = owner.setdefault(word.casefold(), term)
                if first is not term:
                    raise GlossaryError(
                        f"{name}: {word!r} stands for both {first.en!r} and "
                        f"{term.en!r}; a reference could not tell which."
                    )


# --- order -------------------------------------------------------------------

ROWS = "あかさたなはまやらわ"
"""The rows of the kana table, each named by its first."""
VOWELS = {
    "あ": "あかさたなはまやらわ",
    "い": "いきしちにひみり",
    "う": "うくすつぬふむゆる",
    "え": "えけせてねへめれ",
    "お": "おこそとのほもよろを",
}
SMALL = str.maketrans("ぁぃぅぇぉっゃゅょゎ", "あいうえおつやゆよわ")


def is_kana(text: str) -> bool:
    """Whether a text is written in hiragana, katakana and ー only."""
    return bool(re.fullmatch(r"[ぁ-ゖァ-ヺー]+", text))


def hiragana(text: str) -> str:
    """Katakana as hiragana."""
    return "".join(
        chr(ord(letter) - 0x60) if "ァ" <= letter <= "ヶ" else letter
        for letter in text
    )


def plain(text: str) -> str:
    """Hiragana without voicing marks and small letters; ー is a vowel."""
    marks = "\u3099\u309a"
    decomposed = unicodedata.normalize("NFD", hiragana(text))
    letters = [sign for sign in decomposed if sign not in marks]
    result = ""
    for letter in "".join(letters).translate(SMALL):
        if letter == "ー":
            letter = next(
                (v for v, row in VOWELS.items() if result[-1:] in row), ""
            )
        result += letter
    return result


def gojuon_order(reading: str) -> str:
    """What to sort a Japanese word by: its kana, in the order of the table."""
    return f"{plain(reading)} {hiragana(reading)}"


def english_order(word: str) -> str:
    """What to sort an English word by: its letters, large or small."""
    return re.sub(r"[^a-z0-9]", "", word.casefold())


def initial(term: Term, language: str) -> str:
    """The heading under which a term stands: a letter, or a row of kana."""
    if language == "en":
        return english_order(term.en)[0].upper()
    first = plain(term.reading)[0]
    return ROWS[sum(first >= row for row in ROWS) - 1]


def grouped(
    terms: Iterable[Term], language: str
) -> list[tuple[str, list[Term]]]:
    """The terms in a language's order, under their headings."""
    ordered = sorted(terms, key=lambda term: term.order(language))
    groups = groupby(ordered, key=lambda term: initial(term, language))
    return [(heading, list(members)) for heading, members in groups]


# --- showing them ------------------------------------------------------------


class Words(NamedTuple):
    """What the page says around a term."""

    also: str
    other_also: str
    symbol: str
    comma: str
    stop: str


WORDS = {
    "en": Words("Also: ", "In Japanese also: ", "Symbol: ", ", ", ". "),
    "ja": Words("別名：", "英語の別名：", "記号：", "、", "。"),
}


class GlossaryDirective(SphinxDirective):
    """What both directives need."""

    @property
    def language(self) -> str:
        """The language of the edition."""
        return "ja" if self.config.language == "ja" else "en"

    @property
    def other(self) -> str:
        """The language beside it."""
        return "en" if self.language == "ja" else "ja"

    def terms(self) -> list[Term]:
        """The terms of the file, which this page is to follow."""
        path = Path(self.env.srcdir, self.config.course_glossary).resolve()
        self.env.note_dependency(str(path))
        return load_terms(path)

    def by_heading(
        self,
        language: str,
        prefix: str,
        show: Callable[[list[Term]], nodes.Node],
    ) -> list[nodes.Node]:
        """A row of links to the headings, then each with its terms."""
        links = nodes.paragraph(classes=["glossary-letters"])
        result: list[nodes.Node] = [links]
        for heading, members in grouped(self.terms(), language):
            anchor = f"{prefix}-{members[0].anchor}"
            rubric = nodes.rubric("", heading, ids=[anchor])
            rubric["classes"] += ["glossary-letter", f"language-{language}"]
            links += nodes.reference("", heading, internal=True, refid=anchor)
            links += nodes.Text(" ")
            result += [rubric, show(members)]
        return result


class CourseGlossary(GlossaryDirective):
    """All terms, in the order of the edition's language."""

    def run(self) -> list[nodes.Node]:
        """A glossary for each letter."""
        return self.by_heading(self.language, "letter", self.glossary)

    def glossary(self, terms: list[Term]) -> nodes.Node:
        """The terms of one letter."""
        listing = nodes.definition_list(classes=["glossary"])
        listing += [self.entry(term) for term in terms]
        return addnodes.glossary("", listing, sorted=False)

    def entry(self, term: Term) -> nodes.Node:
        """A term, what it means, and where it is introduced."""
        definition = nodes.definition()
        definition += self.markdown(term.definition[self.language])
        definition += self.notes(term)
        return nodes.definition_list_item("", self.heading(term), definition)

    def heading(self, term: Term) -> nodes.term:
        """The term, and its word in the other language."""
        source, line = self.get_source_info()
        heading = make_glossary_term(
            self.env,
            [nodes.Text(term.word(self.language))],
            None,
            source,
            line,
            term.anchor,
            self.state.document,
        )
        self.state.document.note_explicit_target(heading)
        domain = self.env.domains["std"]
        for name in term.also[self.language]:
            domain._note_term(name, term.anchor, location=heading)
        if self.language == "ja":
            heading += reading_of(term)
        if term.en != term.ja:
            beside = nodes.inline("", term.word(self.other))
            beside["classes"] += ["glossary-other", f"language-{self.other}"]
            if self.other == "ja":
                beside += reading_of(term)
            heading += [nodes.Text(" "), beside]
        return heading

    def notes(self, term: Term) -> nodes.paragraph:
        """Other words, symbol and place."""
        words = WORDS[self.language]
        notes = nodes.paragraph(classes=["glossary-notes"])
        for language, label in [
            (self.language, words.also),
            (self.other, words.other_also),
        ]:
            if term.also[language]:
                listed = words.comma.join(term.also[language])
                notes += nodes.Text(label)
                notes += nodes.inline(
                    "", listed, classes=[f"language-{language}"]
                )
                notes += nodes.Text(words.stop)
        if term.symbol:
            notes += nodes.Text(words.symbol)
            notes += self.markdown(term.symbol)[0].children
            notes += nodes.Text(words.stop)
        notes += nodes.Text("→ ")
        notes += chapter_link(self.env, term.where)
        return notes

    def markdown(self, text: str) -> list[nodes.Node]:
        """A text with its formulas and code."""
        source, line = self.get_source_info()
        parent = nodes.Element()
        self.state.nested_parse(StringList([text], source), line, parent)
        return parent.children


class CourseGlossaryIndex(GlossaryDirective):
    """All terms, in the order of the other language."""

    def run(self) -> list[nodes.Node]:
        """A list for each letter, or row of kana."""
        return self.by_heading(self.other, "index", self.listing)

    def listing(self, terms: list[Term]) -> nodes.Node:
        """The terms of one heading, with links to their entries."""
        listing = nodes.bullet_list(classes=["glossary-index"])
        for term in terms:
            line = nodes.paragraph()
            word = nodes.inline("", term.word(self.other))
            word["classes"].append(f"language-{self.other}")
            line += word
            if self.other == "ja":
                line += reading_of(term)
            line += nodes.Text(" ")
            line += nodes.reference(
                "",
                term.word(self.language),
                internal=True,
                refid=term.anchor,
            )
            listing += nodes.list_item("", line)
        return listing


def reading_of(term: Term) -> list[nodes.Node]:
    """The reading in brackets, of a word with kanji."""
    if not re.search(r"[々㐀-鿿]", term.ja):
        return []
    classes = ["glossary-reading", "language-ja"]
    return [nodes.inline("", f"（{term.reading}）", classes=classes)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.setup_extension("course_chapters")
    app.add_config_value("course_glossary", "../glossary.yml", "env")
    app.add_directive("course-glossary", CourseGlossary)
    app.add_directive("course-glossary-index", CourseGlossaryIndex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
