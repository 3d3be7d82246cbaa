"""How good is a translator that a learner has written?

The finished ``my_transformer.py`` of the exercises is trained and scored as
``transformer-course train grammar --model my_transformer.py`` does it, beside
the package's model of the same preset. Both are in post-norm; the file's model
has no dropout, draws its embedding with the variance 1/d_model, and knows no
cache.
"""

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory

from course_exercises.path.parts import FILE, solution_text
from experiments.lab import TINY, Experiment, Record, RunContext, splits_for
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.fast.chunked_loss import LESS_MEMORY
from transformer_course.fast.optimize import optimize
from transformer_course.models.config import CustomConfig
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.training import run

PRESET = "grammar"
BEAMS = (1, 5)


def settings(is_own: bool) -> Settings:
    """The preset, with the file's model or the package's."""
    preset = PRESETS[PRESET]
    if not is_own:
        return preset
    shared = {f.name for f in dataclasses.fields(CustomConfig)}
    given = {
        name: getattr(preset.model, name) for name in shared - {"code", "file"}
    }
    config = CustomConfig(**given, code=solution_text(), file=FILE)
    return dataclasses.replace(preset, model=config)


def measure(is_own: bool, seed: int, context: RunContext) -> Record:
    """Train, and score the best epoch's weights on the test set."""
    changes = {"train.seed": seed} | (TINY if context.smoke else {})
    chosen = changed_experiment(settings(is_own), changes)
    with TemporaryDirectory() as folder:
        output = run(
            dataclasses.replace(chosen, name="own"),
            Path(folder),
            quiet=True,
            optimize=optimize,
            losses=LESS_MEMORY,
        )
        loaded = checkpoint.load(chosen_checkpoint(output))
    text = splits_for(loaded.details, context).test
    record: Record = {"sentences": len(text)}
    for beam in BEAMS:
        written = translate(loaded.model, loaded.tokenizer, text.src, beam)
        pairs = zip(written, text.tgt, strict=True)
        record[f"bleu_{beam}"] = round(corpus_bleu(written, text.tgt).value, 2)
        record[f"exact_{beam}"] = sum(a == b for a, b in pairs)
    return record


EXPERIMENT = Experiment(
    name="own-file",
    chapter="12_training",
    variants={"own": True, "package": False},
    measure=measure,
    settings=lambda: {"preset": PRESET},
)
