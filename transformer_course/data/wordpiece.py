"""WordPiece, BERT's tokenization: into words, then subwords (chapter 18).

The rules are those of BERT (Devlin et al. 2019) as Hugging Face's tokenizers
have them: clean, split, lower the case, strip accents; then, word by word,
take the longest piece that fits until nothing is left. BERT's own code differs
in rare characters and in very long words. What WordPiece loses cannot be
brought back: ``Tokenizer`` is the one whose text comes back.
"""

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from transformer_course.errors import TokenizerError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Pieces that every vocabulary of BERT has, and no text is cut into."""
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
    apart = "".join(f" {c} " if _is_punctuation(c) else c for c in spaced)
    return apart.split()


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
        TokenizerError: a special piece is missing, or a piece stands twice.
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
        if len(self._ids) < len(self._pieces):
            seen = next(
                piece
                for i, piece in enumerate(self._pieces)
                if self._ids[piece] != i
            )
            raise TokenizerError(
                f"the piece {seen!r} stands twice in the vocabulary, so its "
                "id is not known: give the vocab.txt as it was published."
            )

    @classmethod
    def load(cls, path: str | Path, lower_case: bool = True) -> "WordPiece":
        """Read a ``vocab.txt``: one piece a line.

        Raises:
            TokenizerError: no such file, not text, or no vocabulary of BERT.
        """
        path = Path(path)
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
        """Pieces of a text, without special ones except [UNK].

        Written in a text, [SEP] is the three words *[*, *sep* and *]*.
        """
        words = words_of(text, self.lower_case)
        return [piece for word in words for piece in self.cut(word)]

    def encode(self, text: str, second: str | None = None) -> list[int]:
        """Ids of [CLS] text [SEP], or of [CLS] text [SEP] second [SEP]."""
        pieces = ["[CLS]", *self.pieces(text), "[SEP]"]
        if second is not None:
            pieces += [*self.pieces(second), "[SEP]"]
        return [self.id_of(piece) for piece in pieces]
