"""Frozen or fine-tuned: what do published weights give, by number of labels?

all-MiniLM-L6-v2 on sentences of film reviews. Frozen: logistic regression, to
its end, on the means of the tokens, with C chosen on dev. Fine-tuned: all
weights are trained below a linear map of that mean, for a number of epochs
that is fixed for each number of labels, and the last ones are scored. A
fine-tuning takes 1, 3 or 15 minutes of one core.
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from experiments.classifiers import (
    classification_scores,
    smoke_splits,
    splits_of,
    trained,
)
from experiments.lab import Experiment, Record, RunContext
from transformer_course.checkpoints.pretrained import (
    Start,
    load_bert,
    minilm_folder,
    read_start,
    sentence_vectors,
)
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import Splits
from transformer_course.data.wordpiece import SPECIAL, WordPiece
from transformer_course.decoding.classify import probabilities
from transformer_course.models.bert import Bert
from transformer_course.models.bert_config import BertConfig
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS, begun_from

TRAINING = "transformer-course train polarity --from minilm"
"""All other settings of a fine-tuning are its."""
EPOCHS = {85: 10, 855: 5, 8552: 3}
"""Epochs by the number of labels: few labels are read more often."""
RATE = 1e-4
"""The highest learning rate."""
STRENGTHS = (0.1, 0.3, 1, 3, 10, 30, 100)
"""Inverse strengths of the penalty, C, that are compared on dev."""


class Tuned(NamedTuple):
    """A number of labels; all weights are trained."""

    labels: int

    def measure(self, seed: int, context: RunContext) -> Record:
        """Train, and judge by the test set."""
        start = smoke_start() if context.smoke else read_start(minilm_folder())
        splits = splits_of("sentence_polarity", context)
        settings = changed_experiment(
            begun_from(PRESETS["polarity"], "minilm", start.config),
            {
                "data.train_pairs": self.labels,
                "train.epochs": context.limit(EPOCHS[self.labels]),
                "train.peak_rate": RATE,
                "train.seed": seed,
            },
        )
        made = trained(settings, splits, start)
        found = probabilities(*made, splits.test.texts)
        return {
            "labels": self.labels,
            "rate": RATE,
            "epochs": settings.train.epochs,
            "test": classification_scores(splits.test, found),
            "guesses": found.argmax(dim=-1).tolist(),
        }


class Frozen(NamedTuple):
    """A number of labels; only what reads the sentence's vector learns."""

    labels: int

    def measure(self, seed: int, context: RunContext) -> Record:
        """Learn from the first labels, and judge by the test set."""
        splits = splits_of("sentence_polarity", context)
        size = min(self.labels, len(splits.train))
        train = splits.train.take(range(size))
        c, found = by_regression(*vectors_of(splits, train, context))
        return {
            "labels": self.labels,
            "C": c,
            "test": classification_scores(splits.test, found),
            "guesses": found.argmax(dim=-1).tolist(),
        }


def smoke_start() -> Start:
    """A tiny encoder with random weights, and words as pieces."""
    words = " ".join(smoke_splits().train.texts).split()
    pieces = WordPiece([*SPECIAL, *dict.fromkeys(words)])
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 16, "n_layers": 1}
    config = BertConfig(vocab_size=pieces.vocab_size, **sizes)
    body = Bert(config).state_dict()
    return Start(config, pieces, {f"bert.{k}": v for k, v in body.items()})


def vectors_of(
    splits: Splits[LabelledText], train: LabelledText, context: RunContext
) -> tuple[tuple[Tensor, list[int]], ...]:
    """The sentences' vectors and the labels of train, dev and test."""
    return tuple(
        (vectors(tuple(part.texts), context.smoke), part.labels)
        for part in (train, splits.dev, splits.test)
    )


@cache
def vectors(texts: tuple[str, ...], smoke: bool) -> Tensor:
    """MiniLM's vectors of sentences; in a smoke test a tiny encoder's."""
    if smoke:
        start = smoke_start()
        body, pieces = Bert(start.config).eval(), start.tokenizer
    else:
        body, pieces = load_bert(minilm_folder())
    return sentence_vectors(body, pieces, texts)


def by_regression(train, dev, test) -> tuple[float, Tensor]:
    """The C that is best on dev, the smallest of equals; shares on test.

    Args:
        train: vectors and labels, as the other two.
        dev: to choose C by.
        test: what is judged.
    """
    from sklearn.linear_model import LogisticRegression

    models = [LogisticRegression(C=c, max_iter=5000) for c in STRENGTHS]
    best = max(models, key=lambda model: model.fit(*train).score(*dev))
    shares = torch.from_numpy(best.predict_proba(test[0]))
    return best.C, shares


EXPERIMENT = Experiment(
    name="fine-tuning",
    chapter="18_bert",
    variants={
        f"{labels}/{way}": kind(labels)
        for labels in EPOCHS
        for way, kind in (("frozen", Frozen), ("fine-tuned", Tuned))
    },
    measure=lambda point, seed, context: point.measure(seed, context),
    seeds_of={f"{labels}/frozen": (0,) for labels in EPOCHS},
    settings=lambda: {
        "training": TRAINING,
        "epochs": EPOCHS,
        "rate": RATE,
        "strengths": STRENGTHS,
    },
    smoke_variants=("85/frozen", "8552/fine-tuned"),
)
