"""How far do n-grams get, the baseline of a language model?

The text is cut up by the tokenizer of that model's training, so that
perplexities can be compared token by token, and then by characters. Held-out
works are scored, chapter by chapter: ``texts.npz`` holds the nats of each
(PART-UNIT-ORDER). The longest model of characters also writes a few texts.
"""

import random
from collections.abc import Iterator

import numpy as np

from experiments import store
from experiments.lab import Analysis, RunContext, made_of, tiny_run
from transformer_course.checkpoints.checkpoint import load_tokenizer
from transformer_course.checks import from_dict
from transformer_course.data.config import DataConfig
from transformer_course.data.tokenizer import EOS
from transformer_course.models.ngram import KneserNey
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.tasks.table import find_task

ORDERS = (1, 2, 3, 4, 5)
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
        rows.append(row)
    return rows, kept, model


def analyse(context: RunContext) -> Iterator[str]:
    """Count in the text of a training, cut up in both ways."""
    (output,) = map(RunFolder, context.inputs)
    settings, tokenizer = output.settings(), load_tokenizer(output.path)
    task = find_task(settings["task"])
    splits = task.load(from_dict(DataConfig, settings["data"]))
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
    drawn = range(SEED, SEED + context.limit(DRAWN))
    about = {
        **made_of("soseki-ngrams", context),
        "seed": SEED,
        "pieces": pieces,
        "characters": letters,
        "drawn": [draw(model, characters, seed) for seed in drawn],
    }
    store.write_json(context.folder / "ngrams.json", about, indent=1)
    store.write_arrays(context.folder / "texts.npz", nats | more)
    yield from map(str, [*pieces, *letters])


EXPERIMENT = Analysis(
    name="soseki-ngrams",
    chapter="16_soseki",
    analyse=analyse,
    inputs=("outputs/soseki-lm",),
    exact=True,
    smoke_inputs=lambda scratch: [tiny_run(scratch, "lm", "grammar-lm")],
)
