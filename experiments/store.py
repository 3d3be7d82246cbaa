"""Stored runs: results of long trainings and measurements, for the book.

They are folders ``experiments/results/NAME/``, read by the chapters' cells, so
that no figure is typed in. A training's has ``run.json`` (settings, command,
machine and test scores), ``epochs.jsonl`` and ``steps.jsonl`` (every k-th
step), and ``counts.npz`` (BLEU's counts of each test sentence). An
experiment's has ``records.json``: its command, its settings, and for each
variant a list of records, one for each seed, with the machine it was made on.
"""

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transformer_course import files
from transformer_course.errors import CourseError

Record = dict[str, Any]
STEPS_KEPT = 400
"""Step records that are stored of a run, evenly spaced."""
RECORDS = "records.json"
"""The file of an experiment."""


@dataclass(frozen=True)
class Run:
    """A stored run."""

    name: str
    settings: dict[str, Any]
    """The experiment's settings: data, model, train."""
    command: str
    """The command line that trained it."""
    machine: str
    """The kind of machine, and torch's version."""
    steps: list[Record]
    """Some of its training steps: loss and nll in nats per token, rate."""
    epochs: list[Record]
    """A record for each epoch, and one for the averaged weights."""
    results: dict[str, Any]
    """Scores on the test set, with sacreBLEU's signature."""


def folder(name: str) -> Path:
    """The folder of a stored run, in the repository."""
    return Path(__file__).parent / "results" / name


def read(name: str) -> Run:
    """Read a stored run.

    Raises:
        CourseError: there is none of that name.
    """
    path = folder(name)
    if not (path / "run.json").is_file():
        there = sorted(p.parent.name for p in path.parent.glob("*/run.json"))
        raise CourseError(
            f"there is no stored run {name!r}; there are: "
            f"{', '.join(there) or 'none'}. The book's notebooks need the "
            "repository, not the package alone."
        )
    return Run(
        name=name,
        steps=read_lines(path / "steps.jsonl"),
        epochs=read_lines(path / "epochs.jsonl"),
        **read_json(path / "run.json"),
    )


def settings(name: str) -> Record:
    """The settings that all records of an experiment share.

    Raises:
        CourseError: there is no experiment of that name.
    """
    return _experiment(folder(name))["settings"]


def records(name: str, group: str = "") -> dict[str, list[Record]]:
    """The records of an experiment, by variant: one for each seed.

    Args:
        name: of the experiment.
        group: read the variants ``GROUP/NAME`` alone, by NAME.

    Raises:
        CourseError: there is no experiment of that name.
    """
    found = _experiment(folder(name))["records"]
    start = f"{group}/" if group else ""
    return {
        variant.removeprefix(start): of_seeds
        for variant, of_seeds in found.items()
        if variant.startswith(start)
    }


def records_in(place: Path) -> dict[str, list[Record]]:
    """All records of an experiment's folder; none where none is stored."""
    path = place / RECORDS
    return read_json(path)["records"] if path.exists() else {}


def add_record(
    place: Path, variant: str, record: Record, head: Record
) -> None:
    """Add a record to an experiment's folder; all that is there is kept.

    Args:
        place: the folder, made where it is missing.
        variant: the record's.
        record: with its seed, by which a variant's records are sorted.
        head: the command and the settings.
    """
    found = records_in(place)
    of_seeds = [*found.get(variant, ()), record]
    found[variant] = sorted(of_seeds, key=lambda one: one["seed"])
    write_file(place / RECORDS, _text_of({**head, "records": found}))


def _text_of(experiment: Record) -> str:
    """JSON with a line for each record."""
    *head, records = experiment.items()
    lines = [f"{_json(key)}: {_json(value)},\n" for key, value in head]
    lists = [
        f"{_json(variant)}: [\n" + ",\n".join(map(_json, found)) + "\n]"
        for variant, found in records[1].items()
    ]
    body = ",\n".join(lists)
    return "{\n" + "".join(lines) + f'"records": {{\n{body}\n}}\n}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _experiment(place: Path) -> Record:
    if not (place / RECORDS).is_file():
        raise CourseError(f"there is no stored experiment in {place}.")
    return read_json(place / RECORDS)


def read_counts(name: str) -> dict[str, np.ndarray]:
    """Read BLEU's counts of each test sentence of a stored run, by name.

    ``WEIGHTS-BEAM-CUT``, such as ``best-5-words``, are the counts of one way
    of decoding with the text cut up in one way (see
    ``score.bleu_counts``); ``unseen`` marks the sentences whose source was
    not read in training.

    Raises:
        CourseError: that run has no counts.
    """
    path = folder(name) / "counts.npz"
    if not path.is_file():
        there = sorted(p.parent.name for p in path.parents[1].glob("*/*.npz"))
        raise CourseError(
            f"there are no stored counts of a run {name!r}; there are of: "
            f"{', '.join(there) or 'none'}. python -m experiments "
            f"translations outputs/{name} makes them."
        )
    return arrays_in(path)


def arrays_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, by name; none without the file."""
    if not path.is_file():
        return {}
    with np.load(path) as arrays:
        return dict(arrays)


def save(
    output: Path,
    name: str,
    command: str,
    results: dict[str, Any],
    counts: dict[str, np.ndarray] | None = None,
    to: Path | None = None,
) -> Path:
    """Make a stored run from a training's folder.

    The machine stored is the one that trained, as the folder says.

    Args:
        output: ``outputs/NAME``.
        name: of the stored run.
        command: what was typed to train it.
        results: test scores and samples.
        counts: for :func:`read_counts`.
        to: the folder of the stored run, if it is another.

    Returns:
        The folder of the stored run.
    """
    path = to or folder(name)
    settings = read_json(output / "experiment.json")
    records = read_lines(output / "metrics.jsonl")
    steps = [r for r in records if r["kind"] == "step"]
    every = max(1, len(steps) // STEPS_KEPT)
    kept = [r for r in steps if r["step"] % every == 0]
    write_lines(path / "steps.jsonl", kept)
    others = [r for r in records if r["kind"] != "step"]
    write_lines(path / "epochs.jsonl", others)
    machine = settings.pop("machine")
    about = {
        "settings": settings,
        "command": command,
        "machine": machine,
        "results": results,
    }
    write_json(path / "run.json", about, indent=1)
    if counts is not None:
        write_arrays(path / "counts.npz", counts)
    return path


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_text("utf-8"))


def rows_in(path: Path, key: str = "samples") -> list[Record]:
    """A list in a JSON file with notes by hand; none without the file."""
    return read_json(path)[key] if path.is_file() else []


def read_lines(path: Path) -> list[Record]:
    """The records of a file that has one in each line."""
    return list(map(json.loads, path.read_text("utf-8").splitlines()))


def write_lines(path: Path, records: list[Record]) -> None:
    """Write records, rounded, one in each line."""
    lines = [f"{_json(rounded(record))}\n" for record in records]
    write_file(path, "".join(lines))


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write small arrays, compressed; the file is complete, or as it was."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_file(path, content.getvalue())


def write_json(path: Path, values: Any, indent: int | None = None) -> None:
    """Write a JSON file of a stored run.

    Args:
        path: of the file; folders are made.
        values: what json can hold.
        indent: spaces a level; None puts all on one line.
    """
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    write_file(path, text + "\n")


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file of a stored run: it is complete, or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomic(path, content)


def rounded(record: Record) -> Record:
    """Floats to six significant digits."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in record.items()
    }
