"""The markup of Aozora Bunko inside a line: each rule is a small function.

Every character of a line is text that is kept, or belongs to a piece of
markup (:func:`pieces`). Chapter 02 goes through the rules one by one.
"""

import re
import unicodedata
from collections.abc import Iterator

GETA = "〓"
"""Stands for a character that has no code, as printers put it."""
MARKS = dict(
    zip(
        "`'^~:&,_",
        "\u0300\u0301\u0302\u0303\u0308\u030a\u0327\u0304",
        strict=True,
    )
)
"""Accent signs and their combining characters."""
LETTERS = {
    **{"ae&": "æ", "AE&": "Æ", "oe&": "œ", "OE&": "Œ", "s&": "ß"},
    **{"o/": "ø", "O/": "Ø", "l/": "ł", "L/": "Ł", "d/": "đ", "D/": "Đ"},
    **{"!@": "¡", "?@": "¿"},
}
"""Accented letters without a combining character."""
# A note may quote another pair of brackets.
_NOTE = r"［＃[^［］\n]*(?:［[^［］\n]*］[^［］\n]*)*］"
MARKUP = re.compile(
    rf"(?P<gaiji>※{_NOTE})|(?P<note>{_NOTE})|(?P<ruby>《[^《》\n]*》)"
    r"|(?P<bar>｜(?=[^｜《》\n]*《))"
)
"""The kinds of markup; each begins and ends in one line.

:meta hide-value:
"""


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Cut into text and markup, as (kind, characters).

    The kinds are ``text``, ``ruby``, ``bar``, ``note`` and ``gaiji``. Joined,
    the characters are what was cut.
    """
    end = 0
    for match in MARKUP.finditer(text):
        if match.start() > end:
            yield "text", text[end : match.start()]
        yield match.lastgroup, match[0]
        end = match.end()
    if end < len(text):
        yield "text", text[end:]


def strip_markup(text: str) -> str:
    """Keep the text, turn gaiji into characters, drop the other markup."""
    kept = {"text": str, "gaiji": gaiji}
    return "".join(
        kept[kind](piece) for kind, piece in pieces(text) if kind in kept
    )


def gaiji(note: str) -> str:
    """Character of a gaiji note; 〓 if the note has no code.

    A code is a Unicode number, or plane, row and cell of JIS X 0213. A page
    and line of the printed edition (``51-3``) is none.
    """
    if code := re.search(r"U\+([0-9A-F]{4,5})", note):
        return chr(int(code[1], 16))
    if code := re.search(r"(?<!\d)([12])-(\d{1,2})-(\d{1,2})(?!\d)", note):
        return jis_character(*map(int, code.groups()))
    return GETA


def jis_character(plane: int, row: int, cell: int) -> str:
    """The character of JIS X 0213 at this place; 〓 if there is none."""
    shift = b"\x8f" if plane == 2 else b""
    try:
        place = bytes([0xA0 + row, 0xA0 + cell])
        return (shift + place).decode("euc_jis_2004")
    except ValueError:  # not a byte, or not a character
        return GETA


def join_accents(text: str) -> str:
    """Write ``〔me^le'e〕`` as ``mêlée``.

    Brackets around anything without an accent are the author's, and stay.
    """

    def join(match: re.Match) -> str:
        joined = re.sub(
            r"[aoAO][eE]&|[!?]@|[A-Za-z][`'^~:&,_/]", _letter, match[1]
        )
        return match[0] if joined == match[1] else joined

    return re.sub(rf"〔((?:{_NOTE}|[^〔〕\n])*)〕", join, text)


def _letter(match: re.Match) -> str:
    signs = match[0]
    if signs in LETTERS:
        return LETTERS[signs]
    letter = unicodedata.normalize("NFC", signs[0] + MARKS.get(signs[1], "|"))
    return letter if len(letter) == 1 else signs


def join_repeats(text: str) -> str:
    """Write ／＼ and ／″＼ as 〳〵 and 〴〵, which repeat what precedes."""
    return text.replace("／＼", "〳〵").replace("／″＼", "〴〵")


def plain(text: str) -> str:
    """The text as a reader sees it: signs joined, markup gone."""
    return strip_markup(join_accents(join_repeats(text)))
