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
        CourseError: there is none of that name, or it is damaged.
    """
    path = folder(name)
    if not (path / "run.json").is_file():
        there = sorted(p.parent.name for p in path.parent.glob("*/run.json"))
        raise CourseError(
            f"there is no stored run {name!r}; there are: "
            f"{', '.join(there) or 'none'}. The book's notebooks need the "
            "repository, not the package alone."
        )
    about = _read_json(path / "run.json")
    keys = ("settings", "command", "machine", "results")
    if missing := [key for key in keys if key not in about]:
        raise _damaged(path / "run.json", f"no {missing[0]} in it")
    return Run(
        name=name,
        steps=read_lines(path / "steps.jsonl"),
        epochs=read_lines(path / "epochs.jsonl"),
        **{key: about[key] for key in keys},
    )


def settings(name: str) -> Record:
    """The settings that all records of an experiment share.

    Raises:
        CourseError: there is no experiment of that name, or it is damaged.
    """
    return _experiment(folder(name))["settings"]


def records(name: str, group: str = "") -> dict[str, list[Record]]:
    """The records of an experiment, by variant: one for each seed.

    Args:
        name: of the experiment.
        group: read the variants ``GROUP/NAME`` alone, by NAME.

    Raises:
        CourseError: there is no experiment of that name, or it is damaged.
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
    there = (place / RECORDS).exists()
    return _experiment(place)["records"] if there else {}


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
    place.mkdir(parents=True, exist_ok=True)
    found = records_in(place)
    of_seeds = [*found.get(variant, ()), record]
    found[variant] = sorted(of_seeds, key=lambda one: one["seed"])
    write_text(place / RECORDS, _text_of({**head, "records": found}))


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
    return _read_json(place / RECORDS)


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

    Raises:
        CourseError: a file of the training is missing or damaged, or one of
            the stored run cannot be written.
    """
    path = to or folder(name)
    settings = _read_json(output / "experiment.json")
    if "machine" not in settings:
        raise _damaged(output / "experiment.json", "no machine in it")
    trained_on = settings.pop("machine")
    steps, epochs = _kept(output / "metrics.jsonl")
    _write_lines(path / "steps.jsonl", steps)
    _write_lines(path / "epochs.jsonl", epochs)
    about = {
        "settings": settings,
        "command": command,
        "machine": trained_on,
        "results": results,
    }
    write_json(path / "run.json", about, indent=1)
    if counts is not None:
        write_arrays(path / "counts.npz", counts)
    return path


def _kept(path: Path) -> tuple[list[Record], list[Record]]:
    """Split a training's metrics: every k-th step, and all other records."""
    records = read_lines(path)
    try:
        steps = [r for r in records if r["kind"] == "step"]
        every = max(1, len(steps) // STEPS_KEPT)
        kept = [r for r in steps if r["step"] % every == 0]
    except (KeyError, TypeError) as error:
        raise _damaged(path, f"a record without {error}") from error
    return kept, [r for r in records if r["kind"] != "step"]


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write small arrays, compressed; the file is whole, or as it was."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    _write(path, content.getvalue())


def write_json(path: Path, values: Any, indent: int | None = None) -> None:
    """Write a file of a stored run; it is whole, or as it was.

    Args:
        path: where; folders are made.
        values: what json can hold.
        indent: spaces a level; None puts all on one line.
    """
    text = json.dumps(values, indent=indent, ensure_ascii=False)
    write_text(path, text + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file of a stored run; it is whole, or as it was."""
    _write(path, text)


def read_lines(path: Path) -> list[Record]:
    """The records of a file that has one in each line.

    Raises:
        CourseError: it is missing, or a line is damaged.
    """
    try:
        lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    except OSError as error:
        raise _damaged(path, error.strerror) from error
    return [
        _record(path, number, line)
        for number, line in enumerate(lines, start=1)
        if lines != [b""]
    ]


def _record(path: Path, number: int, line: bytes) -> Record:
    try:
        return files.parse_json(line)
    except ValueError as error:
        raise _damaged(path, f"line {number}: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except OSError as error:
        raise _damaged(path, error.strerror) from error
    except ValueError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: object) -> CourseError:
    return CourseError(
        f"{path} cannot be read ({why}): put a whole copy of it there."
    )


def _write(path: Path, content: str | bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, content)
    except OSError as error:
        raise CourseError(
            f"{path} could not be written ({error.strerror}); what stood "
            "there before is untouched."
        ) from error


def _write_lines(path: Path, records: list[Record]) -> None:
    lines = [json.dumps(rounded(r), ensure_ascii=False) for r in records]
    _write(path, "".join(f"{x}\n" for x in lines))


def rounded(record: Record) -> Record:
    """Floats to six significant digits: what is stored is for reading."""
    return {
        key: float(f"{value:.6g}") if isinstance(value, float) else value
        for key, value in record.items()
    }
