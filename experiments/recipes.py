"""The paper's recipe of training, and today's: which rate, and how good?

The small translator of the grammar, in pre-norm, 600 steps. *paper*: Adam with
β₂ .98, a warm-up and then 1/√step. *cosine*: AdamW with β₂ .95 and a decay of
.1 on matrices, a warm-up and then half a cosine to zero. *stable*: the same,
but the peak rate for six tenths of the training, and then a straight line to
zero. *unsmoothed*: *cosine* without label smoothing. First each recipe at five
rates, with one seed; then each at its best rate, with five others.
"""

from experiments.lab import Experiment, Record, RunContext
from experiments.translators import (
    Training,
    follow,
    inspect_dev,
    settings_of,
)
from transformer_course.training.optimizers import cosine, warmup_stable_decay

STEPS = 600
RATES = (2e-3, 4e-3, 8e-3, 16e-3, 32e-3)
BEST = {"paper": 8e-3, "cosine": 16e-3, "stable": 8e-3, "unsmoothed": 8e-3}
"""The rate at which each recipe had the lowest nll on dev."""
PAPER = {"model.norm_first": True, "train.warmup": 60}
TODAY = {
    **PAPER,
    "train.beta2": 0.95,
    "train.epsilon": 1e-8,
    "train.weight_decay": 0.1,
}


def recipe(about: str, changes: dict, **parts) -> dict[float, Training]:
    """A recipe at each rate."""
    return {
        rate: Training(about, {**changes, "train.peak_rate": rate}, **parts)
        for rate in RATES
    }


RECIPES = {
    "paper": recipe("Adam, 1/√step", PAPER),
    "cosine": recipe("AdamW, cosine", TODAY, schedule=cosine(STEPS)),
    "stable": recipe(
        "AdamW, stable, then down",
        TODAY,
        schedule=warmup_stable_decay(STEPS),
    ),
    "unsmoothed": recipe(
        "AdamW, cosine, no smoothing",
        TODAY | {"loss.label_smoothing": 0.0},
        schedule=cosine(STEPS),
    ),
}
VARIANTS = {
    f"rates/{name}/{rate:g}": training
    for name, at_rate in RECIPES.items()
    for rate, training in at_rate.items()
} | {f"best/{name}": RECIPES[name][rate] for name, rate in BEST.items()}


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """Train; the losses of all steps, and dev at the end."""
    curve = follow(training, seed, context, inspect_dev, STEPS, STEPS)
    return {
        "loss": curve.rounded("loss"),
        "dev": curve.inspections[-1] if curve.inspections else None,
        "stopped": curve.stopped,
    }


def settings() -> Record:
    """Settings of the trainings, and the recipes in words."""
    about = {n: next(iter(r.values())).about for n, r in RECIPES.items()}
    return {
        **settings_of(VARIANTS),
        "steps": STEPS,
        "recipes": about,
        "best": BEST,
    }


EXPERIMENT = Experiment(
    name="recipes",
    chapter="12_training",
    variants=VARIANTS,
    measure=measure,
    seeds=tuple(range(6)),
    seeds_of={"rates": (0,), "best": (1, 2, 3, 4, 5)},
    settings=settings,
    smoke_variants=("rates/paper/0.008",),
)
