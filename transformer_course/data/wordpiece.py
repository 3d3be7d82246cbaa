"""WordPiece, BERT's tokenization: into words, then subwords (chapter 18).

The rules are those of BERT (Devlin et al. 2019) as Hugging Face's tokenizers
have them: clean, split, lower the case, strip accents; then, word by word,
take the longest piece that fits until nothing is left. BERT's own code differs
in rare characters and in very long words. What WordPiece loses cannot be
brought back: ``Tokenizer`` is the one whose text comes back.
"""

import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformer_course import files
from transformer_course.errors import TokenizerError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Pieces that every vocabulary of BERT has."""
VOCABULARY, SETTINGS = "vocab.txt", "tokenizer_config.json"
"""Names of the files, as Hugging Face's library writes them."""
MOST_CHARACTERS = 100
"""Maximum length of a word; longer ones become [UNK]. (200 in BERT's own
code, 100 in Hugging Face's.)"""
IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Blocks whose characters are words of their own: kanji, but not kana. (BERT's
own code begins the last but one at 2B820.)"""


def words_of(text: str, lower_case: bool = True) -> list[str]:
    """The text's words, as BERT sees them: its "basic tokenisation".

    Control characters go, each ideograph and each sign of punctuation stands
    alone. With ``lower_case`` capitals are lowered and accents are stripped:
    *é* becomes *e*, and が becomes か.

    Args:
        text: any text.
        lower_case: as the vocabulary was made.
    """
    spaced = "".join(_spaced(c) for c in text if not _is_control(c))
    if lower_case:
        parts = unicodedata.normalize("NFD", spaced)
        bare = (c for c in parts if unicodedata.category(c) != "Mn")
        spaced = "".join(c.lower() for c in bare)
    separated = "".join(f" {c} " if _is_punctuation(c) else c for c in spaced)
    return separated.split()


def _is_control(character: str) -> bool:
    if character in "\t\n\r":
        return False
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd"


def _spaced(character: str) -> str:
    code = ord(character)
    alone = any(low <= code <= high for low, high in IDEOGRAPHS)
    return f" {character} " if alone else character


def _is_punctuation(character: str) -> bool:
    """Unicode's, and every other sign of ASCII, such as $ and ^."""
    if character.isascii():
        return character.isprintable() and not (
            character.isalnum() or character == " "
        )
    return unicodedata.category(character).startswith("P")


