"""Count n-grams in Soseki, the baseline of chapter 16's language model.

    python tools/train_ngrams.py outputs/soseki-lm

The text is cut up by the tokenizer of that run, so that perplexities can be
compared token by token, and then by characters. Held-out works are scored.
"""

import sys
from pathlib import Path

from transformer_course import runs
from transformer_course.data.corpus import load_corpus
from transformer_course.ngram import KneserNey
from transformer_course.tokenizer import EOS, Tokenizer

ORDERS = (1, 2, 3, 4, 5)
NAME = "soseki-ngrams"
COMMAND = "python tools/train_ngrams.py outputs/soseki-lm"


def score(model: KneserNey, texts: list[list], lines: list[str]) -> dict:
    """Nats per token (eos counted) and per character."""
    nll = sum(model.nll(text) for text in texts)
    tokens, characters = sum(map(len, texts)), sum(map(len, lines))
    return {
        "nll": round(nll / tokens, 4),
        "tokens": tokens,
        "characters": characters,
        "nll_per_character": round(nll / characters, 4),
    }


def compare(cut, vocab_size: int, splits) -> list[dict]:
    """Every order, learned from the training works."""
    parts = {
        name: [cut(text) for text in getattr(splits, name).tgt]
        for name in ("train", "dev", "test")
    }
    rows = []
    for order in ORDERS:
        model = KneserNey(parts["train"], order, vocab_size)
        row = {"order": order}
        for name in ("dev", "test"):
            lines = getattr(splits, name).tgt
            row[name] = score(model, parts[name], lines)
        print(row, flush=True)
        rows.append(row)
    return rows


def main() -> None:
    """Take the run's folder from the command line."""
    tokenizer = Tokenizer.load(Path(sys.argv[1]) / "tokenizer.model")
    splits = load_corpus("soseki_text", "ja", "ja")
    everything = [*splits.train.tgt, *splits.dev.tgt, *splits.test.tgt]
    characters = set("".join(everything))
    found = {
        "pieces": compare(
            lambda text: [*tokenizer.encode(text), EOS],
            tokenizer.vocab_size,
            splits,
        ),
        "characters": compare(
            lambda text: [*text, EOS], len(characters) + 1, splits
        ),
    }
    about = {"command": COMMAND, "machine": runs.machine(), **found}
    runs.write_json(runs.folder(NAME) / "ngrams.json", about, indent=1)


if __name__ == "__main__":
    main()
