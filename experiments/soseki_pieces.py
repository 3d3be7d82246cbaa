"""Into which pieces should Soseki be cut?

Learns from nineteen works and counts on the one that was kept back. Two of
the SentencePiece models are stored beside the counts. About four minutes.
"""

import functools
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import sentencepiece
from janome.tokenizer import Tokenizer as Dictionary

from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.aozora import soseki
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

HELD_OUT = "坊っちゃん"
VOCABULARY = 8000
OTHER_SIZES = (6500, 12_000, 16_000, 32_000)
SPECIAL = 4
"""pad, bos, eos and unk."""
KEPT_MODELS = ("bpe", "unigram")
EXAMPLES = (
    "吾輩は猫である。",
    "親譲りの無鉄砲で小供の時から損ばかりしている。",
    "吾輩は🐈である。",
)
CHECKED = 50
"""Held-out sentences that are kept, to compare segmentations on."""
POINTS = 60
"""Places at which the growth of a vocabulary is looked at."""
FEW_PIECES = 500
"""A vocabulary in a smoke test."""

Cut = Callable[[str], Sequence[str]]


class Listed:
    """A vocabulary that is a list: what is not on it is unknown."""

    def __init__(self, cut: Cut, known: Iterable[str]):
        self.pieces = cut
        self.known = set(known)
        self.vocab_size = len(self.known) + SPECIAL

    def unknown(self, text: str) -> list[bool]:
        """For each piece, whether it has no number."""
        return [piece not in self.known for piece in self.pieces(text)]

    def there_and_back(self, text: str) -> str:
        """The text that is made from its numbers."""
        kept = [p if p in self.known else "?" for p in self.pieces(text)]
        return "".join(kept)


class Bytes(Listed):
    """One piece for each byte of UTF-8."""

    def __init__(self):
        super().__init__(byte_pieces, map("{:02X}".format, range(256)))

    def there_and_back(self, text: str) -> str:
        """The text that is made from its numbers."""
        return bytes.fromhex("".join(self.pieces(text))).decode()


class Learned:
    """A SentencePiece model."""

    def __init__(self, model: bytes):
        self.processor = sentencepiece.SentencePieceProcessor(
            model_proto=model
        )
        self.model = model
        self.vocab_size = self.processor.get_piece_size()

    def pieces(self, text: str) -> list[str]:
        """The text cut up."""
        return self.processor.encode(text, out_type=str)

    def unknown(self, text: str) -> list[bool]:
        """For each piece, whether it has no number."""
        return [i == UNK for i in self.processor.encode(text)]

    def there_and_back(self, text: str) -> str:
        """The text that is made from its numbers."""
        return self.processor.decode(self.processor.encode(text))


def learn(lines: list[str], **changed) -> Learned:
    """A SentencePiece model as the course trains it, with some changes.

    It leaves out lines of more than 4,192 bytes, as SentencePiece does by
    itself, and the course's tokenizer does not.
    """
    model = io.BytesIO()
    settings = {
        "vocab_size": VOCABULARY,
        "model_type": "bpe",
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "byte_fallback": True,
        "character_coverage": 1.0,
    }
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        num_threads=1,
        minloglevel=2,
        **settings | changed,
    )
    return Learned(model.getvalue())


def byte_pieces(text: str) -> list[str]:
    """One piece for each byte of UTF-8."""
    return [f"{byte:02X}" for byte in text.encode()]


def count(segmenter, sentences: list[str]) -> dict:
    """Length, unknown pieces and losses on held-out sentences."""
    cut = [segmenter.pieces(sentence) for sentence in sentences]
    unknown = [segmenter.unknown(sentence) for sentence in sentences]
    same = [segmenter.there_and_back(s) == s for s in sentences]
    return {
        "vocabulary": segmenter.vocab_size,
        "pieces": sum(map(len, cut)),
        "unknown_pieces": sum(map(sum, unknown)),
        "sentences_lost": len(sentences) - sum(same),
        "examples": [list(segmenter.pieces(text)) for text in EXAMPLES],
    }


def growth(cut: list[Sequence[str]], characters: int) -> dict:
    """Numbers of different pieces, as more and more text is read."""
    seen: set[str] = set()
    read, every = 0, characters / POINTS
    points = [[0, 0]]
    for pieces in cut:
        seen.update(pieces)
        read += sum(map(len, pieces))
        if read >= every * len(points):
            points.append([read, len(seen)])
    return {"read_and_seen": points}


def by_length(segmenter: Learned) -> dict[str, int]:
    """Numbers of pieces of 1, 2, 3 ... characters, without bytes."""
    ids = range(SPECIAL, segmenter.vocab_size)
    names = [
        segmenter.processor.id_to_piece(i)
        for i in ids
        if not segmenter.processor.is_byte(i)
    ]
    return dict(sorted(Counter(str(len(name)) for name in names).items()))