class WordPiece:
    """A WordPiece vocabulary and its tokenization.

    Args:
        pieces: each piece's id is its place. One that goes on with a word
            begins with ``##``.
        lower_case: whether case and accents are dropped first.

    Raises:
        TokenizerError: a special piece is missing.
    """

    def __init__(self, pieces: Iterable[str], lower_case: bool = True):
        self._pieces = list(pieces)
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self.lower_case = lower_case
        lacking = [piece for piece in SPECIAL if piece not in self._ids]
        if lacking:
            raise TokenizerError(
                f"these {len(self._pieces):,} pieces have no {lacking[0]}, "
                "which BERT needs: give the vocab.txt of a BERT."
            )

    def save(self, folder: str | Path) -> None:
        """Write the vocabulary and the settings for :meth:`load`."""
        text = "".join(f"{piece}\n" for piece in self._pieces)
        (Path(folder) / VOCABULARY).write_text(text, encoding="utf-8")
        settings = json.dumps({"do_lower_case": self.lower_case})
        (Path(folder) / SETTINGS).write_text(f"{settings}\n")

    @classmethod
    def load(cls, folder: str | Path) -> "WordPiece":
        """Read ``vocab.txt``, a piece a line, and ``tokenizer_config.json``.

        Raises:
            TokenizerError: no such vocabulary, not text, none of BERT, or one
                for text that is cut in another way.
        """
        path = Path(folder) / VOCABULARY
        lower_case = _lower_case(Path(folder) / SETTINGS)
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise TokenizerError(
                f"{path} cannot be read as a vocabulary ({error}): give a "
                "text file in UTF-8 with a piece in each line."
            ) from error
        if lines[-1] == "":
            lines.pop()
        try:
            return cls((line.removesuffix("\r") for line in lines), lower_case)
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from error

    @property
    def vocab_size(self) -> int:
        """Number of pieces, special ones included."""
        return len(self._pieces)

    @property
    def cls_id(self) -> int:
        """Id of [CLS], with which a row begins."""
        return self._ids["[CLS]"]

    @property
    def sep_id(self) -> int:
        """Id of [SEP], with which a text ends."""
        return self._ids["[SEP]"]

    @property
    def mask_id(self) -> int:
        """Id of [MASK], which stands for a hidden word."""
        return self._ids["[MASK]"]

    def id_of(self, piece: str) -> int:
        """Id of a piece; that of [UNK] for an unknown one."""
        return self._ids.get(piece, self._ids["[UNK]"])

    def piece(self, index: int) -> str:
        """Piece of one id."""
        return self._pieces[index]

    def cut(self, word: str) -> list[str]:
        """Split a word greedily, longest match first, from left to right.

        A word that cannot be spelt to its end is [UNK] as a whole.
        """
        if len(word) > MOST_CHARACTERS:
            return ["[UNK]"]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            piece = self._longest(word[start:], "##" if start else "")
            if piece is None:
                return ["[UNK]"]
            pieces.append(piece)
            start += len(piece) - (2 if start else 0)
        return pieces

    def _longest(self, rest: str, mark: str) -> str | None:
        candidates = (mark + rest[:end] for end in range(len(rest), 0, -1))
        return next((c for c in candidates if c in self._ids), None)

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text, without [CLS] and [SEP].

        Written in a text, [MASK] is the special piece, but [SEP] is the
        three words *[*, *sep* and *]*.
        """
        first, *others = text.split("[MASK]")
        found = self._pieces_of(first)
        for part in others:
            found += ["[MASK]", *self._pieces_of(part)]
        return found

    def _pieces_of(self, text: str) -> list[str]:
        words = words_of(text, self.lower_case)
        return [piece for word in words for piece in self.cut(word)]

    def encode(self, text: str) -> list[int]:
        """Ids of a text's pieces, without [CLS] and [SEP]."""
        return [self.id_of(piece) for piece in self.pieces(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """Words of these pieces, with spaces between; special ones dropped."""
        pieces = [self._pieces[int(i)] for i in ids]
        text = " ".join(p for p in pieces if p not in SPECIAL)
        return text.replace(" ##", "")

    def unknown(self, text: str) -> list[str]:
        """Words that the vocabulary cannot spell."""
        words = dict.fromkeys(words_of(text, self.lower_case))
        return [word for word in words if self.cut(word) == ["[UNK]"]]


def _lower_case(path: Path) -> bool:
    """Whether the pieces are for text without capitals, as their settings
    say; without a file, they are.

    Raises:
        TokenizerError: the settings ask for what BERT's own code does not do.
    """
    try:
        settings: dict[str, Any] = (
            files.read_json(path) if path.exists() else {}
        )
    except (OSError, ValueError) as error:
        raise TokenizerError(
            f"{path} cannot be read ({error}): copy it again."
        ) from error
    lower_case = settings.get("do_lower_case", True)
    expected = {
        "tokenizer_class": ("BertTokenizer", "BertTokenizerFast", None),
        "tokenize_chinese_chars": (True,),
        "strip_accents": (lower_case, None),
        "do_lower_case": (True, False),
    }
    for key, allowed in expected.items():
        if settings.get(key, allowed[0]) not in allowed:
            raise TokenizerError(
                f"{path} says {key} {settings[key]!r}: text would be cut "
                "otherwise than by BERT's own code, which this package does "
                "not support."
            )
    return lower_case
