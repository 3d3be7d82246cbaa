"""Aozora Bunko: Japanese books as typed by volunteers, read into sentences.

A file is text in cp932 with a header, markup inside the lines, and a footer:

=============================  ============================================
what stands there              what becomes of it
=============================  ============================================
title, author, a legend        title and author are read, the legend is not
``《みち》`` after a word      how it is read aloud (ruby): dropped
``｜`` before a word           where the word with the ruby begins: dropped
``［＃…］``                    a typist's note (layout, emphasis): dropped
``※［＃「目＋匡」、…］``       a character that cp932 lacks (gaiji): the
                               character, or 〓 when it has no code
``［＃「一」は中見出し］``     marks its line as a heading
``〔me^le'e〕``                accents written apart: ``mêlée``
``／＼`` and ``／″＼``         signs of repetition two places high: 〳〵, 〴〵
``底本：…`` to the end         the footer: kept as the work's ``source``
=============================  ============================================

Inside a line :mod:`~.aozora.markup` does this, and
nothing else is changed; no 。 is added where the author put none.

Twenty works of Natsume Soseki (:func:`soseki`) hold 2,618,884 characters
after their markup is gone: headings and Latin spaces count, line feeds and
ideographic spaces do not, a gaiji counts as one. They hold 75,152 sentences
by :func:`split_sentences`, when a heading counts as one too; with 。 as the
only end it would be 75,101.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from transformer_course.data.aozora.markup import plain
from transformer_course.data.download import fetch

SPACE = "　"
"""The ideographic space, which indents paragraphs and headings."""
RULER = "-" * 50
"""Start of the lines around the legend: fifty hyphens.

