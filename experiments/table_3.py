"""What does each size and setting of a Transformer bring?

Table 3 of the paper in small: English to Japanese, one factor changed at a
time, three seeds each. Two cores are used best by starting it twice, with
OMP_NUM_THREADS=1 and other seeds.
"""

import dataclasses
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from experiments import store
from experiments.lab import TINY, Experiment, Record, RunContext
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import (
    chosen_checkpoint,
    selection_metric_of,
)
from transformer_course.data.config import DataConfig
from transformer_course.errors import DivergedError
from transformer_course.fast.chunked_loss import LESS_MEMORY
from transformer_course.fast.optimize import optimize
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import Transformer
from transformer_course.training import config
from transformer_course.training.config import LoopConfig, changed_experiment
from transformer_course.training.run.folder import RunFolder
from transformer_course.training.run.training import run
from transformer_course.training.tasks.table import experiment_to_dict

D_KEY = 8
"""Width of queries and keys in row B; 32 in the base."""


class NarrowKeys(MultiHeadAttention):
    """Queries and keys of ``D_KEY`` numbers a head, values as wide as ever.

    The paper's d_k and d_v are separate sizes (section 3.2.2); the course's
    class has one for both.
    """

    def __init__(self, d_model, n_heads, dropout=0.0, bias=False, rotary=None):
        super().__init__(d_model, n_heads, dropout, bias, rotary)
        self.to_query = nn.Linear(d_model, n_heads * D_KEY, bias=bias)
        self.to_key = nn.Linear(d_model, n_heads * D_KEY, bias=bias)

    def _split(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.n_heads, -1).transpose(1, 2)


class NarrowKeyed(Transformer):
    """All its attentions have narrow keys."""

    def init_weights(self) -> None:
        """Put them into their places, then draw."""
        for name, part in list(self.named_modules()):
            if isinstance(part, MultiHeadAttention):
                sizes = self.config.d_model, self.config.n_heads
                self.set_submodule(name, NarrowKeys(*sizes))
        super().init_weights()


BASE = config.Experiment(
    name="table-3",
    # the paper's pieces are byte-pair encoded too (section 5.1)
    data=DataConfig("small_parallel_enja", pieces="bpe", token_budget=1536),
    # pre-norm, as in the preset enja: a base that no seed can spoil
    model=ModelConfig(
        vocab_size=4000,
        d_model=128,
        n_heads=4,
        d_ff=512,
        n_layers=2,
        max_length=64,
        norm_first=True,
    ),
    # no averaging, as in the paper's table (section 6.2); the rate is half of
    # its formula's, and better after two epochs than a quarter (seed 0)
    train=LoopConfig(
        epochs=5, warmup=500, peak_rate=2e-3, bf16=True, average_last=0
    ),
)


SMOKE = TINY | {"data.corpus": "grammar", "data.pieces": "word"}
PAPER = Path(__file__).with_name("table_3_paper.json")
"""The paper's rows: base model, but for the changes; perplexity per wordpiece
and BLEU; millions of parameters, where the table has them; and the name of our
variant that asks the same question."""
METRICS = ("bleu", "nll", "perplexity", "accuracy")
"""Scores on the development set."""


