"""What do two translators make of their own training pairs?

Each source is translated, and each target is translated back: two more pairs
for each of the corpus, which ``--data.more`` learns beside it (Nguyen et al.
2020, *Data Diversification*). The first model translates as the training
shall, the second one the other way. The pairs are written into
``outputs/more-pairs/``, a text for each model; what is there already is not
translated again.
"""

from collections.abc import Iterator
from pathlib import Path

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    made_of,
    splits_for,
    tiny_run,
)
from experiments.translations import CREDIT, written
from transformer_course.data import more_pairs, own_text
from transformer_course.data.text import ParallelText
from transformer_course.decoding.search import DEFAULT_ALPHA
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.inference.model import TrainedModel

BEAM_SIZE = 5
SAMPLES = 5
"""Translations, other than those that people wrote, that are stored."""


def made_by(
    loaded: TrainedModel, folder: Path, context: RunContext
) -> tuple[ParallelText, list[str], Record]:
    """The training part in a model's direction, and what it makes of it; with
    how like that is to the sentences that people wrote."""
    details = loaded.details
    text = splits_for(details, context).train
    alpha = details.get("alpha", DEFAULT_ALPHA)
    path = folder / f"written.{details['tgt']}"
    sides = loaded.model, loaded.tokenizer
    lines = written(*sides, text.src, path, BEAM_SIZE, alpha)
    others = [
        {"src": src, "tgt": tgt, "out": made}
        for (src, tgt), made in zip(text, lines, strict=True)
        if made != tgt
    ]
    return (
        text,
        lines,
        {
            "model": str(loaded.path),
            "pairs": len(lines),
            "same": len(lines) - len(others),
            "bleu": round(corpus_bleu(lines, text.tgt).value, 2),
            "samples": others[:SAMPLES],
        },
    )


def analyse(context: RunContext) -> Iterator[str]:
    """Translate, write the pairs, and store what they are like."""
    outputs = context.outputs / "more-pairs"
    models = [TrainedModel.load(path, "cpu") for path in context.inputs]
    details = models[0].details
    (text, forward, there), (other, backward, back) = (
        made_by(model, outputs, context) for model in models
    )
    sides = {
        details["src"]: [*text.src, *backward],
        details["tgt"]: [*forward, *other.src],
    }
    paths = [outputs / f"more.{language}" for language in sides]
    for path, lines in zip(paths, sides.values(), strict=True):
        store.write_file(path, "".join(f"{line}\n" for line in lines))
    splits = splits_for(details, context)
    learned = more_pairs.added(splits, tuple(map(str, paths)))
    found = {
        "beam": BEAM_SIZE,
        "new": len(learned.train) - len(splits.train),
        "forward": there,
        "backward": back,
        "sha256": own_text.digests(list(map(str, paths))),
        "credit": CREDIT,
    }
    about = {**made_of("more-pairs", context), "results": found}
    store.write_json(context.folder / "run.json", about, indent=1)
    yield f"{2 * len(forward):,} pairs: {' and '.join(map(str, paths))}"


def tiny_pair(scratch: Path) -> list[Path]:
    """Tiny translators of the grammar, one for each direction."""
    back = {"data.src": "ja", "data.tgt": "en"}
    return [tiny_run(scratch, "there"), tiny_run(scratch, "back", **back)]


EXPERIMENT = Analysis(
    name="more-pairs",
    chapter="15_translation",
    analyse=analyse,
    inputs=(
        "outputs/enja-wide/checkpoints/average",
        "outputs/jaen-wide/checkpoints/average",
    ),
    smoke_inputs=tiny_pair,
)
