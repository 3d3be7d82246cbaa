"""Translations of every tenth development sentence, for somebody to judge.

    python -m tools.judge_translations outputs/enja-gru outputs/enja

English to Japanese, decoded as ``choose_samples.py`` does: with a beam of 5,
by the average of the last epochs where there is one. In
``runs/translation-errors/judged.json`` each translation has a gloss and a
verdict and, unless it is right, the kind of its gravest error. These are
written into the file by hand. When it is made again, those are kept whose
sentence and Japanese are still the same; a test finds the others.
"""

import json
import sys
from pathlib import Path

from tools.choose_samples import CREDIT, system
from transformer_course import runs
from transformer_course.data.corpora import load_corpus
from transformer_course.device import machine

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
"""What a translation that is not right may suffer from."""

Notes = dict[tuple[str, str], dict[str, str]]


def notes_of(samples: list[dict]) -> Notes:
    """What was written by hand, by source and translation."""
    return {
        (sample["src"], output["text"]): output
        for sample in samples
        for output in sample["outputs"].values()
    }


def annotated(src: str, text: str, notes: Notes) -> dict[str, str]:
    """A translation with its notes; empty ones to be filled in."""
    known = notes.get((src, text), {})
    fields = ("gloss", "verdict", "kind")
    return {"text": text} | {name: known.get(name, "") for name in fields}


def main() -> None:
    """Take the trainings' folders from the command line."""
    outputs = [Path(name) for name in sys.argv[1:]]
    path = runs.folder("translation-errors") / "judged.json"
    notes = {}
    if path.is_file():
        notes = notes_of(json.loads(path.read_text("utf-8"))["samples"])
    dev = load_corpus("small_parallel_enja").dev
    places = range(0, len(dev), EVERY)
    text = dev.take(places)
    systems, written = {}, {}
    for output in outputs:
        about, written[output.name] = system(output, text)
        about.pop("settings")  # they stand in runs/NAME/run.json
        systems[output.name] = about
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
    names = " ".join(f"outputs/{name}" for name in systems)
    stored = {
        "command": f"python -m tools.judge_translations {names}",
        "machine": machine(),
        "split": "dev",
        "credit": CREDIT,
        "verdicts": VERDICTS,
        "kinds": KINDS,
        "systems": systems,
        "samples": samples,
    }
    runs.write_json(path, stored, indent=1)
    print(path)


if __name__ == "__main__":
    main()
