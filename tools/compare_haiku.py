"""Write haiku with a trained model, judge them, and store what was found.

    python tools/compare_haiku.py forms
    python tools/compare_haiku.py outputs/haiku
    python tools/compare_haiku.py outputs/haiku-scratch \
        "transformer-course train haiku --name haiku-scratch ..."

The keywords are those of the development book and the commonest others of
the training books. For each, a haiku is searched greedily and with a beam,
and drawn at two temperatures: by the weights of the epoch that is best by the
nll of the development book, and by the last. Counted are those that can be
read as 5-7-5, that have their keyword in them, that differ from each other,
and that stand in the training books, word for word or up to two characters.
The same is counted of what the poet wrote.

The readings of janome miss many a haiku and let pass some lines that are
none. ``forms`` measures how many, on lines whose form is known, and stores it
in ``runs/haiku-forms/forms.json``.

``runs/NAME/`` gets ``run.json``, ``outputs.json`` (every line),
``samples.json`` (some, with glosses that are filled in by hand and kept when
the file is made again) and ``attention.npz`` with ``attention.json``.
"""

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from experiments.text_runs import other_sources, scores
from transformer_course import checkpoint, explain, runs
from transformer_course.batches import pad_rows
from transformer_course.data.aozora.morae import expand_repeats, form, tokens
from transformer_course.data.corpora import load_corpus
from transformer_course.data.text import ParallelText, Splits
from transformer_course.device import machine
from transformer_course.tokenizer import BOS
from transformer_course.translate import draw, encode_source, translate

CREDIT = "Haiku of the poets: from Aozora Bunko; in the public domain."
WEIGHTS = ("best", "last")
"""Checkpoints that write: the best by the development book, and the last."""
SEED = 0
BEAM_SIZE = 5
TEMPERATURES = (0.7, 1.0)
FURTHER = 50
"""Keywords beside those of the development book."""
NEAR = 2
"""Characters to insert, delete or replace, at the most, in a near copy."""
SHOWN = 12
"""Keywords of which samples are kept."""
MAPPED = 8
"""Keywords of which attention is kept."""
CLAUSES = range(9, 19)
"""Characters of the pieces of prose that are compared with haiku."""

Ways = dict[str, list[str]]


# --- what is asked -----------------------------------------------------------


def further_keywords(splits: Splits, size: int = FURTHER) -> list[str]:
    """The commonest training keywords that the development book has not."""
    asked = set(splits.dev.src)
    counts = Counter(splits.train.src)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [word for word in ranked if word not in asked][:size]


def write(model, tokenizer, keywords: Sequence[str]) -> Ways:
    """A haiku for each keyword, in each way of decoding."""
    ways = {
        "greedy": translate(model, tokenizer, keywords),
        "beam": translate(model, tokenizer, keywords, BEAM_SIZE),
    }
    for temperature in TEMPERATURES:
        ways[f"sampled {temperature}"] = draw(
            model, tokenizer, keywords, SEED, temperature=temperature
        )
    return ways


# --- what is counted ---------------------------------------------------------


class Shelf:
    """Lines to look a line up in, up to a few characters."""

    def __init__(self, lines: Iterable[str]):
        self.lines = [expand_repeats(line) for line in lines]
        self.known = set(self.lines)
        self.lengths = np.array([len(line) for line in self.lines])
        width = self.lengths.max()
        self.codes = np.zeros((len(self.lines), width), dtype=np.int64)
        for row, line in zip(self.codes, self.lines, strict=True):
            row[: len(line)] = [ord(c) for c in line]

    def distances(self, line: str) -> np.ndarray:
        """Characters to insert, delete or replace, to each line here.

        Levenshtein's recurrence, for all lines at once.
        """
        width = self.codes.shape[1]
        row = np.tile(np.arange(width + 1), (len(self.lines), 1))
        for i, character in enumerate(expand_repeats(line), start=1):
            before, row = row, np.empty_like(row)
            row[:, 0] = i
            other = self.codes != ord(character)
            for j in range(1, width + 1):
                row[:, j] = np.minimum(
                    np.minimum(before[:, j], row[:, j - 1]) + 1,
                    before[:, j - 1] + other[:, j - 1],
                )
        return row[np.arange(len(self.lines)), self.lengths]

    def copied(self, line: str) -> bool:
        """Whether the line stands here, signs of repetition aside."""
        return expand_repeats(line) in self.known

    def near(self, line: str) -> str | None:
        """The closest line within :data:`NEAR`, which is not the same."""
        if self.copied(line):
            return None
        distances = self.distances(line)
        best = int(distances.argmin())
        return self.lines[best] if distances[best] <= NEAR else None


