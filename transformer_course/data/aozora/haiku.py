"""Haiku, each with a keyword from it: 4,400 from ten books of Aozora Bunko.

The corpus ``haiku`` has twelve books. Two are left out, since Ozaki
Hōsai and Taneda Santōka wrote free verse (:data:`FREE_VERSE`). In the others
a haiku is one line, and stands among lines that are none:

===========  ================================================================
dropped for  what it is
===========  ================================================================
preface      a line of a preface, a table of dates or an essay, by the title
             of its chapter
unnumbered   in Kohaku's book, where each haiku has a number (※), a line
             without one: seasons, occasions
signs        a line with a sign that no haiku here has, such as 。 or （, a
             Latin letter or digit, or 〓 for what could not be read
space        a line with a space between words
length       shorter or longer than any haiku here: dates, places
note         the occasion (前書), told by how it ends, or one of :data:`NOTES`
===========  ================================================================

Before that a head word (``春寒　　　柑子むく妹が爪先春寒し``), Kohaku's ＊,
dates and sources, and Fukio's ＊ are cut off. All else stays as the poet wrote
it: old spelling, old kanji, 〳〵.

How good this is was found by reading. Of 100 lines drawn from those that are
kept, all are haiku; of the notes that no form gives away, 29 had to be listed.
Outside the prefaces, 8 haiku are dropped: 6 with a 〓, one with Latin letters,
one with a place after it.

Whole poets are held out. The keyword is a noun of the haiku, drawn by a rule
that has nothing to do with the other lines. Chapter 16 trains a model to
write the haiku from the keyword.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from transformer_course.data import aozora
from transformer_course.data.aozora import SPACE, Work
from transformer_course.data.aozora.morae import (
    KATAKANA,
    expand_repeats,
    to_katakana,
    tokens,
)
from transformer_course.data.text import ParallelText, Splits

FREE_VERSE = ("尾崎放哉", "種田山頭火")
"""Poets who left 5-7-5 behind."""
DEV = ("芝不器男",)
"""Held out to choose by: one book of 1934, by a poet who died at 26."""
TEST = ("川端茅舎",)
"""Held out to report on: one book of 1934."""
SEED = 0
"""Seed of the sampled keywords."""

PREFACE = re.compile("序|緒言|凡例|年譜|句集の出るまで")
"""Found in the titles of chapters that hold no haiku of their own."""
NUMBERING = "藤野古白句集"
"""The book whose haiku are numbered."""
NUMBERED = re.compile(r"＊?(?P<poem>[^（※]+?)\s*(?:（[^（）]*）)*※\d+\D.*")
"""``＊poem　　（明22-9-20頃）※9／書簡``: the ＊, the date and what follows
the number are not the poem's.

:meta hide-value:
"""
HEAD_WIDTH = 5
"""Columns of Meisetsu's head words, filled up with spaces."""
FOREIGN = re.compile(r"[^\w〳〵〴〵々ゝゞヽヾ　]|[0-9A-Za-z０-９〓]")
"""Signs that no haiku here has.

:meta hide-value:
"""
LENGTHS = range(8, 21)
"""Characters of a haiku."""
NOTE = re.compile(
    "(?:明治|大正|昭和).*[年月日末]|.*(?:にて|[一二三四五六七八九十]句|を悼む)"
)
"""Patterns of an occasion's note.

:meta hide-value:
"""
NOTES = frozenset(
    """
    種瓢の発刊を祝して 天明俳句集に題す 此頃の志士が口真似して
    戦死せし某の遺吟を整理して 俳調の変易に感じて 俳諧月令筌に題す
    桐芽の男子をまうけたるに 菅菰の発行を喜びて 某が銃猟免許を受けたるに
    函館新聞の天長節号へ 海晏寺門前に鳥酔白雄の跡をとぶらひて
    水巴が大母の年忌に句を求めければ 人の甘干を贈りこしゝに
    旧居の普請場を見て 佐倉の山中に孫の徹女を荼毘して
    あふひ夫人訪れたまふ 武蔵野女子大生徒と百花園に遊ぶ ホトヽギス発行所
    苗木塚本哄堂邸滞在 枕流曹長と能見堂峠を越す 那須野の果に人を送る
    初めて虚子先生に見ゆる日 浄蓮寺句会夜に入りて果つ
    半夜能登輪島町羊多楼居に入る 金沢宝円寺句会に行く
    中禅寺湖より戦場ヶ原への途上 清元なにがしに贈る
    市川左団次丈煙草入の筒に 待つ人の来ざりしかば
    """.split()
)
"""Occasions that no pattern separates from a haiku; found by reading.

:meta hide-value:
"""
REPEATS = frozenset("〳〴〵")
"""Signs of repetition that janome takes for nouns."""
NOUNS = ("一般", "固有名詞", "サ変接続", "副詞可能")
"""Kinds of noun, in janome's words, that can be a keyword."""


