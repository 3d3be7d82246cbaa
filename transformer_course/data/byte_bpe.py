"""Byte-level BPE: a published tokenizer, by hand (chapter 22).

GPT-2's scheme (Radford et al. 2019, section 2.2), with which SmolLM2 cuts its
texts. A text is cut into words, each word is spelt in bytes, and pairs of
neighbouring pieces are merged in the order in which training found them.
What a vocabulary has no piece for is left out, as Hugging Face's library does:
in SmolLM2's, six control characters and bytes of planes that Unicode has not
used.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

import regex

WORDS = regex.compile(
    r"\p{N}"
    r"|'s|'t|'re|'ve|'m|'ll|'d"
    r"| ?\p{L}+"
    r"| ?[^\s\p{L}\p{N}]+"
    r"|\s+(?=\p{N})"
    r"|\s+(?!\S)"
    r"|\s+"
)
"""Words of GPT-2, but that each digit is a word, without a space in front."""


def byte_signs() -> list[str]:
    """The printable character that stands for each byte in a piece.

    Printable bytes of Latin-1 stand for themselves, the others for the
    characters from U+0100 on: a space is ``Ġ``.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    signs = dict(zip(printable, map(chr, printable), strict=True))
    rest = (byte for byte in range(256) if byte not in signs)
    signs |= {byte: chr(256 + i) for i, byte in enumerate(rest)}
    return [signs[byte] for byte in range(256)]


class ByteBPE:
    """A tokenizer whose smallest pieces are bytes.

    Args:
        pieces: in the order of their ids, their bytes as
            :func:`byte_signs` writes them.
        merges: pairs of pieces that are joined, first ones first.
        special: pieces that a text may name, such as ``<|im_end|>``, and
            that are never cut.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        merges: Iterable[tuple[str, str]],
        special: Iterable[str] = (),
    ):
        self._pieces = list(pieces)
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._special = frozenset(special)
        self._signs = byte_signs()
        self._bytes = {sign: byte for byte, sign in enumerate(self._signs)}
        self._known: dict[str, list[int]] = {}
        longest_first = sorted(self._special, key=len, reverse=True)
        self._split = regex.compile(
            f"({'|'.join(map(regex.escape, longest_first)) or '(?!)'})"
        )

    @property
    def vocab_size(self) -> int:
        """Number of pieces."""
        return len(self._pieces)

    def piece(self, index: int) -> str:
        """Piece of one id, its bytes as :func:`byte_signs` writes them."""
        return self._pieces[index]

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text."""
        return [self.piece(i) for i in self.encode(text)]

    def encode(self, text: str, special: bool = True) -> list[int]:
        """Ids of a text.

        Args:
            text: any text.
            special: whether special pieces in it are recognised. What
                somebody else has written should not name them.
        """
        found = []
        for part in self._split.split(text) if special else [text]:
            if special and part in self._special:
                found.append(self._ids[part])
            else:
                for word in WORDS.findall(part):
                    found += self._ids_of(word)
        return found

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, without special pieces.

        Incomplete characters become U+FFFD.
        """
        pieces = (self.piece(i) for i in ids)
        signs = "".join(p for p in pieces if p not in self._special)
        spelt = bytes(self._bytes[sign] for sign in signs)
        return spelt.decode("utf-8", errors="replace")

    def unknown(self, text: str) -> list[str]:
        """Characters of a text that have no piece at all."""
        return [c for c in dict.fromkeys(text) if not self.encode(c)]

    def _ids_of(self, word: str) -> list[int]:
        """Ids of one word, which are kept for the next time."""
        if word not in self._known:
            signs = [self._signs[byte] for byte in word.encode()]
            known = [sign for sign in signs if sign in self._ids]
            self._known[word] = [self._ids[p] for p in self._merged(known)]
        return self._known[word]

    def _merged(self, parts: list[str]) -> list[str]:
        """Join the pair that training found first, until none is left.

        A join changes only the pairs on its two sides, so the others stay in
        a heap: the time of a long word grows little faster than its length.
        """
        end = len(parts)
        parts = [*parts, ""]  # the last one joins with none
        before, after = [end, *range(end)], [*range(1, end + 1), end]
        pairs: list[tuple[int, int]] = []

        def rank(i: int) -> int | None:
            return self._ranks.get((parts[i], parts[after[i]]))

        def offer(i: int) -> None:
            if (found := rank(i)) is not None:
                heappush(pairs, (found, i))

        for i in range(end):
            offer(i)
        while pairs:
            found, i = heappop(pairs)
            if found != rank(i):  # one of the two has been joined since
                continue
            j = after[i]
            parts[i], parts[j] = parts[i] + parts[j], ""
            after[i], before[after[j]] = after[j], i
            offer(before[i])
            offer(i)
        return [part for part in parts if part]
