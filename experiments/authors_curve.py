"""How many labels does it take to tell eleven authors apart?

The encoder of the preset ``authors`` with 1 %, 10 % and all of the labelled
passages, which nest: from nothing, and from what was pre-trained. The number
of epochs is fixed for each share, and the last weights are scored, so that
the development set is no further source of labels.

Each start is made by itself, with the folder of its training; first weights
take their sizes and pieces from that of aozora-bert. For instance::

    python -m experiments authors-curve outputs/aozora-bert --only untrained

A start is the folder of a training; the sizes of the body are taken from it,
and so are its pieces. A new one needs a line in ``STARTS``. Its group of
variants has its name where the pooler reads [CLS], as in BERT, and ``-mean``
behind it where the pooler reads the mean of all tokens. What is stored has a
record for each share and seed: accuracy with an interval over works, macro
F1, all guesses.
"""

import dataclasses
from typing import NamedTuple

from experiments.classifiers import (
    classification_scores,
    settings_for,
    splits_of,
    trained,
)
from experiments.lab import Experiment, Record, RunContext, checkpoint_of
from transformer_course.decoding.classify import probabilities
from transformer_course.errors import ConfigError
from transformer_course.models.bert_config import Pooling
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.pretrained import Start, read_start

EPOCHS = {0.01: 30, 0.1: 10, 1.0: 4}
"""Epochs of each share: few labels are read more often."""
FEW = ("1%", "10%")
"""Shares for which all starts are compared."""
WARMUP = {0.01: 60, 0.1: 100, 1.0: 200}
"""Steps of each share over which the rate rises."""
RATE = 5e-4
"""Highest learning rate, whatever the start."""
UNTRAINED = "untrained"
"""The sizes and pieces of aozora-bert, and first weights: the fair opponent
of what was pre-trained."""
STARTS = (
    "nothing",
    UNTRAINED,
    "aozora-bert",
    "aozora-bert-pairs",
    "aozora-bert-longer",
)
"""Names of starts: nothing, or a training whose folder is given."""
POOLINGS: dict[str, Pooling] = {"": "cls", "-mean": "mean"}
"""Pooling, by the suffix of a start's name."""


class Point(NamedTuple):
    """A start, what the pooler reads, and a share of the labels."""

    start: str
    pooling: Pooling
    share: float

    def measure(self, seed: int, context: RunContext) -> Record:
        """Train, and judge by the test set.

        Raises:
            ConfigError: the folder of the start was not given.
        """
        start = self._start(context)
        learned = self.start not in ("nothing", UNTRAINED)
        splits = splits_of("authors", context)
        pairs = max(2, round(self.share * len(splits.train)))
        settings = settings_for(
            "authors",
            seed,
            context,
            data__train_pairs=pairs,
            train__epochs=EPOCHS[self.share],
            train__warmup=WARMUP[self.share],
            train__peak_rate=RATE,
            train__bf16=True,
            model__pooling=self.pooling,
        )
        if start:
            settings = like(settings, start)
        made = trained(settings, splits, start, learned)
        found = probabilities(*made, splits.test.texts)
        return {
            "labels": pairs,
            "epochs": settings.train.epochs,
            "test": classification_scores(splits.test, found),
            "guesses": found.argmax(dim=-1).tolist(),
        }

    def _start(self, context: RunContext) -> Start | None:
        if self.start == "nothing":
            return None
        name = "aozora-bert" if self.start == UNTRAINED else self.start
        for folder in context.inputs:
            if folder.name == name:
                return read_start(checkpoint_of(folder))
        raise ConfigError(
            f"{name} is a training, and its folder was not given: python -m "
            f"experiments authors-curve outputs/{name} --only {self.start}"
        )


def like(settings: Settings, start: Start) -> Settings:
    """The settings with the sizes of a start's body."""
    given = dataclasses.asdict(start.config)
    kept = {"dropout": settings.model.dropout}
    sizes = {k: v for k, v in given.items() if hasattr(settings.model, k)}
    model = dataclasses.replace(settings.model, **sizes | kept)
    return dataclasses.replace(settings, model=model)


EXPERIMENT = Experiment(
    name="authors-curve",
    chapter="18_bert",
    variants={
        f"{start}{behind}/{share:.0%}": Point(start, pooling, share)
        for start in STARTS
        for behind, pooling in POOLINGS.items()
        for share in EPOCHS
    },
    measure=Point.measure,
    default_variants=(
        *(f"{start}/{share}" for start in STARTS[1:4] for share in FEW),
        *(
            f"{start}-mean/{share:.0%}"
            for start in (UNTRAINED, "aozora-bert-longer")
            for share in EPOCHS
        ),
    ),
    smoke_variants=("nothing",),
    reads=True,
)