:meta hide-value:
"""


@dataclass(frozen=True)
class Chapter:
    """Text between two headings."""

    title: str
    """The heading; empty for text before the first one."""
    lines: tuple[str, ...]
    """Its paragraphs, without markup and indentation; none is empty."""

    @property
    def sentences(self) -> list[str]:
        """The sentences of all its lines, in order."""
        return [s for line in self.lines for s in split_sentences(line)]


@dataclass(frozen=True)
class Work:
    """One file of Aozora Bunko, read."""

    title: str
    """Title and, after an ideographic space, subtitle."""
    author: str
    """The author; editors and translators are left out."""
    chapters: tuple[Chapter, ...]
    """In order. A heading directly before another one has no lines."""
    source: str = ""
    """The footer: the printed edition, and who typed and checked it."""

    @property
    def sentences(self) -> list[str]:
        """The sentences of all its chapters, in order; no headings."""
        return [s for chapter in self.chapters for s in chapter.sentences]


# --- from bytes to lines -----------------------------------------------------


def split_lines(text: str) -> list[str]:
    """Lines, ended by CR LF or by a lone line feed (eight in Soseki)."""
    return text.replace("\r\n", "\n").split("\n")


def split_file(lines: list[str]) -> tuple[int, int, int]:
    """Line numbers: end of the head, start of the body, start of the footer.

    The head ends at the first empty line. A legend of the markup may follow
    it, between two rulers of hyphens. The footer begins with 底本：.
    """
    head = lines.index("") if "" in lines else len(lines)
    footer = _find(lines, "底本：", head)
    return head, _skip_legend(lines, head + 1), footer


def _skip_legend(lines: list[str], start: int) -> int:
    """The line after the legend; ``start`` itself where there is none."""
    if not lines[start].startswith(RULER):
        return start
    return _find(lines, RULER, start + 1) + 1


def _find(lines: list[str], beginning: str, start: int) -> int:
    """The first line from ``start`` on that begins so."""
    numbers = range(start, len(lines))
    return next(i for i in numbers if lines[i].startswith(beginning))


# --- from lines to chapters and sentences ------------------------------------


def is_heading(line: str, before: str = "", after: str = "") -> bool:
    """True for a heading: a line with a note that says so, or one
    that is deeply indented and stands alone between two empty lines.

    The second kind is that of older files, which have no notes for headings
    (three of Soseki's works; three others have no chapters). A row of stars
    between two passages counts too.
    """
    if re.search(r"見出し(?:終わり)?］", line):
        return True
    alone = not before.strip() and not after.strip()
    return alone and line.startswith(3 * SPACE) and bool(line.strip())


def split_chapters(lines: Sequence[str]) -> tuple[Chapter, ...]:
    """Cut the body of a work at its headings."""
    clean = plain("\n".join(lines)).split("\n")
    texts = ["", *(text.strip() for text in clean), ""]
    parts: list[tuple[str, list[str]]] = [("", [])]
    for number, line in enumerate(lines):
        before, text, after = texts[number : number + 3]
        if is_heading(line, before, after):
            parts.append((text, []))
        elif text:
            parts[-1][1].append(text)
    return tuple(Chapter(t, tuple(ls)) for t, ls in parts if t or ls)


def split_sentences(line: str) -> list[str]:
    """Cut a line after each 。 and after ？ and ！ that are not quoted.

    Inside 「」, 『』 and （） nothing ends, so that a speech stays in the
    sentence that reports it. Several ？ and ！ in a row are one end. The end
    of the line ends a sentence, whether its brackets are closed or not.
    """
    sentences, depth, start = [], 0, 0
    for sign in re.finditer("[「『（]|[」』）]|[？！]+|。", line):
        if sign[0] in "「『（":
            depth += 1
        elif sign[0] in "」』）":
            depth = max(0, depth - 1)
        elif depth == 0:
            sentences.append(line[start : sign.end()].strip())
            start = sign.end()
    rest = line[start:].strip()
    return [*sentences, rest] if rest else sentences


def sentence_pairs(works: Iterable[Work]) -> list[tuple[str, str]]:
    """Each sentence with the next one of the same chapter.

    No pair goes from one chapter or work to another, and headings are in
    none.
    """
    return [
        pair
        for work in works
        for chapter in work.chapters
        for pair in pairwise(chapter.sentences)
    ]


# --- files -------------------------------------------------------------------


def parse(content: bytes) -> Work:
    """Read the bytes of one file of Aozora Bunko.

    The files are said to be in Shift_JIS, and cp932 is the kind of it that
    they were typed in. Python's shift_jis_2004 reads them too, but takes ～
    (U+FF5E) for U+301C and － (U+FF0D) for U+2212, 28 times in Soseki.
    """
    lines = split_lines(content.decode("cp932"))
    head, start, footer = split_file(lines)
    title, author = read_head(lines[:head])
    return Work(
        title,
        author,
        split_chapters(lines[start:footer]),
        "\n".join(lines[footer:]).strip(),
    )


def read_head(lines: Sequence[str]) -> tuple[str, str]:
    """Title and author, from the lines before the first empty one.

    The author comes last, after title and subtitles; only an editor (編) or
    a translator (訳) may stand after the author.
    """
    names = [plain(line).strip() for line in lines]
    while len(names) > 2 and names[-1].endswith(("編", "訳")):
        names.pop()
    return SPACE.join(names[:-1]), names[-1] if names else ""


def load(corpus: str = "soseki", progress: bool = True) -> list[Work]:
    """Every work of a corpus, in the order of the manifest.

    Args:
        corpus: ``"soseki"``, ``"authors"`` or ``"haiku"``.
        progress: show a bar while downloading.

    Raises:
        CorpusError: it is not here and cannot be downloaded.
    """
    paths = fetch(corpus, progress).values()
    return [parse(path.read_bytes()) for path in paths]


def soseki(progress: bool = True) -> list[Work]:
    """Twenty works of Natsume Soseki; fetched at first use.

    Raises:
        CorpusError: they are not here and cannot be downloaded.
    """
    return load("soseki", progress)
