"""Trains the first steps of a preset, and prints their losses as JSON.

    python tests/frozen/first_steps.py PRESET

In a process of its own, without the check of annotations that tests have,
which would make the grammar's sentences ten times slower.
"""

import dataclasses
import json
import sys

import torch

from transformer_course.config import Experiment
from transformer_course.experiment import prepare
from transformer_course.presets import PRESETS
from transformer_course.train import fit, make_optimizer

STEPS = 20
SMALLER = {
    "grammar": {},
    "grammar-lm": {},
    "enja": {"train_pairs": 3000, "vocab_size": 1500},
    "soseki-cpu": {"train_pairs": 4000, "vocab_size": 4000},
}
"""The presets, and what is made smaller for the test."""


def small(name: str) -> Experiment:
    """A preset, smaller, in full precision."""
    preset, change = PRESETS[name], SMALLER[name]
    pairs = change.get("train_pairs")
    size = change.get("vocab_size", preset.model.vocab_size)
    return dataclasses.replace(
        preset,
        data=dataclasses.replace(preset.data, train_pairs=pairs),
        model=dataclasses.replace(preset.model, vocab_size=size),
        train=dataclasses.replace(preset.train, bf16=False, device="cpu"),
    )


class Enough(Exception):
    """The last step that is compared has been made."""


def first_steps(experiment: Experiment) -> list[list[float]]:
    """Loss, nll and accuracy of the first steps, on one thread."""
    found = []

    def on_step(progress, score, rate):
        found.append(list(score.means().values()))
        if len(found) == STEPS:
            raise Enough

    torch.set_num_threads(1)
    try:
        made = prepare(experiment)
        fit(
            made.model,
            make_optimizer(made.model, experiment.train),
            made.batches,
            experiment.train,
            on_step=on_step,
            objective=made.task.objective,
        )
    except Enough:
        return found


if __name__ == "__main__":
    print(json.dumps(first_steps(small(sys.argv[1]))))
