"""Word segmentation of plain text, and its inverse.

The parallel corpora are cut up beforehand: English in lower case with
punctuation and clitics apart, as the Stanford tokenizer does it, Japanese
into short words. These rules bring a reader's own sentence near to that.
"""

import re
from functools import cache, lru_cache
from itertools import pairwise
from unicodedata import name, normalize

from transformer_course.errors import ConfigError

LANGUAGES = ("en", "ja")
"""Languages that there are rules for."""
_STRAIGHT = str.maketrans("‘’“”„", '\'\'"""')
_PART = r"[^\s.,!?;:()'\"]+"
_TITLE = r"\b(?:mrs?|ms|dr)\."
_SHORT = r"'(?:n'|em|tis|twas|till?|cause|\d0s)(?!\w)"
"""Words that begin with an apostrophe: rock 'n' roll, give 'em, the '90s."""
_TOKEN = re.compile(
    rf"(?:[a-z]\.){{2,}}|{_TITLE}|(?<!\w){_SHORT}"  # u.s., mr., 'em
    rf"|{_PART}(?:(?:\.|(?<=\d)[,:](?=\d)){_PART})*"  # 10:30, a.org
    r"|(?<=\w)'[^\W\d_]+"  # the 's of it's
    r"|\.+|\S"
)
_DOUBLE_QUOTED = re.compile(r"''((?:(?: .*?)?? '')?)")
_SINGLE_QUOTED = re.compile(r"(?:^|(?<=, ))'((?: .*?[,.!?] '(?= |$))?)")
_JOINED = re.compile(rf" (?!{_SHORT})(?=[.,!?;:)'”])|(?<=[“‘(]) ")
_CAPITAL = re.compile(
    r"(?:^|(?<=\w\w[.!?] )|(?<=, )(?=[“‘]))[“‘(]*[^\W\d_]|\bi\b(?!\.\w)"
)
_TITLED = re.compile(rf"{_TITLE}(?: (?:and|or)\b)?", re.I)
_UNSPACED = (
    "[\u0e00-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]"
)
_HALF_WIDTH = re.compile("[｡-ﾟ]+")
_GAP = re.compile(rf"(?<={_UNSPACED})[ ]*(?={_UNSPACED})")
MIN_GAPS = 0.25
"""Share of the :func:`gaps` with a space, from which on spaces separate words
in Japanese. Every line of small_parallel_enja has more."""


@lru_cache(maxsize=1024)  # a line is cut for warnings, then for its model
def from_plain(text: str, language: str) -> str:
    """Segment a sentence into words, separated by spaces.

    English goes to lower case; "don't" becomes "don 't", and a quotation
    mark '', as in small_parallel_enja. Japanese is segmented by janome unless
    spaces separate its words (:data:`MIN_GAPS`); others are removed. Its
    words are a little longer than those of the corpus (KyTea).

    Args:
        text: one sentence.
        language: ``"en"`` or ``"ja"``.

    Raises:
        ConfigError: another language.
    """
    text = normalize("NFC", text)
    if language == "en":
        words = _TOKEN.findall(text.lower().translate(_STRAIGHT))
        return " ".join(words).replace('"', "''")
    _require_japanese(language)
    text = _HALF_WIDTH.sub(lambda m: normalize("NFKC", m[0]), text)
    text = " ".join(text.split())
    found = gaps(text)
    if found.count(" ") < MIN_GAPS * len(found) or " " not in text:
        words = segmenter().tokenize(to_plain(text, "ja"), wakati=True)
        text = " ".join(" ".join(words).split())
    return text


def to_plain(text: str, language: str) -> str:
    """Join words separated by spaces into plain text.

    It undoes :func:`from_plain`, but English capitals are those of the
    beginning of a sentence, of "I", of a title ("Mr.") and of the name after
    it.

    Args:
        text: one sentence.
        language: ``"en"`` or ``"ja"``.

    Raises:
        ConfigError: another language.
    """
    if language == "en":
        text = _DOUBLE_QUOTED.sub(r"“\1", text).replace("''", "”")
        text = _JOINED.sub("", _SINGLE_QUOTED.sub(r"‘\1", text))
        text = _CAPITAL.sub(lambda m: m[0][:-1] + m[0][-1].upper(), text)
        text = _TITLED.sub(lambda m: m[0].capitalize(), text)
        return text.translate(_STRAIGHT)
    _require_japanese(language)
    words = text.split()
    joined = "".join(words[:1])
    for before, word in pairwise(words):
        spaced = _is_latin(before[-1]) and _is_latin(word[0])
        joined += f" {word}" if spaced else word
    return joined


def gaps(text: str) -> list[str]:
    """What separates neighbours in scripts without spaces: mostly ``""``.

    Those of Thai, Lao, Tibetan, Burmese, Khmer, Chinese and Japanese.
    """
    return _GAP.findall(text)


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
    return name(character, "").startswith("LATIN")


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
