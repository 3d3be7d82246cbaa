"""What do several translators write together?

Where the folder of a training is named, those of its weights are taken that
do better on the development set greedily, as the command line does. The
length penalty is chosen on the development set too.
"""

from collections.abc import Iterator

from experiments.lab import Analysis, RunContext, splits_for
from experiments.translations import (
    CREDIT,
    describe_row,
    scored,
    smoke_inputs,
    store_made_of_models,
)
from transformer_course.inference.model import TrainedModel


def analyse(context: RunContext) -> Iterator[str]:
    """Score the models' mean, and store it as a training is stored."""
    models = [TrainedModel.load(path, "cpu") for path in context.inputs]
    loaded = models[0].ensemble_with(models[1:])
    model, tokenizer = loaded.model, loaded.tokenizer
    splits = splits_for(loaded.details, context)
    found = scored("ensemble", model, tokenizer, splits, loaded.details["tgt"])
    about = {
        "dev_bleu_of_the_beam": {"ensemble": found.dev_bleu},
        "split": "test",
        "rows": found.rows,
        "samples": found.samples,
        "credit": CREDIT,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    store_made_of_models(context, "enja-ensemble", about, found.counts)
    yield from map(describe_row, found.rows)


EXPERIMENT = Analysis(
    name="enja-ensemble",
    chapter="15_translation",
    analyse=analyse,
    inputs=(
        "outputs/enja-longer/checkpoints/average",
        "outputs/enja-seed-1/checkpoints/average",
        "outputs/enja-gru",
    ),
    smoke_inputs=lambda scratch: smoke_inputs(scratch) * 2,
)