@dataclass(frozen=True)
class Variant:
    """A single change to the base."""

    name: str
    label: str
    """The change as readers are told it."""
    row: str = ""
    """The letter of the paper's row that asks the same question."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Settings by their dotted names, ``{"model.n_heads": 1}``."""
    build: checkpoint.Build = checkpoint.build
    """From a config to the model."""

    def experiment(self, seed: int, smoke: bool = False) -> config.Experiment:
        """The settings of its training."""
        changes = (SMOKE if smoke else {}) | self.changes
        changed = changed_experiment(BASE, changes | {"train.seed": seed})
        return dataclasses.replace(changed, name=f"{self.name}-seed{seed}")

    def train(self, seed: int, outputs: Path, smoke: bool) -> RunFolder:
        """Train it in ``outputs``, or go on with what was begun there.

        Raises:
            DivergedError: the loss is not a number any more.
        """
        settings = self.experiment(seed, smoke)
        begun = (folder := RunFolder(outputs / settings.name)).begun
        run(
            settings,
            outputs,
            begun,
            quiet=True,
            build=self.build,
            optimize=optimize,
            losses=LESS_MEMORY,
        )
        return folder


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("base", "the base"),
        Variant("heads-1", "1 head", "A", {"model.n_heads": 1}),
        Variant("heads-8", "8 heads", "A", {"model.n_heads": 8}),
        Variant("d-key-8", f"d_k = {D_KEY}, d_v = 32", "B", build=NarrowKeyed),
        Variant("layers-1", "N = 1", "C", {"model.n_layers": 1}),
        Variant("layers-4", "N = 4", "C", {"model.n_layers": 4}),
        Variant("d-model-64", "d_model = 64", "C", {"model.d_model": 64}),
        Variant("d-ff-1024", "d_ff = 1024", "C", {"model.d_ff": 1024}),
        Variant("dropout-0", "no dropout", "D", {"model.dropout": 0.0}),
        Variant("dropout-0.3", "dropout .3", "D", {"model.dropout": 0.3}),
        Variant(
            "smoothing-0",
            "no label smoothing",
            "D",
            {"loss.label_smoothing": 0.0},
        ),
        Variant(
            "smoothing-0.2",
            "label smoothing .2",
            "D",
            {"loss.label_smoothing": 0.2},
        ),
        Variant(
            "learned", "learned positions", "E", {"model.position": "learned"}
        ),
        Variant(
            "rotary", "rotary positions", "", {"model.position": "rotary"}
        ),
        Variant("no-position", "no positions", "", {"model.position": "none"}),
        Variant("post-norm", "post-norm", "", {"model.norm_first": False}),
    )
}


def measure(variant: Variant, seed: int, context: RunContext) -> Record:
    """Train, score by the best weights, and delete the checkpoints.

    The best epoch is taken, or the average of the last ones where that is
    better, both by the development set.
    """
    outputs = context.outputs / "table-3"
    try:
        folder, diverged = variant.train(seed, outputs, context.smoke), None
    except DivergedError as error:
        name = variant.experiment(seed).name
        folder, diverged = RunFolder(outputs / name), str(error)
    scored = [r for r in folder.records() if r["kind"] != "step"]
    found: Record = {
        "machine": folder.settings()["machine"],
        "curve": [point(r) for r in scored if r["kind"] == "epoch"],
    }
    if diverged:
        found["diverged"] = diverged
    else:
        best = max(scored, key=selection_metric_of)
        chosen = chosen_checkpoint(folder.path)
        model = checkpoint.load(chosen, build=variant.build).model
        found |= {
            "weights": sum(p.numel() for p in model.parameters()),
            "chosen": f"epoch {best['epoch']}"
            if "epoch" in best
            else "average",
            "dev": store.rounded({m: best[f"dev_{m}"] for m in METRICS}),
        }
    shutil.rmtree(folder.checkpoints, ignore_errors=True)
    return found


def point(record: Record) -> Record:
    """The figures of an epoch, without its samples."""
    kept = ("epoch", "step", "train_", "dev_")
    return store.rounded(
        {k: v for k, v in record.items() if k.startswith(kept)}
    )


def settings() -> Record:
    """The base, its changes, and the paper's rows for the chapter to read."""
    told = ("label", "row", "changes")
    return {
        "base": experiment_to_dict(BASE),
        "variants": {
            name: {key: getattr(variant, key) for key in told}
            for name, variant in VARIANTS.items()
        },
        "paper": store.read_json(PAPER),
    }


EXPERIMENT = Experiment(
    name="table-3",
    chapter="15_translation",
    variants=VARIANTS,
    measure=measure,
    settings=settings,
    smoke_variants=("base", "d-key-8"),
)
