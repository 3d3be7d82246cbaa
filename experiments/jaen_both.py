"""How well does a training both ways translate the other way?

A training with ``both_ways`` learns to translate in two directions, and is
scored in one. This scores the other one as ``translations`` does, and the
epochs of which the weights are still there: those that are averaged. (To have
them all, copy each ``checkpoints/epoch-*`` aside while the training runs.)
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from experiments import store
from experiments.lab import Analysis, RunContext, made_of, tiny_run
from experiments.translations import describe_row, results
from transformer_course.checkpoints import checkpoint
from transformer_course.data.corpora import load_corpus
from transformer_course.training.loop import evaluate
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.tasks.table import (
    experiment_from_dict,
    task_of,
)


def evaluate_reverse(output: Path, folder: Path, context: RunContext) -> dict:
    """Scores of an epoch's record, the other way round."""
    loaded = checkpoint.load(folder)
    model, tokenizer = loaded.model.eval(), loaded.tokenizer
    about, task = loaded.details, task_of(model.config, loaded.details)
    dev = load_corpus(about["corpus"], src=about["tgt"], tgt=about["src"]).dev
    dev = dev.take(range(context.limit(len(dev))))
    loss = experiment_from_dict(RunFolder(output).settings()).loss
    batches = task.eval_batches(model.config, tokenizer, dev)
    means = evaluate(model, batches, partial(task.loss, config=loss))
    metrics = means | task.metrics(model, tokenizer, dev, means)
    return {
        **{f"dev_{key}": value for key, value in metrics.items()},
        "samples": task.samples(model, tokenizer, dev),
    }


def epochs_of(output: Path, context: RunContext) -> list[dict]:
    """A record for each epoch that is there, and for their average."""
    folders = sorted((output / "checkpoints").glob("epoch-*"))
    records = [
        {"kind": "epoch", "epoch": int(folder.name.removeprefix("epoch-"))}
        | evaluate_reverse(output, folder, context)
        for folder in folders
    ]
    average = output / "checkpoints" / "average"
    if average.is_dir():
        kept = store.read_lines(output / "metrics.jsonl")
        of = next(r["epochs"] for r in kept if r["kind"] == "average")
        about = {"kind": "average", "epochs": of}
        records.append(about | evaluate_reverse(output, average, context))
    return records


def reversed_settings(settings: dict) -> dict:
    """A training's settings with source and target exchanged."""
    data = settings["data"]
    way = {"src": data["tgt"], "tgt": data["src"]}
    return settings | {"data": data | way}


def analyse(context: RunContext) -> Iterator[str]:
    """Score the other direction, and store it as a training is stored."""
    (output,) = context.inputs
    settings = RunFolder(output).settings()
    machine = settings.pop("machine", "unknown")  # the one that trained
    settings = reversed_settings(settings)
    found, counts = results(output, context, reverse=True)
    about = {
        "settings": settings,
        **made_of("jaen-both", context),
        "machine": machine,
        "results": found,
    }
    store.write_json(context.folder / "run.json", about, indent=1)
    store.write_arrays(context.folder / "counts.npz", counts)
    store.write_lines(
        context.folder / "epochs.jsonl", epochs_of(output, context)
    )
    store.write_lines(context.folder / "steps.jsonl", [])
    yield from map(describe_row, found["rows"])


EXPERIMENT = Analysis(
    name="jaen-both",
    chapter="15_translation",
    analyse=analyse,
    inputs=("outputs/enja-both",),
    smoke_inputs=lambda scratch: [
        tiny_run(scratch, "both", **{"data.both_ways": True})
    ],
)
