"""Write down what systems made of some sentences of the development set.

    python tools/choose_samples.py 10 115 -- outputs/enja outputs/enja-gru

It is for readers to judge, in ``runs/judging/samples.json``: the best epoch's
weights or, where there is one, the average, with a beam of 5. Glosses and
verdicts are written into the file by hand. When it is made again, those are
kept whose Japanese is still the same; a test finds the others.
"""

import json
import sys
from pathlib import Path

from transformer_course import checkpoint, runs
from transformer_course.data.corpora import load_corpus
from transformer_course.data.text import ParallelText
from transformer_course.device import machine
from transformer_course.translate import translate

BEAM = 5
CREDIT = "Sentences: Tanaka Corpus / Tatoeba (CC BY 2.0 FR), as cut up in "
CREDIT += "odashi/small_parallel_enja. Translations, glosses and verdicts: "
CREDIT += "this course."

Notes = dict[str, dict]


def notes_of(samples: list[dict]) -> Notes:
    """The handwritten notes, by the Japanese that they are about."""
    texts = [t for s in samples for t in (s["ref"], *s["outputs"].values())]
    return {text["text"]: text for text in texts}


def annotated(text: str, notes: Notes, verdict: bool = True) -> dict:
    """A Japanese sentence with its notes; empty ones to be filled in."""
    known = notes.get(text, {})
    found = {"text": text, "gloss": known.get("gloss", "")}
    return found | ({"verdict": known.get("verdict", "")} if verdict else {})


def system(output: Path, text: ParallelText) -> tuple[dict, list[str]]:
    """What a training says of itself, and what its model writes."""
    stored = runs.read(output.name)
    rows = stored.results["rows"]
    row = next(r for r in reversed(rows) if r["beam"] == BEAM)
    loaded = checkpoint.load(output / "checkpoints" / row["weights"])
    written = translate(
        loaded.model, loaded.tokenizer, text.src, BEAM, row["alpha"]
    )
    about = {key: row[key] for key in ("weights", "beam", "alpha")}
    return about | {"settings": stored.settings}, written


def main() -> None:
    """Take the sentences' places and the folders from the command line."""
    cut = sys.argv.index("--")
    places = [int(place) for place in sys.argv[1:cut]]
    outputs = [Path(name) for name in sys.argv[cut + 1 :]]
    path = runs.folder("judging") / "samples.json"
    notes = {}
    if path.is_file():
        notes = notes_of(json.loads(path.read_text("utf-8"))["samples"])
    text = load_corpus("small_parallel_enja").dev.take(places)
    systems, written = {}, {}
    for output in outputs:
        systems[output.name], written[output.name] = system(output, text)
    samples = [
        {
            "place": place,
            "src": text.src[i],
            "ref": annotated(text.tgt[i], notes, verdict=False),
            "outputs": {
                name: annotated(lines[i], notes)
                for name, lines in written.items()
            },
        }
        for i, place in enumerate(places)
    ]
    stored = {
        "command": "python tools/choose_samples.py "
        + " ".join(map(str, places))
        + " -- "
        + " ".join(f"outputs/{name}" for name in systems),
        "machine": machine(),
        "split": "dev",
        "credit": CREDIT,
        "systems": systems,
        "samples": samples,
    }
    runs.write_json(path, stored, indent=1)
    print(path)


if __name__ == "__main__":
    main()
