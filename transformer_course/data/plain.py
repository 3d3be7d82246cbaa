"""Word segmentation of plain text, and its inverse.

The parallel corpora are cut up beforehand: English in lower case with
punctuation and clitics apart, as the Stanford tokenizer does it, Japanese
into short words. These rules bring a reader's own sentence near to that.
"""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise

from transformer_course.errors import ConfigError

_CLITIC = re.compile(r"(?<=[a-z])('(?:s|m|d|ll|re|ve|t)\b)")
_PUNCTUATION = re.compile(r"([.,!?;:()]+)")
_NUMBER = re.compile(r"(?<=\d) ([.,:]) (?=\d)")
_BEFORE = re.compile(r" (?=[.,!?;:)]|'(?:s|m|d|ll|re|ve|t)\b)")


@lru_cache(maxsize=1024)  # a line is cut for warnings, then for its model
def from_plain(text: str, language: str) -> str:
    """Segment a sentence into words, separated by spaces.

    English goes to lower case; "don't" becomes "don 't", as it stands in
    small_parallel_enja. Japanese is segmented by janome unless it has spaces
    already; its words are a little longer than those of the corpus (KyTea).

    Args:
        text: one sentence.
        language: ``"en"`` or ``"ja"``.

    Raises:
        ConfigError: another language.
    """
    if language == "en":
        text = text.lower().replace("’", "'")
        text = _CLITIC.sub(r" \1", text)
        text = _PUNCTUATION.sub(r" \1 ", text.replace('"', " '' "))
        return " ".join(_NUMBER.sub(r"\1", text).split())
    _require_japanese(language)
    if " " in text.strip():
        return " ".join(text.split())
    return " ".join(segmenter().tokenize(text, wakati=True))


def to_plain(text: str, language: str) -> str:
    """Join words separated by spaces into plain text.

    Args:
        text: one sentence.
        language: ``"en"`` or ``"ja"``.

    Raises:
        ConfigError: another language.
    """
    if language == "en":
        text = re.sub(r"\bi\b", "I", _BEFORE.sub("", text))
        return text[:1].upper() + text[1:]
    _require_japanese(language)
    words = text.split()
    joined = "".join(words[:1])
    for before, word in pairwise(words):
        apart = _is_latin(before[-1]) and _is_latin(word[0])
        joined += f" {word}" if apart else word
    return joined


def settled(text: str, language: str) -> str:
    """The prefix of a growing text that :func:`to_plain` will not change.

    What is added to an English word can change how it is written ("i" in
    front of "n"); so its last word is left out. In Japanese nothing changes.

    Args:
        text: the beginning of a sentence.
        language: ``"en"`` or ``"ja"``.
    """
    return text.rpartition(" ")[0] if language == "en" else text


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN")


def _require_japanese(language: str) -> None:
    if language != "ja":
        raise ConfigError(
            f"no rules for {language!r}: choose 'en' or 'ja', or give text "
            "cut into words and --as-is."
        )


@cache
def segmenter():
    """The segmenter for Japanese, janome; created once."""
    from janome.tokenizer import Tokenizer  # reads its dictionary: 0.5 s

    return Tokenizer()
