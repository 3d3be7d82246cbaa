"""Count n-grams in Soseki, the baseline of chapter 16's language model.

    python tools/train_ngrams.py outputs/soseki-lm

The text is cut up by the tokenizer of that run, so that perplexities can be
compared token by token, and then by characters. Held-out works are scored,
chapter by chapter: ``texts.npz`` holds the nats of each (PART-UNIT-ORDER). The
longest model of characters also writes a few texts.
"""

import random
import sys
from pathlib import Path

import numpy as np

from transformer_course import runs
from transformer_course.data.corpora import load_texts
from transformer_course.device import machine
from transformer_course.ngram import KneserNey
from transformer_course.tokenizer import EOS, Tokenizer

ORDERS = (1, 2, 3, 4, 5)
NAME = "soseki-ngrams"
COMMAND = "python tools/train_ngrams.py outputs/soseki-lm"
DRAWN = 5
"""Texts that are drawn."""
LENGTH = 60
"""Characters of each at the most."""
SEED = 0

Nats = dict[str, np.ndarray]


def score(nats: list[float], texts: list[list], lines: list[str]) -> dict:
    """Nats per token (eos counted) and per character."""
    nll = sum(nats)
    tokens, characters = sum(map(len, texts)), sum(map(len, lines))
    return {
        "nll": round(nll / tokens, 4),
        "tokens": tokens,
        "characters": characters,
        "nll_per_character": round(nll / characters, 4),
    }


def draw(model: KneserNey, vocabulary: list, seed: int) -> str:
    """A text, character after character, by the model's probabilities."""
    generator = random.Random(seed)
    text: list[str] = []
    while len(text) < LENGTH:
        chances = [model.probability(text, token) for token in vocabulary]
        (token,) = generator.choices(vocabulary, chances)
        if token == EOS:
            break
        text.append(token)
    return "".join(text)


def compare(cut, vocabulary: list, splits, unit: str) -> tuple:
    """Every order, learned from the training works.

    Returns:
        A row for each order, the nats of each text, the longest model.
    """
    parts = {
        name: [cut(text) for text in getattr(splits, name).tgt]
        for name in ("train", "dev", "test")
    }
    rows, kept = [], {}
    for order in ORDERS:
        model = KneserNey(parts["train"], order, len(vocabulary))
        row = {"order": order}
        for name in ("dev", "test"):
            nats = [model.nll(text) for text in parts[name]]
            row[name] = score(nats, parts[name], getattr(splits, name).tgt)
            kept[f"{name}-{unit}-{order}"] = np.array(nats, dtype=np.float32)
        print(row, flush=True)
        rows.append(row)
    return rows, kept, model


def main() -> None:
    """Take the run's folder from the command line."""
    tokenizer = Tokenizer.load(Path(sys.argv[1]) / "tokenizer.model")
    splits = load_texts("soseki")
    everything = [*splits.train.tgt, *splits.dev.tgt, *splits.test.tgt]
    characters = [*sorted(set("".join(everything))), EOS]
    pieces, nats, _ = compare(
        lambda text: [*tokenizer.encode(text), EOS],
        list(range(tokenizer.vocab_size)),
        splits,
        "pieces",
    )
    letters, more, model = compare(
        lambda text: [*text, EOS], characters, splits, "characters"
    )
    about = {
        "command": COMMAND,
        "machine": machine(),
        "seed": SEED,
        "pieces": pieces,
        "characters": letters,
        "drawn": [draw(model, characters, SEED + i) for i in range(DRAWN)],
    }
    runs.write_json(runs.folder(NAME) / "ngrams.json", about, indent=1)
    runs.write_arrays(runs.folder(NAME) / "texts.npz", nats | more)


if __name__ == "__main__":
    main()
