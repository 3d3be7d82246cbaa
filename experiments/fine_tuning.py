"""Frozen or fine-tuned: what do published weights give, by number of labels?

all-MiniLM-L6-v2 under a linear map of the mean of its tokens, on sentences of
film reviews. Frozen, the map alone is trained; fine-tuned, all weights are, by
the same function, data and order of batches. The number of epochs is fixed for
each number of labels, and the last weights are scored. A fine-tuning takes 1,
3 or 15 minutes of one core.
"""

from typing import NamedTuple

from experiments.classifiers import (
    classification_scores,
    smoke_splits,
    splits_of,
    trained,
)
from experiments.lab import Experiment, Record, RunContext
from transformer_course.checkpoints.pretrained import (
    Start,
    minilm_folder,
    read_start,
)
from transformer_course.data.wordpiece import SPECIAL, WordPiece
from transformer_course.decoding.classify import probabilities
from transformer_course.models.bert import Bert
from transformer_course.models.bert_config import BertConfig
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS, begun_from

TRAINING = "transformer-course train polarity --from minilm"
"""All other settings are its."""
EPOCHS = {85: 10, 855: 5, 8552: 3}
"""Epochs by the number of labels: few labels are read more often."""
RATES = {"frozen": 3e-3, "fine-tuned": 1e-4}
"""Highest learning rates."""


class Point(NamedTuple):
    """A number of labels, what is trained, and how fast."""

    labels: int
    way: str
    rate: float

    def measure(self, seed: int, context: RunContext) -> Record:
        """Train, and judge by the test set."""
        start = smoke_start() if context.smoke else read_start(minilm_folder())
        splits = splits_of("sentence_polarity", context)
        settings = changed_experiment(
            begun_from(PRESETS["polarity"], "minilm", start.config),
            {
                "data.train_pairs": self.labels,
                "train.epochs": context.limit(EPOCHS[self.labels]),
                "train.peak_rate": self.rate,
                "train.seed": seed,
            },
        )
        made = trained(settings, splits, start, frozen=self.way == "frozen")
        found = probabilities(*made, splits.test.texts)
        return {
            "labels": self.labels,
            "rate": self.rate,
            "epochs": settings.train.epochs,
            "test": classification_scores(splits.test, found),
        }


def smoke_start() -> Start:
    """A tiny encoder with random weights, and words as pieces."""
    words = " ".join(smoke_splits().train.texts).split()
    pieces = WordPiece([*SPECIAL, *dict.fromkeys(words)])
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 16, "n_layers": 1}
    config = BertConfig(vocab_size=pieces.vocab_size, **sizes)
    body = Bert(config).state_dict()
    return Start(config, pieces, {f"bert.{k}": v for k, v in body.items()})


EXPERIMENT = Experiment(
    name="fine-tuning",
    chapter="18_bert",
    variants={
        f"{labels}/{way}": Point(labels, way, rate)
        for labels in EPOCHS
        for way, rate in RATES.items()
    },
    measure=Point.measure,
    settings=lambda: {"training": TRAINING, "epochs": EPOCHS, "rates": RATES},
    smoke_variants=("85/frozen", "8552/fine-tuned"),
)
