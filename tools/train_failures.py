"""Train what goes wrong, on purpose: the stored runs of chapter 12.

    python tools/train_failures.py                   all that is missing
    python tools/train_failures.py unshifted ...     these variants

Each variant is the training of the preset ``grammar``, half as wide, with a
few lines changed, on the same corpus, with three seeds. What is there already
under ``runs/failures/`` is not trained again: delete a file to have it anew.
"""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import torch

from transformer_course import objective, runs, train, transformer
from transformer_course.batches import Batch, encode_pairs, padded_batch
from transformer_course.config import Experiment, ModelConfig
from transformer_course.device import machine
from transformer_course.experiment import (
    Prepared,
    keep_freed_memory,
    prepare,
)
from transformer_course.loss import Score, label_smoothed_score
from transformer_course.masks import causal_mask, padding_mask
from transformer_course.objective import evaluate, score_batch
from transformer_course.presets import PRESETS
from transformer_course.score import corpus_bleu
from transformer_course.train import Progress, fit, make_optimizer
from transformer_course.translate import translate

SEEDS = (0, 1, 2)
STEPS = 250
EVERY = 50
"""Steps between two looks at the development set."""
TRANSLATED = 100
"""Development sentences that are translated at each look."""
LENGTH = 28
"""Ids per sentence where all are padded to one length."""


# --- what is changed: the failures ------------------------------------------


def score_unshifted(model, batch: Batch, smoothing: float = 0.0) -> Score:
    """The decoder reads the very tokens that it shall answer."""
    logits = model(batch.src, batch.tgt)
    return label_smoothed_score(logits, batch.tgt, smoothing)


def score_with_padding(model, batch: Batch, smoothing: float = 0.0) -> Score:
    """Padding counts as a token to be predicted: no id is left out."""
    logits = model(batch.src, batch.tgt_in)
    return label_smoothed_score(logits, batch.tgt_out, smoothing, pad_id=-1)


def inverted_padding_mask(ids, pad_id: int = 0):
    """True = ignore, where True = attend is expected."""
    return ~padding_mask(ids, pad_id)


def inverted_causal_mask(length: int, device=None):
    """True = ignore: each token sees what comes after it."""
    return ~causal_mask(length, device)


def rate_without_warmup(step: int, warmup: int, peak_rate: float) -> float:
    """At the peak from the first step; after the warm-up as it should be."""
    return peak_rate * min(1, (warmup / step) ** 0.5)


class OneLength:
    """Shuffled batches, all padded to one length, as tutorials often do."""

    def __init__(self, pairs, rows: int, seed: int):
        self.pairs, self.rows, self.seed = pairs, rows, seed
        self.filler = ([0] * LENGTH, [0] * LENGTH)  # widens a batch

    def epoch(self, number: int) -> Iterator[Batch]:
        """The batches of one epoch."""
        generator = torch.Generator().manual_seed(self.seed + 1000 * number)
        order = torch.randperm(len(self.pairs), generator=generator).tolist()
        for start in range(0, len(order) - self.rows + 1, self.rows):
            chosen = [self.pairs[i] for i in order[start : start + self.rows]]
            batch = padded_batch([*chosen, self.filler])
            yield Batch(batch.src[:-1], batch.tgt[:-1])


# --- the variants -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Variant:
    """A training in which something is changed."""

    about: str
    replaced: dict[tuple[object, str], Callable] = dataclasses.field(
        default_factory=dict
    )
    """Functions put in the place of (module, name)."""
    model: dict = dataclasses.field(default_factory=dict)
    """Changed settings of the model."""
    one_length: bool = False
    """All batches padded to one length."""
    task: str = "translation"
    """What is learned."""
    kind: type[ModelConfig] = ModelConfig
    """What the model is built from."""


PEAK_RATE = 4e-3
HALF = {"d_model": 64, "d_ff": 256}
DEEP = {"n_layers": 4}
NO_WARMUP = {(train, "learning_rate"): rate_without_warmup}
COUNT_PADDING = {(objective, "score_batch"): score_with_padding}

VARIANTS = {
    "correct": Variant("nothing is changed"),
    "unshifted": Variant(
        "the target is not shifted",
        {(objective, "score_batch"): score_unshifted},
    ),
    "padding-mask-inverted": Variant(
        "the padding mask is inverted",
        {(transformer, "padding_mask"): inverted_padding_mask},
    ),
    "causal-mask-inverted": Variant(
        "the causal mask is inverted",
        {(transformer, "causal_mask"): inverted_causal_mask},
    ),
    "one-length": Variant(
        "all padded to one length; padding left out of the loss",
        one_length=True,
    ),
    "loss-over-padding": Variant(
        "all padded to one length; padding counts in the loss",
        COUNT_PADDING,
        one_length=True,
    ),
    "shallow-no-warmup": Variant("2 layers, post-norm, no warm-up", NO_WARMUP),
    "deep-warmup": Variant("4 layers, post-norm, warm-up", model=DEEP),
    "deep-no-warmup": Variant(
        "4 layers, post-norm, no warm-up", NO_WARMUP, DEEP
    ),
}


# --- training and measuring -------------------------------------------------


def experiment_of(variant: Variant, seed: int) -> Experiment:
    """The preset, half as wide, with the variant's settings."""
    base = PRESETS["grammar"]
    sizes = dataclasses.asdict(base.model) | HALF | variant.model
    return dataclasses.replace(
        base,
        task=variant.task,
        model=variant.kind(**sizes),
        train=dataclasses.replace(
            base.train, peak_rate=PEAK_RATE, seed=seed, epochs=1000
        ),
    )