def forms(lines: Sequence[str]) -> dict[str, float]:
    """Shares of the lines that are 5-7-5, are not, and nobody can tell."""
    counts = Counter(map(form, lines))
    kinds = ("5-7-5", "other", "unknown")
    return {kind: round(counts[kind] / len(lines), 4) for kind in kinds}


def about(lines: list[str], keywords: Sequence[str], shelf: Shelf) -> dict:
    """What is counted of the lines that were written to these keywords."""
    pairs = list(zip(keywords, lines, strict=True))
    copied = [line for line in lines if shelf.copied(line)]
    near = {line: shelf.near(line) for line in dict.fromkeys(lines)}
    close = [line for line in lines if near[line]]
    return {
        "lines": len(lines),
        "forms": forms(lines),
        "with_keyword": sum(word in line for word, line in pairs),
        "different": len(set(lines)),
        "copied": len(copied),
        "near_copies": len(close),
        "copies": sorted(set(copied)),
        "near": [[line, near[line]] for line in dict.fromkeys(close)],
        "mean_characters": round(sum(map(len, lines)) / len(lines), 2),
    }


def without_a_word(line: str) -> str:
    """A line that has lost one of its words, drawn by a hash of it."""
    words = [token.surface for token in tokens(line)]
    digest = hashlib.sha256(f"{SEED} {line}".encode()).digest()
    lost = int.from_bytes(digest[:8], "big") % len(words)
    return "".join(words[:lost] + words[lost + 1 :])


def clauses(sentences: Iterable[str]) -> list[str]:
    """Pieces of prose as long as a haiku, between its signs."""
    cut = (re.split(r"[^\w]", sentence) for sentence in sentences)
    return [c for piece in cut for c in piece if len(c) in CLAUSES]


def measured_forms(splits: Splits) -> dict:
    """How far :func:`form` can be trusted: lines whose form is known.

    Poets' haiku are the ceiling. The same with a word less, and prose, are
    nearly all none.
    """
    prose = clauses(load_corpus("soseki", "ja", "ja").dev.tgt)
    poems = splits.train.tgt
    groups = {
        "train": poems,
        "dev": splits.dev.tgt,
        "test": splits.test.tgt,
        "train_without_a_word": [without_a_word(poem) for poem in poems],
        "prose": prose,
    }
    return {
        name: {"lines": len(lines)} | forms(lines)
        for name, lines in groups.items()
    }


def store_forms() -> Path:
    """Measure :func:`form` and store what was found."""
    found = {
        "command": "python tools/compare_haiku.py forms",
        "credit": CREDIT,
        "machine": machine(),
        "seed": SEED,
        "forms": measured_forms(load_corpus("haiku", "ja", "ja")),
    }
    path = runs.folder("haiku-forms") / "forms.json"
    runs.write_json(path, found, indent=1)
    return path


# --- what is shown -----------------------------------------------------------