class Haiku(NamedTuple):
    """A haiku and its place in the book."""

    text: str
    author: str
    title: str


def numbered(line: str) -> str:
    """The haiku of a numbered line; empty where there is no number."""
    found = NUMBERED.fullmatch(line)
    return found["poem"].strip() if found else ""


def without_head_word(line: str) -> str:
    """Cut off the word, filled up to five columns, under which it stands."""
    head, poem = line[:HEAD_WIDTH], line[HEAD_WIDTH:]
    padded = head.endswith(SPACE) and not poem.startswith(SPACE)
    return poem if padded and poem else line


def sift_line(line: str) -> str:
    """The haiku of a line, judged by itself; empty if it is none."""
    text = without_head_word(line).removesuffix("＊")
    foreign = FOREIGN.search(text) or SPACE in text
    if foreign or len(text) not in LENGTHS:
        return ""
    return "" if NOTE.fullmatch(text) or text in NOTES else text


def sift(work: Work) -> Iterator[str]:
    """The haiku of a book, line by line."""
    for chapter in work.chapters:
        if _is_preface(work, chapter.title):
            continue
        for line in chapter.lines:
            poem = numbered(line) if work.title == NUMBERING else line
            if text := sift_line(poem):
                yield text


def _is_preface(work: Work, title: str) -> bool:
    """True for a chapter of anything but the book's haiku."""
    if work.title == NUMBERING:
        return not title.startswith("・")
    return bool(PREFACE.search(title))


def collect(works: Iterable[Work]) -> list[Haiku]:
    """Haiku of these books, in order, without duplicates.

    Free verse is skipped. Two lines that differ in signs of repetition alone
    are the same.
    """
    found: dict[str, Haiku] = {}
    for work in works:
        if work.author in FREE_VERSE:
            continue
        for text in sift(work):
            haiku = Haiku(text, work.author, work.title)
            found.setdefault(expand_repeats(text), haiku)
    return list(found.values())


def nouns(text: str) -> list[str]:
    """The words of a haiku that can be its keyword, each once.

    Nouns by janome, with a kanji or katakana, or of three kana and more.
    Numbers, pronouns and the 哉 that ends a haiku are none.
    """
    found = dict.fromkeys(
        token.surface
        for token in tokens(text.removesuffix("哉"))
        if token.part_of_speech.startswith(
            tuple(f"名詞,{kind}" for kind in NOUNS)
        )
        and _can_be_keyword(token.surface, token.reading)
    )
    return list(found)


def _can_be_keyword(word: str, reading: str) -> bool:
    if REPEATS.intersection(word):
        return False
    in_kana = KATAKANA.fullmatch(to_katakana(word))
    hiragana = in_kana and word != to_katakana(word)
    return not hiragana or (len(word) > 2 and reading != "*")


def keyword(text: str) -> str:
    """The noun that a haiku is to be written from; empty if it has none.

    Drawn by a hash of the haiku, so that it is the same whatever other lines
    there are.
    """
    choices = nouns(text)
    if not choices:
        return ""
    digest = hashlib.sha256(f"{SEED} {text}".encode()).digest()
    return choices[int.from_bytes(digest[:8], "big") % len(choices)]


def keyword_pairs(works: Iterable[Work] | None = None) -> Splits:
    """A keyword as source, the haiku that it was taken from as target.

    Whole poets are held out. A haiku that stands in two parts is kept in the
    test set, or else in the development set, alone.

    Args:
        works: read already; those of the corpus when None.

    Raises:
        CorpusError: the corpus cannot be had.
    """
    if works is None:
        works = aozora.load("haiku")
    works = list(works)
    held_out = {author: i for i, author in enumerate((*TEST, *DEV))}
    works.sort(key=lambda work: held_out.get(work.author, len(held_out)))
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for haiku in collect(works):
        parts[_part(haiku.author)].append(haiku.text)
    return Splits(**{part: _pairs(parts[part]) for part in parts})


def _part(author: str) -> str:
    if author in TEST:
        return "test"
    return "dev" if author in DEV else "train"


def _pairs(poems: list[str]) -> ParallelText:
    pairs = [(word, poem) for poem in poems if (word := keyword(poem))]
    return ParallelText([w for w, _ in pairs], [p for _, p in pairs])