Measure = Callable[[Prepared, Progress], dict]
"""What is done every so many steps, with the variant's own functions."""


class Enough(Exception):
    """The last step has been made."""


def look(prepared: Prepared, progress: Progress) -> dict:
    """Measure on the development set, with the variant's own functions.

    ``accuracy`` and ``nll`` are what the variant's author would see;
    ``true_*`` what the right comparison says; ``bleu`` is free running.
    """
    seen = _means(prepared, objective.score_batch)
    true = _means(prepared, score_batch)
    dev = prepared.splits.dev.take(range(TRANSLATED))
    written = translate(prepared.model, prepared.tokenizer, dev.src)
    return {
        "step": progress.step,
        "nll": round(seen["nll"], 4),
        "accuracy": round(seen["accuracy"], 4),
        "true_nll": round(true["nll"], 4),
        "true_accuracy": round(true["accuracy"], 4),
        "bleu": round(corpus_bleu(written, dev.tgt).value, 2),
        "sample": written[0],
    }


def look_at_dev(
    prepared: Prepared, progress: Progress, write=translate
) -> dict:
    """Measure on the development set; translate after the last step.

    Args:
        prepared: the model, and what it is measured on.
        progress: where the training stands.
        write: from model, tokenizer and sentences to translations.
    """
    model = prepared.model
    means = prepared.task.evaluate(model, prepared.dev_batches)
    seen = {
        "step": progress.step,
        "nll": round(means["nll"], 4),
        "accuracy": round(means["accuracy"], 4),
    }
    if progress.step < STEPS:
        return seen
    dev = prepared.splits.dev.take(range(TRANSLATED))
    written = write(model, prepared.tokenizer, dev.src)
    return {
        **seen,
        "bleu": round(corpus_bleu(written, dev.tgt).value, 2),
        "sample": written[0],
        "weights": sum(p.numel() for p in model.parameters()),
    }


def _means(prepared: Prepared, scorer) -> dict[str, float]:
    return evaluate(prepared.model, prepared.dev_batches, score=scorer)


def train_once(variant: Variant, seed: int, measure: Measure = look) -> dict:
    """One training: its curve, and what was seen on the development set."""
    experiment = experiment_of(variant, seed)
    prepared = prepare(experiment)
    if variant.one_length:
        prepared = at_one_length(prepared, experiment, seed)
    losses: list[float] = []
    looks: list[dict] = []

    def on_step(progress: Progress, score: Score, rate: float) -> None:
        means = score.means()
        losses.append([round(means[k], 4) for k in ("loss", "accuracy")])
        if progress.step % EVERY == 0:
            looks.append(measure(prepared, progress))
        if progress.step >= STEPS:
            raise Enough

    optimizer = make_optimizer(prepared.model, experiment.train)
    with contextlib.suppress(Enough):
        fit(
            prepared.model,
            optimizer,
            prepared.batches,
            experiment.train,
            on_step=on_step,
            objective=prepared.task.objective,
        )
    loss, accuracy = map(list, zip(*losses, strict=True))
    return {"seed": seed, "loss": loss, "accuracy": accuracy, "dev": looks}


def at_one_length(
    prepared: Prepared, experiment: Experiment, seed: int
) -> Prepared:
    """The same training and development pairs, all padded to LENGTH."""
    tokenizer, splits = prepared.tokenizer, prepared.splits
    pairs = encode_pairs(tokenizer, splits.train, LENGTH)
    dev = encode_pairs(tokenizer, splits.dev, LENGTH)
    mean = sum(len(tgt) - 1 for _, tgt in pairs) / len(pairs)
    rows = int(experiment.data.token_budget / mean)  # as many real tokens
    dev_batches = [OneLength(dev, 50, 0)]
    return prepared._replace(
        batches=OneLength(pairs, rows, seed),
        dev_batches=[b for one in dev_batches for b in one.epoch(0)],
    )


def write_settings(
    folder: Path, command: str, variants: dict[str, Variant]
) -> None:
    """What the curves were made with."""
    runs.write_json(
        folder / "settings.json",
        {
            "command": command,
            "machine": machine(),
            "seeds": SEEDS,
            "steps": STEPS,
            "every": EVERY,
            "translated": TRANSLATED,
            "variants": {
                name: {
                    "about": variant.about,
                    "experiment": dataclasses.asdict(
                        experiment_of(variant, SEEDS[0])
                    ),
                }
                for name, variant in variants.items()
            },
        },
    )


def train_missing(
    path: Path, variant: Variant, measure: Measure = look
) -> None:
    """Train the seeds of a variant that its file does not have yet."""

    def train_replaced(seed: int) -> dict:
        with contextlib.ExitStack() as stack:
            for (module, function), wrong in variant.replaced.items():
                stack.enter_context(mock.patch.object(module, function, wrong))
            return train_once(variant, seed, measure)

    about = {"about": variant.about}
    for found in runs.add_seeds(path, about, SEEDS, train_replaced):
        loss, dev = found["loss"][-1], found["dev"][-1]
        print(path.stem, found["seed"], loss, dev, flush=True)


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    folder = runs.folder("failures")
    write_settings(folder, "python tools/train_failures.py", VARIANTS)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        train_missing(folder / f"{name}.json", VARIANTS[name])


if __name__ == "__main__":
    main()