def sample_rows(
    text: ParallelText, ways: Ways, glosses: dict[str, str]
) -> list[dict]:
    """Evenly spaced keywords, with the poet's haiku and the model's.

    Glosses are taken over by the Japanese that they are of; those that are
    missing are empty, to be filled in by hand.
    """

    def annotated(line: str) -> dict[str, str]:
        return {"text": line, "gloss": glosses.get(line, "")}

    places = range(0, len(text), -(-len(text) // SHOWN))
    return [
        {
            "keyword": annotated(text.src[i]),
            "poet": annotated(text.tgt[i]),
            "outputs": {way: annotated(ways[way][i]) for way in ways},
        }
        for i in places
    ]


def read_glosses(path: Path) -> dict[str, str]:
    """The glosses of a file of samples; none where there is no file."""
    if not path.is_file():
        return {}
    rows = json.loads(path.read_text("utf-8"))["samples"]
    texts = [
        text
        for row in rows
        for text in (row["keyword"], row["poet"], *row["outputs"].values())
    ]
    return {text["text"]: text["gloss"] for text in texts if text["gloss"]}


def chosen_to_map(tokenizer, keywords: Sequence[str]) -> list[int]:
    """Half of them keywords of several pieces, half of one."""
    kinds: tuple[list[int], list[int]] = ([], [])
    for i, word in enumerate(keywords):
        cut = [p for p in tokenizer.pieces(word) if p.strip("▁")]
        kinds[len(cut) == 1].append(i)
    return sorted([*kinds[0][: MAPPED // 2], *kinds[1][: MAPPED // 2]])


def maps(model, tokenizer, keywords, lines) -> tuple[list, list[dict]]:
    """Attention from each haiku's pieces to its keyword's, and the pieces.

    Row t is the step that writes piece t; the last writes eos.
    """
    arrays, labels = [], []
    for i in chosen_to_map(tokenizer, keywords):
        ids = tokenizer.encode(lines[i])
        src = pad_rows([encode_source(tokenizer, keywords[i])])
        tgt_in = pad_rows([[BOS, *ids]])
        weights = explain.cross_attention(model, src, tgt_in)[0]
        arrays.append(weights.numpy().astype(np.float16))
        labels.append(
            {
                "keyword": keywords[i],
                "haiku": lines[i],
                "source": [*tokenizer.pieces(keywords[i]), "</s>"],
                "target": [*tokenizer.pieces(lines[i]), "</s>"],
            }
        )
    return arrays, labels


# --- all of it ---------------------------------------------------------------


def judged(model, tokenizer, splits: Splits, asked: Ways) -> dict:
    """Scores of one checkpoint, and what is counted of its lines."""
    shelf = Shelf(splits.train.tgt)
    dev, further = splits.dev.src, further_keywords(splits)
    size = len(dev)
    return {
        "dev": scores(model, tokenizer, splits.dev),
        "test": scores(model, tokenizer, splits.test),
        "dev_other_keyword": scores(
            model, tokenizer, other_sources(splits.dev)
        ),
        "written": {
            "dev": {w: about(asked[w][:size], dev, shelf) for w in asked},
            "further": {
                w: about(asked[w][size:], further, shelf) for w in asked
            },
        },
    }


def results(splits: Splits, weights: dict[str, dict], parameters: int) -> dict:
    """What is stored: the checkpoints beside the poet."""
    shelf = Shelf(splits.train.tgt)
    return {
        "credit": CREDIT,
        "parameters": parameters,
        "pairs": {
            part: len(getattr(splits, part))
            for part in ("train", "dev", "test")
        },
        "poet": about(splits.dev.tgt, splits.dev.src, shelf),
        "weights": weights,
    }


def main() -> None:
    """Take the folder, and the command, from the command line."""
    if sys.argv[1] == "forms":
        print(store_forms())
        return
    output = Path(sys.argv[1])
    command = f"transformer-course train {output.name}"
    if len(sys.argv) > 2:
        command = sys.argv[2]
    splits = load_corpus("haiku", "ja", "ja")
    keywords = [*splits.dev.src, *further_keywords(splits)]
    lines, found, arrays, labels = {}, {}, {}, []
    for name in WEIGHTS:
        loaded = checkpoint.load(output / "checkpoints" / name)
        model, tokenizer = loaded.model, loaded.tokenizer
        lines[name] = write(model, tokenizer, keywords)
        found[name] = judged(model, tokenizer, splits, lines[name])
        greedy = lines[name]["greedy"]
        weights, pieces = maps(model, tokenizer, keywords, greedy)
        arrays |= {f"{name}-{i}": w for i, w in enumerate(weights)}
        labels += [{"map": f"{name}-{i}"} | p for i, p in enumerate(pieces)]
    parameters = sum(p.numel() for p in model.parameters())
    kept = results(splits, found, parameters)
    folder = runs.store(output, output.name, command, kept)
    runs.write_json(
        folder / "outputs.json", {"keywords": keywords, **lines}, indent=0
    )
    ways = {f"{n} {w}": lines[n][w] for n in WEIGHTS for w in lines[n]}
    rows = sample_rows(splits.dev, ways, read_glosses(folder / "samples.json"))
    runs.write_json(
        folder / "samples.json", {"credit": CREDIT, "samples": rows}, indent=1
    )
    runs.write_arrays(folder / "attention.npz", arrays)
    runs.write_json(folder / "attention.json", labels, indent=1)
    print(folder)
    for name in WEIGHTS:
        print(name, {k: found[name][k] for k in ("dev", "test")})
        for group, ways in found[name]["written"].items():
            for way, row in ways.items():
                print(group, way, {k: row[k] for k in list(row)[:6]})


if __name__ == "__main__":
    main()
