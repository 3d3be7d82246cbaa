"""The beat of Japanese verse: morae, counted from janome's readings.

A *mora* is what one kana stands for: っ, ん and ー are one each, a small ゃ,
ゅ or ょ is none, being part of the kana before it. A haiku has 5 + 7 + 5. But
kanji do not say how they are read: 夜 is yo or yoru. So three answers are
possible: 5-7-5 in one of the ways in which its words can be read, not in any,
or cannot tell. The readings are those of janome's dictionary (IPADIC, made
for newspapers), and of a small table of words that verse reads in its own way
(:data:`VERSE`).

This errs in both ways, and so it is measured on lines whose form is known
(``experiments/haiku_forms.py``): the share of real haiku that it calls 5-7-5
is the ceiling for a model's, and its share of real haiku that have lost a
word is the floor. What is known to go wrong:

- old spelling: きやう (kyō) is two morae and is counted as three, though けふ
  and てふ come out right;
- words that are in neither (閻王, 蝌蚪), and janome's cuts, which are made for
  modern prose;
- 〳〵 after anything but two characters;
- a break inside a word of kana is let pass, since janome cuts old kana badly,
  and so is one before a particle (や, の), with which no part begins;
- a haiku with a mora too many (字余り), as poets allow themselves, is none.
"""

import re
import unicodedata
from functools import cache
from itertools import product
from typing import Literal

from transformer_course.data.plain import segmenter

Form = Literal["5-7-5", "other", "unknown"]
BREAKS = (5, 12)
"""Morae after which a word must have ended."""
TOTAL = 17
"""Morae of a haiku."""
SMALL = frozenset("ァィゥェォャュョヮ")
"""Part of the mora before them."""
KATAKANA = re.compile("[ァ-ヴヵヶー]+")
"""A word in katakana.

:meta hide-value:
"""
SIGNS = re.compile(r"[\s、。，．・…―「」『』（）！？!?,.]")
"""Signs that take no time to say.

:meta hide-value:
"""
VOICED = "\u3099"
"""The combining sign of voicing."""
VERSE = {
    word: frozenset(readings.split())
    for word, *readings in (
        *(("哉", "カナ"), ("枯", "カ カレ"), ("燈", "ヒ トウ"), ("灯", "ヒ")),
        *(("夜", "ヨ"), ("露", "ツユ"), ("我", "ワ ワガ"), ("妹", "イモ")),
        *(("一", "ヒト"), ("人", "ヒト リ"), ("日", "ヒ"), ("葉", "ハ")),
        *(("木", "キ コ"), ("小", "オ コ"), ("大", "オオ"), ("古", "フル")),
        *(("水", "ミズ ミ"), ("主", "アルジ"), ("鶏", "トリ")),
        *(("落葉", "オチバ"), ("紅葉", "モミジ"), ("径", "ミチ コミチ")),
        *(("来", "ク キ コ"), ("出", "イ デ"), ("入", "イ イリ")),
        *(("行", "ユキ ユク"), ("見", "ミ"), ("立", "タ タチ")),
        *(("追", "オ"), ("負", "オ"), ("連", "ツ ツレ"), ("明", "アケ")),
        *(("暮", "ク クレ"), ("惜", "オ オシ"), ("這", "ハ"), ("払", "ハラ")),
        *(("喰", "ク"), ("剪", "キ"), ("訪", "ト オトナ"), ("添", "ソ")),
        *(("交", "マジ カワ"), ("引", "ヒ ヒキ"), ("摘", "ツ ツミ")),
        *(("吹", "フ フキ"), ("逢", "ア"), ("閉", "ト トジ"), ("据", "ス")),
        *(("此", "コノ"), ("其", "ソノ"), ("何", "ナン"), ("帚", "ホウキ")),
        *(("燕", "ツバメ ツバクラ"), ("蝶", "チョウ")),
    )
    for readings in readings
}
"""Readings that verse has and the dictionary lacks, or gives to names only;
words that are often in haiku.

:meta hide-value:
"""


def voice(kana: str) -> str:
    """Voiced form of a kana: か gives が; other kana are unchanged."""
    joined = unicodedata.normalize("NFC", kana + VOICED)
    return joined if len(joined) == 1 else kana


def expand_repeats(text: str) -> str:
    """Expand repetition signs.

    ゝ and ヽ repeat the kana before them, ゞ and ヾ voice it; 〳〵 repeats the
    two characters before it, and 〴〵 voices the first of them. 〳〵 may mean
    more than two (叩けども〳〵), and nothing in the text says so: such a line
    comes out too short.
    """
    text = re.sub("(.)[ゝヽ]", r"\1\1", text)
    text = re.sub("(.)[ゞヾ]", lambda m: m[1] + voice(m[1]), text)
    text = re.sub("(..)〳〵", r"\1\1", text)
    return re.sub("(.)(.)〴〵", lambda m: m[0][:2] + voice(m[1]) + m[2], text)


def to_katakana(text: str) -> str:
    """Hiragana as katakana; all else as it is."""
    return "".join(
        chr(ord(c) + 0x60) if "ぁ" <= c <= "ゔ" else c for c in text
    )


def count_morae(reading: str) -> int:
    """Morae of a reading in kana."""
    return sum(kana not in SMALL for kana in to_katakana(reading))


@cache
def readings(word: str) -> frozenset[str]:
    """All ways to read a word, in katakana; none when it is not known.

    A word of kana is read as it is written. Readings of names count only
    where there are no others.
    """
    written = to_katakana(word)
    if KATAKANA.fullmatch(written):
        return frozenset({written})
    entries = _entries(word)
    common = {r for r, kind in entries if "固有名詞" not in kind}
    found = common or {r for r, _ in entries}
    return frozenset(found) | VERSE.get(word, frozenset())


@cache
def lengths(word: str) -> frozenset[int]:
    """Possible numbers of morae of a word; empty if unknown.

    A word that is not known is put together from its characters.
    """
    if known := readings(word):
        return frozenset(map(count_morae, known))
    if len(word) == 1:
        return frozenset()
    return frozenset(map(sum, product(*map(lengths, word))))


def form(text: str) -> Form:
    """True if a line can be read as 5-7-5, with a word's end at each break.

    Signs count for nothing. ``"unknown"`` when there is a word that nobody can
    read.
    """
    reached = {0}
    for token in tokens(SIGNS.sub("", expand_repeats(text))):
        choices = lengths(token.surface)
        if not choices:
            return "unknown"
        in_kana = KATAKANA.fullmatch(to_katakana(token.surface))
        reached = {
            start + length
            for start in reached
            for length in choices
            if in_kana or not _crosses(start, start + length)
        }
    return "5-7-5" if TOTAL in reached else "other"


def tokens(text: str) -> list:
    """The words of a text as janome cuts it: ``surface``, ``reading``,
    ``part_of_speech``."""
    return list(segmenter().tokenize(text))


def _crosses(start: int, end: int) -> bool:
    return any(start < cut < end for cut in BREAKS)


@cache
def _entries(word: str) -> frozenset[tuple[str, str]]:
    """Readings and parts of speech that the dictionary has for a word."""
    janome = segmenter()
    found = janome.sys_dic.lookup(word.encode(), janome.matcher)
    extras = [
        janome.sys_dic.lookup_extra(entry[0])
        for entry in found
        if entry[1] == word
    ]
    return frozenset((e[4], e[0]) for e in extras if KATAKANA.fullmatch(e[4]))
