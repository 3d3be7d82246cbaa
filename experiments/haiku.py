"""What do models that read a keyword write, and is it haiku?

The keywords are those of the development book and the commonest others of
the training books. For each, a haiku is searched greedily and with a beam,
and drawn at two temperatures: by the weights of the epoch that is best by the
nll of the development book, and by the last. Counted are those that have their
keyword in them, and that stand in the training books, word for word or up to
two characters. The same is counted of what the poet wrote.

``experiments/results/NAME/`` gets ``run.json``, ``outputs.json`` (every line),
``samples.json`` (some, with glosses that are filled in by hand and kept when
the file is made again) and ``attention.npz`` with ``attention.json``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from experiments import store
from experiments.haiku_forms import CREDIT, SEED
from experiments.lab import Analysis, RunContext, each_of, splits_for, tiny_run
from experiments.text_runs import other_sources, scores
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.data.aozora.morae import expand_repeats
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import BOS
from transformer_course.decoding.translate import (
    draw,
    encode_source,
    translate,
)
from transformer_course.interpretation.attribution import by_kind
from transformer_course.interpretation.hooks import attention_maps
from transformer_course.training.tasks.table import find_task

WEIGHTS = ("best", "last")
"""Checkpoints that write: the best by the development book, and the last."""
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

COMMANDS = {
    "haiku-scratch": "transformer-course train haiku --name haiku-scratch "
    "--train.start-from None --model.vocab-size 3000"
}
"""Commands of trainings that need more than a name."""

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


def about(lines: list[str], keywords: Sequence[str], shelf: Shelf) -> dict:
    """Counts of the lines that were written to these keywords."""
    pairs = list(zip(keywords, lines, strict=True))
    copied = [line for line in lines if shelf.copied(line)]
    near = {line: shelf.near(line) for line in dict.fromkeys(lines)}
    close = [line for line in lines if near[line]]
    return {
        "lines": len(lines),
        "with_keyword": sum(word in line for word, line in pairs),
        "copied": len(copied),
        "near": [[line, near[line]] for line in dict.fromkeys(close)],
    }


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
    texts = [
        text
        for row in store.rows_in(path)
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
        maps = attention_maps(model, src, tgt_in)
        weights = by_kind(maps)["cross"][0]
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


def evaluate_lines(
    model, tokenizer, splits: Splits, keywords: list[str], asked: Ways
) -> dict:
    """Scores of one checkpoint, and what is counted of its lines."""
    task = find_task("next_sentence")
    shelf = Shelf(splits.train.tgt)
    size = len(splits.dev)
    parts = {"dev": slice(size), "further": slice(size, None)}
    return {
        "dev": scores(task, model, tokenizer, splits.dev),
        "test": scores(task, model, tokenizer, splits.test),
        "dev_other_keyword": scores(
            task, model, tokenizer, other_sources(splits.dev)
        ),
        "written": {
            name: {
                way: about(lines[part], keywords[part], shelf)
                for way, lines in asked.items()
            }
            for name, part in parts.items()
        },
    }


def store_haiku(output: Path, context: RunContext) -> Iterator[str]:
    """Let both checkpoints of a training write, and store what they wrote."""
    lines, found, arrays, labels = {}, {}, {}, []
    for name in WEIGHTS:
        loaded = checkpoint.load(output / "checkpoints" / name)
        model, tokenizer = loaded.model, loaded.tokenizer
        splits = splits_for(loaded.details, context)
        further = further_keywords(splits, context.limit(FURTHER))
        keywords = [*splits.dev.src, *further]
        lines[name] = write(model, tokenizer, keywords)
        found[name] = evaluate_lines(
            model, tokenizer, splits, keywords, lines[name]
        )
        greedy = lines[name]["greedy"]
        weights, pieces = maps(model, tokenizer, keywords, greedy)
        arrays |= {f"{name}-{i}": w for i, w in enumerate(weights)}
        labels += [{"map": f"{name}-{i}"} | p for i, p in enumerate(pieces)]
    poet = about(splits.dev.tgt, splits.dev.src, Shelf(splits.train.tgt))
    usual = f"transformer-course train {output.name}"
    folder = store.save(
        output,
        output.name,
        COMMANDS.get(output.name, usual),
        {"credit": CREDIT, "poet": poet, "weights": found},
        to=context.stored(output.name),
    )
    store.write_json(
        folder / "outputs.json", {"keywords": keywords, **lines}, indent=0
    )
    ways = {f"{n} {w}": lines[n][w] for n in WEIGHTS for w in lines[n]}
    rows = sample_rows(splits.dev, ways, read_glosses(folder / "samples.json"))
    store.write_json(
        folder / "samples.json", {"credit": CREDIT, "samples": rows}, indent=1
    )
    store.write_arrays(folder / "attention.npz", arrays)
    store.write_json(folder / "attention.json", labels, indent=1)
    for name in WEIGHTS:
        yield f"{output.name}: {name} {found[name]['dev']}"


EXPERIMENT = Analysis(
    name="haiku",
    chapter="16_soseki",
    analyse=each_of(store_haiku),
    inputs=("outputs/haiku", "outputs/haiku-scratch"),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "tiny")],
    writes=("haiku", "haiku-scratch"),
)
