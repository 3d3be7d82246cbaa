"""How far do n-grams get, the baseline of a language model?

The text is cut up by the tokenizer of that model's training, so that
perplexities can be compared token by token, and then by characters. Held-out
works are scored, chapter by chapter: ``texts.npz`` holds the nats of each
(PART-UNIT-ORDER; with one discount in place of three, PART-UNIT-one). The
order of characters that is best on dev also writes a few texts.
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

ORDERS = (1, 2, 3, 4, 5, 6)
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
        A row for each order, and last, with one discount in place of three,
        the order that is best on dev; the nats of each text; the model of
        that order, with three.
    """
    parts = {
        name: [cut(text) for text in getattr(splits, name).tgt]
        for name in ("train", "dev", "test")
    }
    rows, kept = [], {}

    def score_by(model: KneserNey, name: str) -> dict:
        row = {"order": model.order}
        for part in ("dev", "test"):
            nats = [model.nll(text) for text in parts[part]]
            row[part] = score(nats, parts[part], getattr(splits, part).tgt)
            kept[f"{part}-{unit}-{name}"] = np.array(nats, dtype=np.float32)
        return row

    best = None
    for order in ORDERS:
        model = KneserNey(parts["train"], order, len(vocabulary))
        rows.append(score_by(model, str(order)))
        if rows[-1] is min(rows, key=lambda row: row["dev"]["nll"]):
            best = model
    plain = KneserNey(parts["train"], best.order, len(vocabulary), discounts=1)
    return [*rows, score_by(plain, "one")], kept, best


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
        "pieces": pieces[:-1],
        "characters": letters[:-1],
        "one_discount": {"pieces": pieces[-1], "characters": letters[-1]},
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
    smoke_inputs=lambda scratch: [tiny_run(scratch, "lm", "grammar-lm")],
)
