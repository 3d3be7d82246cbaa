"""Train stacks of several kinds: the stored runs of chapter 10.

    python tools/compare_stacks.py               all that is missing
    python tools/compare_stacks.py own-2 ...     these variants

Layers with weights of their own against one layer used again and again, and a
decoder alone against encoder and decoder. All in pre-norm, so that depth is no
obstacle; corpus, seeds, steps and learning rate are those of
``train_failures.py``. What is there already under ``runs/stacks/`` is not
trained again.
"""

import functools
import json
import sys

import torch
import train_failures
from torch import nn
from train_failures import (
    Variant,
    look_at_dev,
    train_missing,
    write_settings,
)

from transformer_course import runs, transformer
from transformer_course.batches import Batch, pad_rows
from transformer_course.config import LanguageModelConfig, TrainConfig
from transformer_course.experiment import keep_freed_memory
from transformer_course.loss import Score, label_smoothed_score
from transformer_course.mode import evaluating
from transformer_course.tasks.table import TASKS
from transformer_course.tasks.translation import Translation
from transformer_course.tokenizer import BOS, EOS, PAD
from transformer_course.transformer import Decoder, Encoder
from transformer_course.translate import encode_source


class SharedEncoder(Encoder):
    """One layer, as many times as there should be layers."""

    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList([self.layers[0]] * config.n_layers)


class SharedDecoder(Decoder):
    """One layer, as many times as there should be layers."""

    def __init__(self, config):
        super().__init__(config)
        self.layers = nn.ModuleList([self.layers[0]] * config.n_layers)


def join(batch: Batch) -> Batch:
    """Source and target as one text: source, eos, bos, target, eos.

    ``src`` of the result is what is read, ``tgt`` what is asked: padding
    wherever the next token belongs to the source.
    """
    texts, asked = [], []
    for src, tgt in zip(batch.src.tolist(), batch.tgt.tolist(), strict=True):
        src = [i for i in src if i != PAD]
        tgt = [i for i in tgt if i != PAD]
        texts.append((src + tgt)[:-1])
        asked.append([PAD] * len(src) + tgt[1:])
    return Batch(pad_rows(texts), pad_rows(asked))


def score_joined(model, batch: Batch, smoothing: float = 0.0) -> Score:
    """A decoder alone reads the source as the beginning of its text."""
    read, asked = join(batch)
    return label_smoothed_score(model(read), asked, smoothing)


def write_on(model, tokenizer, sentences) -> list[str]:
    """Greedy translations of a decoder that has the source before it."""
    found = []
    with torch.inference_mode(), evaluating(model):
        for sentence in sentences:
            text = [*encode_source(tokenizer, sentence), BOS]
            start = len(text)
            while text[-1] != EOS and len(text) < start + 40:
                logits = model(torch.tensor([text]))
                text.append(int(logits[0, -1].argmax()))
            found.append(tokenizer.decode([i for i in text[start:] if i > 3]))
    return found


class Joined(Translation):
    """Translation by a decoder alone: it goes on with the source."""

    name = "joined"
    models = (LanguageModelConfig,)

    def objective(self, model, batch: Batch, config: TrainConfig) -> Score:
        return score_joined(model, batch, config.label_smoothing)

    def score(self, model, batch: Batch, smoothing: float) -> Score:
        return score_joined(model, batch, smoothing)


HALF_RATE = 2e-3
SHARED = {
    (transformer, "Encoder"): SharedEncoder,
    (transformer, "Decoder"): SharedDecoder,
}
JOINED = {"task": Joined.name, "kind": LanguageModelConfig}


def pre_norm(**changes) -> dict:
    """Settings of the model."""
    return {"norm_first": True, **changes}


VARIANTS = {
    "own-1": Variant("1 layer of each kind", model=pre_norm(n_layers=1)),
    "own-2": Variant("2 layers of each kind", model=pre_norm()),
    "own-4": Variant("4 layers of each kind", model=pre_norm(n_layers=4)),
    "shared-2": Variant("1 layer, used twice", SHARED, pre_norm()),
    "shared-4": Variant("1 layer, used 4 times", SHARED, pre_norm(n_layers=4)),
    "shared-4-slower": Variant(
        "1 layer, used 4 times, half of the learning rate",
        SHARED | {(train_failures, "PEAK_RATE"): HALF_RATE},
        pre_norm(n_layers=4),
    ),
    "shared-4-wide": Variant(
        "1 layer, used 4 times, d_model 124 in place of 64",
        SHARED,
        pre_norm(n_layers=4, d_model=124, d_ff=496),
    ),
    "joined-4": Variant(
        "a decoder alone of 4 layers, the source before the target",
        model=pre_norm(n_layers=4),
        **JOINED,
    ),
    "joined-5": Variant(
        "a decoder alone of 5 layers, the source before the target",
        model=pre_norm(n_layers=5),
        **JOINED,
    ),
}


LOOKS = {Joined.name: functools.partial(look_at_dev, write=write_on)}
"""What is measured, by the task, where it is not translation."""


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    TASKS[Joined.name] = Joined()
    folder = runs.folder("stacks")
    write_settings(folder, "python tools/compare_stacks.py", VARIANTS)
    settings = json.loads((folder / "settings.json").read_text("utf-8"))
    slower = settings["variants"]["shared-4-slower"]["experiment"]
    slower["train"]["peak_rate"] = HALF_RATE
    runs.write_json(folder / "settings.json", settings)
    keep_freed_memory()
    for name in sys.argv[1:] or VARIANTS:
        variant = VARIANTS[name]
        look = LOOKS.get(variant.task, look_at_dev)
        train_missing(folder / f"{name}.json", variant, look)


if __name__ == "__main__":
    main()
