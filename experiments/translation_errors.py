"""What is wrong with the translations that are wrong?

Every tenth development sentence, English to Japanese, with a beam of 5. In
``experiments/results/translation-errors/judged.json`` each translation has a
gloss and a verdict and, unless it is right, the kind of its gravest error. In
``judged-again.json`` each different one has the verdict of a second judge.
Both are written into the files by hand. When they are made again, verdicts
are kept whose sentence and Japanese are still the same; a test finds the
others.
"""

from collections.abc import Iterator
from pathlib import Path

from experiments import store, translations
from experiments.judging import CREDIT
from experiments.lab import Analysis, RunContext, made_of

EVERY = 10
VERDICTS = {
    "right": "says what the source says, in Japanese that people might write",
    "partly": "says some of it, and little else",
    "wrong": "says something else, or nothing",
}
KINDS = {
    "word": "a word of the source is taken for another one",
    "phrase": "a turn of phrase is translated word by word",
    "missing": "something is left out",
    "opposite": "a not or an or is lost or misplaced",
    "roles": "who does what to whom is turned round",
    "broken": "not a sentence",
}
"""Kinds of errors of a translation."""

JUDGES = {
    "judged": "a large language model, not blinded: its verdicts were written "
    "beside the systems' names, in the making of this course; no more is "
    "recorded of how they came about",
    "judged-again": "a large language model, shown source and translation "
    "alone, each different pair once, in random order (seed 20261122), "
    "without systems, glosses or the first verdicts",
}
"""Judges, by file, and the texts they saw."""
FIRST = ("gloss", "verdict", "kind")
AGAIN = ("verdict", "kind", "note")

Notes = dict[tuple[str, str], dict[str, str]]


def notes_of(samples: list[dict]) -> Notes:
    """Notes written by hand, by source and translation."""
    return {
        (sample["src"], output["text"]): output
        for sample in samples
        for output in sample["outputs"].values()
    }


def annotated(
    src: str, text: str, notes: Notes, fields: tuple[str, ...] = FIRST
) -> dict[str, str]:
    """A translation with its notes; empty ones to be filled in."""
    known = notes.get((src, text), {})
    return {"text": text} | {name: known.get(name, "") for name in fields}


def judged_again(samples: list[dict], notes: Notes) -> list[dict[str, str]]:
    """Each different translation of a sentence once, for the second judge."""
    return [
        {"src": src} | annotated(src, text, notes, AGAIN)
        for src, text in notes_of(samples)
    ]


def sheet_notes(path: Path) -> Notes:
    """Notes of the second judge, by source and translation."""
    verdicts = store.rows_in(path, "verdicts")
    return {(note["src"], note["text"]): note for note in verdicts}


def analyse(context: RunContext) -> Iterator[str]:
    """Translate, and keep what was written by hand."""
    path = context.folder / "judged.json"
    notes = notes_of(store.rows_in(path))
    dev = translations.dev_of(context.inputs[0])
    places = range(0, len(dev), EVERY)[: context.limit(len(dev))]
    text = dev.take(places)
    systems, written = translations.decoded_by_all(context, text)
    samples = [
        {
            "place": place,
            "src": src,
            "outputs": {
                name: annotated(src, lines[i], notes)
                for name, lines in written.items()
            },
        }
        for i, (place, src) in enumerate(zip(places, text.src, strict=True))
    ]
    stored = {
        **made_of("translation-errors", context),
        "judge": JUDGES["judged"],
        "split": "dev",
        "credit": CREDIT,
        "verdicts": VERDICTS,
        "kinds": KINDS,
        "systems": systems,
        "samples": samples,
    }
    store.write_json(path, stored, indent=1)
    sheet = path.with_name("judged-again.json")
    again = {
        "judge": JUDGES["judged-again"],
        "credit": CREDIT,
        "verdicts": judged_again(samples, sheet_notes(sheet)),
    }
    store.write_json(sheet, again, indent=1)
    yield f"{len(samples)} sentences, {len(systems)} systems"


EXPERIMENT = Analysis(
    name="translation-errors",
    chapter="15_translation",
    analyse=analyse,
    inputs=("outputs/enja-gru", "outputs/enja", "outputs/enja-longer"),
    smoke_inputs=translations.smoke_inputs,
)
