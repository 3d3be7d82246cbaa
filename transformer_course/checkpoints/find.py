"""Which checkpoint is meant by a path, or by a name; and what it holds."""

import importlib
import json
import math
from pathlib import Path
from typing import Any

import torch

from transformer_course.checkpoints import checkpoint, shipped
from transformer_course.checkpoints.checkpoint import Checkpoint
from transformer_course.console import quoted
from transformer_course.errors import CheckpointError

Record = dict[str, Any]
"""A line of a run's ``metrics.jsonl``."""
CHECKPOINTS = ("average", "best", "last")
"""Checkpoints of a finished run, in order of preference."""


def find(path: Path) -> Path:
    """The checkpoint of a path: that of a model that comes with the course,
    the chosen one of a run, the published weights of a name in
    :data:`.shipped.PUBLISHED`, or the path itself.

    Raises:
        CheckpointError: there is none; the message names runs nearby.
        CourseError: the package of published weights is not installed.
    """
    found = shipped.find(path) or chosen_checkpoint(path)
    if found is not None:
        return found
    if str(path) in shipped.PUBLISHED and not path.exists():
        module, finder = shipped.PUBLISHED[str(path)]
        place = f"transformer_course.checkpoints.{module}"
        return getattr(importlib.import_module(place), finder)()
    if path.suffix == ".gguf" and path.exists():
        return path
    try:
        return checkpoint.existing(path)
    except CheckpointError as error:
        near = _runs_near(path) or shipped.hint(path)
        raise CheckpointError(f"{error}{near}") from error


def find_trained(path: Path) -> Path:
    """The checkpoint of a path, which a training of the course has made.

    Raises:
        CheckpointError: there is none, or it is a published GGUF file.
    """
    found = find(path)
    if found.suffix == ".gguf":
        raise CheckpointError(
            f"{path} holds published weights in a GGUF file, which are "
            "neither scored on a corpus of the course nor exported: continue "
            "a text with them (generate), or talk with them (chat)."
        )
    return found


def load_found(
    place: Path, device: str | torch.device | None = None
) -> Checkpoint:
    """What :func:`find` has found, as a checkpoint.

    Args:
        place: of the model.
        device: see :func:`.checkpoint.load`.

    Raises:
        CheckpointError: a file is missing, damaged or a pickle; or it is a
            published BERT without the heads of its pre-training.
        TokenizerError: the vocabulary does not fit the weights.
    """
    if place.suffix == ".gguf":
        from transformer_course.checkpoints.smollm2 import load_gguf

        decoder, pieces = load_gguf(place)
        details = {"task": "language_modelling"}
        decoder = decoder.to(device or torch.get_default_device())
        return Checkpoint(decoder, pieces, details, None)
    if checkpoint.is_published(place):
        from transformer_course.checkpoints.pretrained import load_published

        return load_published(place, device)
    return checkpoint.load(place, device)


def chosen_checkpoint(run: str | Path) -> Path | None:
    """The checkpoint of a run that is best on the development set.

    The better of the best epoch and the average, by their recorded selection
    metric; where there is none, the first of :data:`CHECKPOINTS`; None if
    there is no checkpoint, or the folder is no run's.
    """
    values: dict[str, float] = {}
    for record in read_records(Path(run) / "metrics.jsonl"):
        name = {"average": "average", "epoch": "best"}.get(record["kind"])
        if name:
            value = selection_metric_of(record)
            values[name] = max(values.get(name, -math.inf), value)
    there = [Path(run) / "checkpoints" / name for name in CHECKPOINTS]
    return max(
        filter(is_checkpoint, there),
        key=lambda path: values.get(path.name, -math.inf),
        default=None,
    )


def read_records(metrics: Path) -> list[Record]:
    """The records of ``metrics.jsonl``, without incomplete lines."""
    if not metrics.exists():
        return []
    lines = metrics.read_text("utf-8", "replace").split("\n")
    return [record for line in lines if (record := _record(line))]


def selection_metric_of(record: Record) -> float:
    """The number by which checkpoints are compared; greater is better."""
    return record.get("selection_metric", -math.inf)


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder holds a checkpoint, or the rest of one."""
    try:
        checkpoint.existing(folder)
    except CheckpointError:
        return False
    return True


def _record(line: str) -> Record | None:
    """The record of a line; None if the line is not complete."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "kind" in record else None


def _runs_near(path: Path) -> str:
    """Runs in a folder, or beside it, in a sentence."""
    for folder in (path, path.parent):
        runs = sorted(p.parent for p in folder.glob("*/checkpoints"))
        if runs := [quoted(run) for run in runs if run != path]:
            return f" Runs are in {', '.join(runs)}."
    return ""