# --- the text ----------------------------------------------------------------


@functools.cache
def read_text(smoke: bool) -> tuple[list[str], list[str]]:
    """Sentences to learn from, and those of the work kept back."""
    if smoke:
        corpus = grammar_corpus(300, 1, 10)
        return corpus.train.tgt, corpus.test.tgt
    learned, kept = [], []
    for work in soseki():
        part = kept if work.title == HELD_OUT else learned
        part.extend(work.sentences)
    return learned, kept


@functools.cache
def dictionary() -> Dictionary:
    """Janome's."""
    return Dictionary(wakati=True)


def words_of(text: str) -> list[str]:
    """The words that the dictionary finds."""
    return list(dictionary().tokenize(text))


@functools.cache
def cut_text(smoke: bool) -> list[list[str]]:
    """The words of each sentence to learn from; a few minutes."""
    return [words_of(line) for line in read_text(smoke)[0]]


def known_only(sentences: list[str], letters: set[str]) -> list[str]:
    """Sentences made of characters that were seen."""
    return [s for s in sentences if set(s) <= letters]


def about_text(context: RunContext) -> Record:
    """Length of the text, and growth of its vocabulary."""
    lines, held_out = read_text(context.smoke)
    characters = sum(map(len, lines))
    return {
        "held_out": {
            "work": HELD_OUT,
            "sentences": len(held_out),
            "characters": sum(map(len, held_out)),
        },
        "checked": known_only(held_out, set("".join(lines)))[:CHECKED],
        "growth": {
            "characters": growth(lines, characters),
            "words": growth(cut_text(context.smoke), characters),
        },
    }


# --- the segmentations -------------------------------------------------------


def listed_characters(context: RunContext) -> Listed:
    """All characters that were seen."""
    return Listed(list, set("".join(read_text(context.smoke)[0])))


def listed_words(most: int | None, context: RunContext) -> Listed:
    """The most frequent words; all when None."""
    words = (word for line in cut_text(context.smoke) for word in line)
    return Listed(words_of, (w for w, _ in Counter(words).most_common(most)))


def of_the_course(kind: str, size: int, context: RunContext) -> Learned:
    """A model by the package's own :meth:`Tokenizer.train`."""
    lines, size = read_text(context.smoke)[0], context.limit(size, FEW_PIECES)
    return Learned(Tokenizer.train(lines, size, kind).model_proto)


def learned(context: RunContext, **changed) -> Learned:
    """A model in which a setting of the course's is another."""
    size = context.limit(VOCABULARY, FEW_PIECES)
    return learn(read_text(context.smoke)[0], vocab_size=size, **changed)


def measure(
    name: str,
    about: str,
    make: Callable[[RunContext], Listed | Learned],
    context,
) -> Record:
    """Learn to cut the text, and count."""
    segmenter = make(context)
    counts = count(segmenter, read_text(context.smoke)[1])
    entry = {"about": about, **counts}
    if isinstance(segmenter, Learned):
        entry["pieces_by_length"] = by_length(segmenter)
    if name in KEPT_MODELS:
        context.folder.mkdir(parents=True, exist_ok=True)
        (context.folder / f"{name}.model").write_bytes(segmenter.model)
    return entry


SEGMENTATIONS = {
    "bytes": ("bytes of UTF-8", lambda context: Bytes()),
    "characters": ("characters", listed_characters),
    "words": ("words, all that were seen", partial(listed_words, None)),
    "words-8000": (
        "words, the 8,000 most frequent",
        partial(listed_words, VOCABULARY - SPECIAL),
    ),
    "bpe": ("BPE", partial(of_the_course, "bpe", VOCABULARY)),
    "unigram": ("unigram", partial(of_the_course, "unigram", VOCABULARY)),
    "bpe-no-bytes": ("BPE, no bytes", partial(learned, byte_fallback=False)),
    "bpe-nfkc": (
        "BPE, default normalisation",
        partial(learned, normalization_rule_name="nmt_nfkc"),
    ),
    "bpe-coverage": (
        "BPE, rare characters as bytes",
        partial(learned, character_coverage=0.9995),
    ),
    **{
        f"bpe-{size}": (
            f"BPE, {size:,} pieces",
            partial(of_the_course, "bpe", size),
        )
        for size in OTHER_SIZES
    },
}


EXPERIMENT = Experiment(
    name="soseki-pieces",
    chapter="02_tokens_and_embeddings",
    variants={
        "text": about_text,
        **{n: partial(measure, n, *how) for n, how in SEGMENTATIONS.items()},
    },
    measure=lambda measure, seed, context: measure(context),
    seeds=(0,),
    smoke_variants=("text", "bytes", "characters", "words-8000", "bpe"),
)
