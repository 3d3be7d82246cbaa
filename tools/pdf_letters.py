"""Letters of a PDF as they are searched and copied.

Where a font draws two letters alike, Chromium stores the one that comes first
in Unicode, such as the radical ⽇ for 日: whoever searches for 日本語 finds
nothing.
"""

import re
import unicodedata
from typing import Any

ALIKE = "⺠民⻄西⻑長⻘青⻨麦⻩黄⻫斉⻭歯⻯竜⻲亀⼾戸‧・∕／〈〈〉〉"
"""What is stored, each with what was written; other radicals are NFKC's."""
RADICALS = map(chr, range(0x2E80, 0x2FD6))
WRITTEN = {each: unicodedata.normalize("NFKC", each) for each in RADICALS}
WRITTEN |= dict(zip(ALIKE[::2], ALIKE[1::2], strict=True))
ENTRY = re.compile(r"^<(\w+)> (?:<(\w+)> )?<(\w{4})>$", re.M)
"""Of a CMap: a glyph, or the first and last of some, and the first letter."""


def mend_letters(resources: Any, mended: set[int]) -> None:
    """Mend what the fonts of a page say of their glyphs.

    Args:
        resources: of a page, or of a drawing in it.
        mended: numbers of the objects that are done; grows.
    """
    for part in resources.get("/XObject", {}).values():
        mend_letters(part.get_object().get("/Resources", {}), mended)
    for font in resources.get("/Font", {}).values():
        place = font.get_object().raw_get("/ToUnicode")
        if place.idnum not in mended:
            mended.add(place.idnum)
            cmap = place.get_object()
            text = ENTRY.sub(mend_entry, cmap.get_data().decode("ascii"))
            cmap.set_data(text.encode("ascii"))


def mend_entry(entry: re.Match) -> str:
    """An entry of a CMap, with the letters that were written."""
    first, last, letter = entry.groups()
    more = int(last or first, 16) - int(first, 16)
    stored = [chr(int(letter, 16) + step) for step in range(more + 1)]
    written = [WRITTEN.get(each, each) for each in stored]
    if written == stored:
        return entry[0]
    codes = " ".join(f"<{ord(each):04X}>" for each in written)
    return f"<{first}> <{last}> [{codes}]" if last else f"<{first}> {codes}"
