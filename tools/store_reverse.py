"""Store the other direction of a training both ways.

    python -m tools.store_reverse outputs/enja-both jaen-both

A training with ``both_ways`` learns to translate in two directions, and is
scored in one. This scores the other one as ``store_run.py`` does, and the
epochs of which the weights are still there: those that are averaged. (To have
them all, copy each ``checkpoints/epoch-*`` aside while the training runs.)
"""

import dataclasses
import json
import sys
from pathlib import Path

from tools.store_run import results
from transformer_course import checkpoint, runs
from transformer_course.config import DataConfig, from_dict
from transformer_course.data.corpora import load_corpus
from transformer_course.errors import CourseError
from transformer_course.tasks.table import task_of


def looked_at(output: Path, folder: Path) -> dict:
    """What a training's record of an epoch holds, the other way round."""
    loaded = checkpoint.load(folder)
    model, tokenizer = loaded.model.eval(), loaded.tokenizer
    about, task = loaded.details, task_of(model.config, loaded.details)
    dev = load_corpus(about["corpus"], src=about["tgt"], tgt=about["src"]).dev
    settings = json.loads((output / "experiment.json").read_text("utf-8"))
    smoothing = settings["train"]["label_smoothing"]
    batches = task.scored_batches(model.config, tokenizer, dev)
    means = task.evaluate(model, batches, smoothing)
    metrics = means | task.metrics(model, tokenizer, dev, means)
    return {
        **{f"dev_{key}": value for key, value in metrics.items()},
        "samples": task.samples(model, tokenizer, dev),
    }


def epochs_of(output: Path) -> list[dict]:
    """A record for each epoch that is there, and for their average."""
    folders = sorted((output / "checkpoints").glob("epoch-*"))
    records = [
        {"kind": "epoch", "epoch": int(folder.name.removeprefix("epoch-"))}
        | looked_at(output, folder)
        for folder in folders
    ]
    average = output / "checkpoints" / "average"
    if average.is_dir():
        kept = runs.read_lines(output / "metrics.jsonl")
        of = next(r["epochs"] for r in kept if r["kind"] == "average")
        about = {"kind": "average", "epochs": of}
        records.append(about | looked_at(output, average))
    return records


def turned(settings: dict) -> dict:
    """A training's settings with source and target exchanged."""
    data = from_dict(DataConfig, settings["data"])
    if not data.both_ways:
        raise CourseError(
            f"the training {settings['name']} learned one direction only: "
            "give the folder of one with data.both_ways."
        )
    data = dataclasses.replace(data, src=data.tgt, tgt=data.src)
    return settings | {"data": dataclasses.asdict(data)}


def main() -> None:
    """Take the folder and the stored run's name from the command line."""
    output, name = Path(sys.argv[1]), sys.argv[2]
    settings = json.loads((output / "experiment.json").read_text("utf-8"))
    machine = settings.pop("machine", "unknown")  # the one that trained
    settings = turned(settings)
    found, counts = results(output, reverse=True)
    folder = runs.folder(name)
    about = {
        "settings": settings,
        "command": f"python -m tools.store_reverse outputs/{output.name} "
        + name,
        "machine": machine,
        "results": found,
    }
    runs.write_json(folder / "run.json", about, indent=1)
    runs.write_arrays(folder / "counts.npz", counts)
    lines = [runs.rounded(record) for record in epochs_of(output)]
    text = "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in lines)
    runs.write_text(folder / "epochs.jsonl", text)
    runs.write_text(folder / "steps.jsonl", "")
    for row in found["rows"]:
        print(row["weights"], row["beam"], row["sentences"], row["bleu"])


if __name__ == "__main__":
    main()
