"""Which of a few translations are right?

It is for readers to judge, in ``experiments/results/judging/samples.json``:
sentences of the development set, with a beam of 5. Glosses and verdicts are
written into the file by hand. When it is made again, those are kept whose
Japanese is still the same; a test finds the others.
"""

from collections.abc import Iterator

from experiments import store, translations
from experiments.lab import Analysis, RunContext, made_of

PLACES = (10, 115, 26, 25, 278, 138, 146, 17)
CREDIT = f"{translations.CREDIT} Translations, glosses and verdicts: this "
CREDIT += "course."

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


def analyse(context: RunContext) -> Iterator[str]:
    """Translate, and keep what was written by hand."""
    path = context.folder / "samples.json"
    notes = notes_of(store.rows_in(path))
    places = PLACES[: context.limit(len(PLACES))]
    text = translations.dev_of(context.inputs[0]).take(places)
    systems, written = translations.decoded_by_all(context, text)
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
        **made_of("judging", context),
        "split": "dev",
        "credit": CREDIT,
        "systems": systems,
        "samples": samples,
    }
    store.write_json(path, stored, indent=1)
    yield f"{len(samples)} sentences, {len(systems)} systems"


EXPERIMENT = Analysis(
    name="judging",
    chapter="14_evaluation",
    analyse=analyse,
    inputs=("outputs/enja", "outputs/enja-gru"),
    smoke_inputs=translations.smoke_inputs,
)
