"""Are the mean weights of two trainings a better translator than either?

Trainings that go on from the same weights may end so near each other that the
mean of their weights is a model as well, which costs no more than one of them
(Wortsman et al. 2022, *Model soups*). It is written into
``outputs/enja-soup/``, and stored as a training is stored.
"""

from collections.abc import Iterator
from pathlib import Path

from experiments.lab import Analysis, RunContext
from experiments.translations import (
    describe_row,
    results,
    smoke_inputs,
    store_made_of_models,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import find


def cooked(paths: tuple[Path, ...], output: Path) -> None:
    """Write the mean of some trainings' weights as a training's average."""
    folders = list(map(find, paths))
    loaded = checkpoint.load(folders[0])
    checkpoint.average(folders, loaded.model)
    parts = loaded.model, loaded.tokenizer, loaded.details
    checkpoint.save(output / "checkpoints" / "average", *parts)


def analyse(context: RunContext) -> Iterator[str]:
    """Average, write, score and store."""
    output = context.outputs / "enja-soup"
    cooked(context.inputs, output)
    found, counts = results(output, context)
    store_made_of_models(context, "enja-soup", found, counts)
    yield from map(describe_row, found["rows"])


EXPERIMENT = Analysis(
    name="enja-soup",
    chapter="15_translation",
    analyse=analyse,
    inputs=("outputs/enja-more", "outputs/enja-more-seed-1"),
    smoke_inputs=lambda scratch: smoke_inputs(scratch) * 2,
)
