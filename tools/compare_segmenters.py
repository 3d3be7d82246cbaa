"""Cut Soseki into pieces in several ways, and count: for chapter 02.

    python tools/compare_segmenters.py

Learns from nineteen works and counts on the one that was kept back. Writes
``results.json`` and two SentencePiece models into ``runs/soseki-pieces/``.
About four minutes; a segmentation that is there already is kept: delete the
file to have all of them anew.
"""

import functools
import io
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import sentencepiece
from janome.tokenizer import Tokenizer as Dictionary

from transformer_course import runs
from transformer_course.data.aozora import soseki
from transformer_course.device import machine
from transformer_course.tokenizer import BOS, EOS, PAD, UNK, Tokenizer

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
    """A SentencePiece model as the course trains it, with some changes."""
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


def of_the_course(lines: list[str], size: int, kind: str) -> Learned:
    """A model by the package's own :meth:`Tokenizer.train`."""
    return Learned(Tokenizer.train(lines, size, kind).model_proto)


def byte_pieces(text: str) -> list[str]:
    """One piece for each byte of UTF-8."""
    return [f"{byte:02X}" for byte in text.encode()]


def count(segmenter, sentences: list[str]) -> dict:
    """Length, unknown pieces and losses on held-out sentences."""
    started = time.perf_counter()
    cut = [segmenter.pieces(sentence) for sentence in sentences]
    seconds = time.perf_counter() - started
    unknown = [segmenter.unknown(sentence) for sentence in sentences]
    same = [segmenter.there_and_back(s) == s for s in sentences]
    characters = sum(map(len, sentences))
    return {
        "vocabulary": segmenter.vocab_size,
        "pieces": sum(map(len, cut)),
        "unknown_pieces": sum(map(sum, unknown)),
        "sentences_with_unknown": sum(map(any, unknown)),
        "sentences_lost": len(sentences) - sum(same),
        "seconds_per_100k_characters": round(1e5 * seconds / characters, 2),
        "examples": [list(segmenter.pieces(text)) for text in EXAMPLES],
    }


def growth(cut: list[Sequence[str]], characters: int) -> dict:
    """How many different pieces there are, as more and more text is read."""
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
    """How many pieces there are of 1, 2, 3 ... characters, bytes apart."""
    ids = range(SPECIAL, segmenter.vocab_size)
    names = [
        segmenter.processor.id_to_piece(i)
        for i in ids
        if not segmenter.processor.is_byte(i)
    ]
    return dict(sorted(Counter(str(len(name)) for name in names).items()))


def segmentations(lines: list[str], cut_all: Callable, cut_words: Cut):
    """Name, what it is, and a function that makes the segmenter."""

    def listed_words(most: int | None) -> Listed:
        frequent = Counter(word for line in cut_all() for word in line)
        return Listed(cut_words, (w for w, _ in frequent.most_common(most)))

    def course(kind: str, size: int = VOCABULARY) -> Callable:
        return lambda: of_the_course(lines, size, kind)

    def changed(**settings) -> Callable:
        return lambda: learn(lines, **settings)

    yield "bytes", "bytes of UTF-8", Bytes
    yield "characters", "characters", lambda: Listed(list, set("".join(lines)))
    yield "words", "words, all that were seen", lambda: listed_words(None)
    yield (
        "words-8000",
        "words, the 8,000 most frequent",
        lambda: listed_words(VOCABULARY - SPECIAL),
    )
    yield "bpe", "BPE", course("bpe")
    yield "unigram", "unigram", course("unigram")
    yield "bpe-no-bytes", "BPE, no bytes", changed(byte_fallback=False)
    yield (
        "bpe-nfkc",
        "BPE, default normalisation",
        changed(normalization_rule_name="nmt_nfkc"),
    )
    yield (
        "bpe-coverage",
        "BPE, rare characters as bytes",
        changed(character_coverage=0.9995),
    )
    for size in OTHER_SIZES:
        yield f"bpe-{size}", f"BPE, {size:,} pieces", course("bpe", size)


def read_text() -> tuple[list[str], list[str]]:
    """Sentences to learn from, and those of the work kept back."""
    learned, kept = [], []
    for work in soseki():
        part = kept if work.title == HELD_OUT else learned
        part.extend(work.sentences)
    if not kept:
        raise SystemExit(f"there is no work {HELD_OUT} to keep back")
    return learned, kept


def known_only(sentences: list[str], letters: set[str]) -> list[str]:
    """Sentences made of characters that were seen."""
    return [s for s in sentences if set(s) <= letters]


def main() -> None:
    """Make what is missing."""
    folder = runs.folder("soseki-pieces")
    path = folder / "results.json"
    lines, held_out = read_text()
    results = {"segmenters": {}}
    if path.exists():
        results = json.loads(path.read_text("utf-8"))
    results |= {
        "command": "python tools/compare_segmenters.py",
        "machine": machine(),
        "held_out": {
            "work": HELD_OUT,
            "sentences": len(held_out),
            "characters": sum(map(len, held_out)),
        },
        "learned_from": {
            "sentences": len(lines),
            "characters": sum(map(len, lines)),
        },
        "checked": known_only(held_out, set("".join(lines)))[:CHECKED],
    }

    dictionary = Dictionary(wakati=True)

    def cut_words(text: str) -> list[str]:
        return list(dictionary.tokenize(text))

    @functools.cache
    def cut_all() -> list[list[str]]:
        print("cutting by the dictionary ...", flush=True)
        return [cut_words(line) for line in lines]

    if "growth" not in results:
        results["growth"] = {
            "characters": growth(lines, sum(map(len, lines))),
            "words": growth(cut_all(), sum(map(len, lines))),
        }
    for name, about, make in segmentations(lines, cut_all, cut_words):
        if name in results["segmenters"]:
            continue
        started = time.perf_counter()
        segmenter = make()
        seconds = round(time.perf_counter() - started, 1)
        counts = count(segmenter, held_out)
        entry = {"about": about, "seconds_to_learn": seconds, **counts}
        if isinstance(segmenter, Learned):
            entry["pieces_by_length"] = by_length(segmenter)
        if name in KEPT_MODELS:
            (folder / f"{name}.model").write_bytes(segmenter.model)
        results["segmenters"][name] = entry
        runs.write_json(path, results, indent=1)
        print(name, seconds, {**counts, "examples": ""}, flush=True)


if __name__ == "__main__":
    main()
