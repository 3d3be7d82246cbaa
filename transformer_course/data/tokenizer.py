"""Text to ids and back, by SentencePiece.

Text is cut as it stands (``normalization_rule_name="identity"``), and a
character never seen is spelt as bytes, so that ``decode(encode(text))`` is
``text``. One character is the exception: ``▁`` (U+2581), SentencePiece's own
sign for a space, comes back as a space. Chapter 02 explains the pieces.
"""

import hashlib
import io
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np
import sentencepiece

from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.wordpiece import WordPiece
from transformer_course.errors import TokenizerError

PAD, BOS, EOS, UNK = 0, 1, 2, 3
MASK_PIECE = "[MASK]"
"""The mask token (chapter 18)."""
BYTE = re.compile(r"<0x[0-9A-F]{2}>")
"""A piece that is one byte of a character."""
WAYS = 64
"""Ways to cut a text, the likeliest, among which one is drawn."""


class Tokenizer:
    """A trained SentencePiece model with pad 0, bos 1, eos 2, unk 3."""

    cls_id, sep_id = BOS, EOS
    """BERT's names of the first id of a row, and of a text's last."""

    def __init__(self, model_proto: bytes):
        self.model_proto = model_proto
        try:
            self._processor = sentencepiece.SentencePieceProcessor(
                model_proto=model_proto
            )
        except RuntimeError as error:
            raise TokenizerError(
                "these bytes are not a SentencePiece model: give the "
                "tokenizer.model that was saved with the checkpoint."
            ) from error
        special = [
            self._processor.pad_id(),
            self._processor.bos_id(),
            self._processor.eos_id(),
            self._processor.unk_id(),
        ]
        if special != [PAD, BOS, EOS, UNK]:
            raise TokenizerError(
                f"pad, bos, eos, unk are {special} in this SentencePiece "
                "model, but 0, 1, 2, 3 here: train it with Tokenizer.train."
            )

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        vocab_size: int,
        model_type: Literal["unigram", "bpe", "word", "char"] = "unigram",
        masked: bool = False,
    ) -> "Tokenizer":
        """Train a SentencePiece model on lines of text.

        Args:
            lines: the text; empty lines are passed over.
            vocab_size: number of pieces, with the four special ones and the
                256 bytes (``"word"`` and ``"char"`` have no bytes). Fewer
                are made when the text does not hold so many.
            model_type: SentencePiece's kind of model.
            masked: whether there is a piece that stands for a hidden word;
                :data:`MASK_PIECE` in a text is cut into it.

        Raises:
            TokenizerError: no text, or a vocabulary that is too small to
                hold each character.
        """
        lines = [line for line in lines if line.strip()]
        if not lines:
            raise TokenizerError(
                "there is no text to learn pieces from: every line is empty."
            )
        by_bytes = model_type in ("unigram", "bpe")
        model = io.BytesIO()
        least = UNK + 2 + masked
        try:
            if vocab_size < least:
                raise ValueError(f"they need at least {least}.")
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                vocab_size=vocab_size,
                model_type=model_type,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                byte_fallback=by_bytes,
                max_sentence_length=max(10, *(len(x.encode()) for x in lines)),
                character_coverage=1.0,
                hard_vocab_limit=False,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                user_defined_symbols=[MASK_PIECE] if masked else [],
                num_threads=1,
                minloglevel=2,
            )
        except (RuntimeError, ValueError) as error:
            raise TokenizerError(
                f"no {model_type} vocabulary of {vocab_size} pieces can be "
                f"made from these {len(lines):,} lines: {_reason(str(error))} "
                "Choose another vocab_size."
            ) from error
        return cls(model.getvalue())

    def cuts_like(self, other: "Tokenizer") -> bool:
        """True if another tokenizer has the same pieces with the same scores.

        The files of two such tokenizers may differ in what they say of their
        training.
        """
        return self.scored_pieces() == other.scored_pieces()

    def scored_pieces(self) -> list[tuple[str, float]]:
        """Each piece and its score by id: log-probabilities in a unigram."""
        processor, ids = self._processor, range(self.vocab_size)
        return [
            (processor.id_to_piece(i), processor.get_score(i)) for i in ids
        ]

    @property
    def vocab_size(self) -> int:
        """Number of pieces, special ones included."""
        return self._processor.get_piece_size()

    @property
    def mask_id(self) -> int:
        """Id of the mask token.

        Raises:
            TokenizerError: it was trained without one.
        """
        for piece in (f"▁{MASK_PIECE}", MASK_PIECE):  # whole words have a ▁
            index = self._processor.piece_to_id(piece)
            if index != UNK:
                return index
        raise TokenizerError(
            f"these pieces have no {MASK_PIECE}, so no word can be hidden: "
            "use a model that was pre-trained on masked words."
        )

    @property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the model's bytes; stored in checkpoints."""
        return hashlib.sha256(self.model_proto).hexdigest()

    def pieces(self, text: str) -> list[str]:
        """Pieces of a text; ``▁`` represents a space."""
        return self._processor.encode(text, out_type=str)

    def encode(self, text: str) -> list[int]:
        """Ids of a text's pieces, without bos and eos."""
        return self._processor.encode(text)

    def encode_sampled(
        self, texts: Iterable[str], alpha: float, seed: int
    ) -> list[list[int]]:
        """Ids of each text, cut in a way that is drawn at random.

        Of the 64 likeliest ways to cut, one comes up with its probability
        under the unigram model to the power of ``alpha`` (Kudo 2018, section
        3.2). SentencePiece's own draw is not used: it differs from process
        to process, whatever its seed. Chapter 11.

        Args:
            texts: what to cut.
            alpha: above 0; the larger, the more often the likeliest.
            seed: fixes what is drawn.
        """
        generator = np.random.default_rng(seed)
        score = np.array(
            [self._processor.get_score(i) for i in range(self.vocab_size)]
        )

        def draw(text: str) -> list[int]:
            ways = self._processor.nbest_encode_as_ids(text, WAYS)
            logits = alpha * np.array([score[way].sum() for way in ways])
            # the largest of logits + Gumbel noise: a draw from their softmax
            return ways[np.argmax(logits + generator.gumbel(size=len(ways)))]

        return [draw(text) if text else [] for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """Text of ``ids``; pad, bos and eos are dropped.

        Raises:
            TokenizerError: an id outside the vocabulary.
        """
        ids = [int(i) for i in ids]
        wrong = [i for i in ids if not 0 <= i < self.vocab_size]
        if wrong:
            raise TokenizerError(
                f"id {wrong[0]} is outside the vocabulary of "
                f"{self.vocab_size} pieces: were the ids made with another "
                "tokenizer?"
            )
        return self._processor.decode(ids)

    def unknown(self, text: str) -> list[str]:
        """Words or characters that the vocabulary does not cover.

        Words, where the vocabulary is one of words; else characters, which
        are encoded as bytes. Every character of the training text is covered,
        so a model has learned nothing about these.
        """
        cut = zip(self.encode(text), self.pieces(text), strict=True)
        found: list[str] = []
        for is_byte, group in groupby(
            cut, lambda p: bool(BYTE.fullmatch(p[1]))
        ):
            if is_byte:
                found += self.decode(i for i, _ in group)
                continue
            for i, piece in group:  # neighbours unknown are one piece
                found += piece.replace("▁", " ").split() if i == UNK else []
        return list(dict.fromkeys(found))

    def piece(self, index: int) -> str:
        """Piece of one id."""
        return self._processor.id_to_piece(index)

    def save(self, path: str | Path) -> None:
        """Write the model to a file, for :meth:`load`."""
        Path(path).write_bytes(self.model_proto)

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a model that :meth:`save` wrote.

        Raises:
            TokenizerError: no such file, or not a SentencePiece model.
        """
        path = Path(path)
        try:
            return cls(Path(path).read_bytes())
        except OSError as error:
            raise TokenizerError(
                f"there is no tokenizer at {path} ({error.strerror}): "
                "expected a file written by Tokenizer.save."
            ) from error
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from error


AnyTokenizer = Tokenizer | WordPiece | ByteBPE
"""What cuts texts: our own pieces, or those of published weights."""


def _reason(said: str) -> str:
    """Why SentencePiece makes no pieces, without its advice, which names
    options that nobody has here."""
    if least := re.search(r"required_chars\. \d+ vs (\d+)", said):
        return f"they need at least {least[1]}."
    return said.splitlines()[-1].rpartition("] ")[2].strip()
