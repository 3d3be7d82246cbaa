"""What do two translators make of their own training pairs?

Each source is translated, and each target is translated back: two more pairs
for each of the corpus, which ``--data.more`` learns beside it (Nguyen et al.
2020, *Data Diversification*). The first model translates as the training
shall, the second one the other way. The pairs are written into
``outputs/more-pairs/``, a text for each model; what is there already is not
translated again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
from experiments.translations import CREDIT
from transformer_course.data import more_pairs, own_text
from transformer_course.data.text import ParallelText, read_lines
from transformer_course.decoding.search import DEFAULT_ALPHA
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.inference.model import TrainedModel

BEAM_SIZE = 5
AT_A_TIME = 1000
"""Sentences that are translated and then written down."""
SAMPLES = 5
"""Translations, other than those that people wrote, that are stored."""


@dataclass(frozen=True)
class Written:
    """Pairs that one model makes of one side of the training text."""

    model: TrainedModel
    text: ParallelText
    """Pairs of the training part, in the model's direction."""
    path: Path
    """The file of its translations."""

    def lines(self) -> list[str]:
        """All translations; those that are missing are made."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        done = read_lines(self.path) if self.path.exists() else []
        alpha = self.model.details.get("alpha", DEFAULT_ALPHA)
        sides = self.model.model, self.model.tokenizer
        for start in range(len(done), len(self.text), AT_A_TIME):
            sources = self.text.src[start : start + AT_A_TIME]
            made = translate(*sides, sources, BEAM_SIZE, alpha)
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in made)
            done += made
        return done

    def about(self, lines: list[str]) -> Record:
        """Similarity to the sentences that people wrote."""
        others = [
            {"src": src, "tgt": tgt, "out": made}
            for (src, tgt), made in zip(self.text, lines, strict=True)
            if made != tgt
        ]
        return {
            "model": str(self.model.path),
            "pairs": len(lines),
            "same": len(lines) - len(others),
            "bleu": round(corpus_bleu(lines, self.text.tgt).value, 2),
            "samples": others[:SAMPLES],
        }


def written(path: Path, outputs: Path, context: RunContext) -> Written:
    """A model, and its half of the work."""
    model = TrainedModel.load(path, "cpu")
    text = splits_for(model.details, context).train
    return Written(model, text, outputs / f"written.{model.details['tgt']}")


def analyse(context: RunContext) -> Iterator[str]:
    """Translate, write the pairs, and store what they are like."""
    outputs = context.outputs / "more-pairs"
    there, back = (written(path, outputs, context) for path in context.inputs)
    forward, backward = there.lines(), back.lines()
    sides = {
        there.model.details["src"]: [*there.text.src, *backward],
        there.model.details["tgt"]: [*forward, *back.text.src],
    }
    paths = [outputs / f"more.{language}" for language in sides]
    for path, lines in zip(paths, sides.values(), strict=True):
        store.write_file(path, "".join(f"{line}\n" for line in lines))
    splits = splits_for(there.model.details, context)
    learned = more_pairs.added(splits, tuple(map(str, paths)))
    found = {
        "beam": BEAM_SIZE,
        "new": len(learned.train) - len(splits.train),
        "forward": there.about(forward),
        "backward": back.about(backward),
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
