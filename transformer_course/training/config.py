"""Settings of a training: its data, its model, how it is trained.

The command line is made from these classes: ``--train.epochs 6`` sets
``TrainConfig.epochs``. The training's task checks how they go together.
"""

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from transformer_course.checks import (
    Config,
    Constraint,
    Count,
    NonNegative,
    Positive,
    Probability,
    Seed,
    Size,
    require,
)
from transformer_course.models.config import AnyModelConfig, ModelConfig

LOOP_SETTINGS = (
    "epochs",
    "seed",
    "start_from",
    "peak_rate",
    "schedule",
    "warmup",
    "cooldown",
    "beta2",
    "epsilon",
    "weight_decay",
    "clip",
    "bf16",
    "average_last",
    "save_every",
    "device",
)
"""Settings of :class:`TrainConfig` that are the loop's, and not the loss's."""
SHORT_CODES = {
    "eng": "en",
    "jpn": "ja",
    "zho": "zh",
    "chi": "zh",
    "cmn": "zh",
    "tha": "th",
    "lao": "lo",
    "khm": "km",
    "mya": "my",
    "bur": "my",
}
"""From three letters to two, for the languages that are written in a way that
the package has to know."""
Steps = Annotated[
    int | float,
    Constraint(
        lambda n: 0 < n < 1 or (n >= 1 and n == int(n)),
        "of steps, or below 1 a share of all steps",
    ),
]
OWN_FILES = "files"
"""The name of the corpus that consists of two files."""
Language = Annotated[
    str,
    Constraint(
        re.compile("[a-z]{2,3}").fullmatch,
        "that is a language code of two or three letters, such as en, ja, fr",
    ),
]
Files = Annotated[
    tuple[str, ...],
    Constraint(
        lambda files: len(files) in (1, 2),
        "two files, or one whose lines hold source, tab, target",
    ),
]
FolderName = Annotated[
    str,
    Constraint(
        re.compile(r"(?!\.\.?$)[^/\\\x00-\x1f]{1,200}").fullmatch,
        "that names one folder, without slashes (--output-dir says where it "
        "stands)",
    ),
]


@dataclass(frozen=True)
class DataConfig(Config):
    """The training text, its subwords and its batches."""

    corpus: str = "grammar"
    """Name of the corpus: see data list. With --data.files it is "files"."""
    src: Language | None = None
    """Language that is read, by its code, such as en or eng; the corpus's
    when None."""
    tgt: Language | None = None
    """Language that is written; the corpus's when None. Of two files the
    defaults are en and ja."""
    files: Files | None = None
    """Files in a corpus's place, UTF-8, one sentence a line: one to read, and
    one whose line i translates its line i; or one file with both in each
    line, and a tab between them."""
    sha256: Files | None = None
    """The sha256 of each of these files, recorded when training begins, so
    that a text which has changed since is refused."""
    spaced: bool = False
    """In your files, words and punctuation are separated by spaces, as in
    the book's corpora; else they hold text as people write it."""
    train_pairs: Size | None = None
    """Number of pairs to train on, from the first; all when None."""
    more: Files | None = None
    """Files of more pairs to train on beside the corpus, in its form:
    translations that a model wrote, for instance. A pair with a sentence that
    is held out is left out."""
    more_sha256: Files | None = None
    """The sha256 of each of these files, recorded when training begins."""
    both_ways: bool = False
    """Train on each pair in both directions (Ding et al. 2021); what is
    scored stays in the one direction."""
    pieces: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """Kind of SentencePiece model."""
    subword_sampling: NonNegative = 0.0
    """Cut the training text anew in each epoch, drawing the pieces with this
    sharpness (Kudo 2018); 0 always takes the likeliest pieces."""
    token_budget: Size = 2048
    """Size of a batch: its rows times the wider of source and target, padding
    counted, are at the most this many."""
    max_shapes: Size = 12
    """Different sizes of batches; more of them pad less."""
    batch_size: Size = 128
    """Images in a batch."""
    shift: Count = 0
    """Move each image by up to so many pixels and mirror every other one,
    drawn anew in each epoch; 0 leaves them as they are."""

    def __post_init__(self):
        super().__post_init__()
        require(
            not self.subword_sampling or self.pieces == "unigram",
            f"subword_sampling needs unigram pieces, but pieces is "
            f"{self.pieces!r}: only that model gives each segmentation a "
            "probability.",
        )
        for side in ("src", "tgt"):
            code = getattr(self, side)
            object.__setattr__(self, side, SHORT_CODES.get(code, code))
        if self.files:
            object.__setattr__(self, "corpus", OWN_FILES)
        require(
            self.files or not (self.corpus == OWN_FILES or self.spaced),
            "corpus 'files' and spaced describe your files, and none are "
            "given: add --data.files FILE FILE, or name another corpus and "
            "leave out --data.spaced.",
        )
        require(
            not self.files or self.spaced or self.pieces != "word",
            "pieces are words, but the files hold text as people write it: "
            "choose --data.pieces unigram, or cut the text into words and "
            "add --data.spaced.",
        )


@dataclass(frozen=True)
class TrainConfig(Config):
    """Optimisation and checkpoints (chapter 12)."""

    epochs: Size = 15
    """Passes over the training pairs."""
    seed: Seed = 0
    """Fixes initial weights, order of batches and dropout."""
    start_from: str | None = None
    """Begin with the weights and the tokenizer of another training: the name
    of a run in the same output folder; where there is none, a folder with a
    run, a checkpoint or a published BERT, or the name of a model."""
    peak_rate: Positive | None = None
    """Highest learning rate; (d_model × warmup)^-½, the paper's, when None."""
    schedule: Literal["inverse_sqrt", "cosine"] = "inverse_sqrt"
    """How the rate falls after the warm-up: as 1/√step, the paper's, or as a
    cosine, to zero at the end."""
    warmup: Steps = 4000
    """Steps over which the rate rises; below 1, their share of all steps."""
    cooldown: Count = 0
    """Number of last epochs in which the rate falls further, evenly, nearly to
    zero (Zhai et al. 2022, section 3.5); 0 leaves the paper's schedule."""
    label_smoothing: Probability = 0.1
    """Probability taken from the right token, spread over the vocabulary."""
    r_drop: NonNegative = 0.0
    """Weight of R-Drop: each batch is read twice, and the two predictions
    are pulled together (Liang et al. 2021, who take 5); 0 reads it once."""
    beta2: Probability = 0.98
    """Adam's β₂: the decay rate of its mean of squared gradients."""
    epsilon: Positive = 1e-9
    """Adam's guard against division by zero."""
    weight_decay: NonNegative = 0.0
    """AdamW's: each step takes this times the rate off every weight."""
    clip: NonNegative = 1.0
    """Largest norm of the gradient; 0 leaves it as it is."""
    bf16: bool = False
    """Run matrix products in bfloat16 (autocast)."""
    average_last: Count = 5
    """Number of last epochs whose weights are averaged; 0 averages none."""
    save_every: Size = 500
    """Steps between checkpoints, besides one at each epoch's end."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""

    def __post_init__(self):
        super().__post_init__()
        require(
            self.cooldown <= self.epochs,
            f"cooldown is {self.cooldown}: it counts the last epochs, of "
            f"which there are {self.epochs}.",
        )

    @property
    def fixed_end(self) -> bool:
        """Whether the rate of a step depends on the number of epochs."""
        return (
            self.cooldown > 0 or self.schedule == "cosine" or self.warmup < 1
        )


@dataclass(frozen=True)
class Experiment(Config):
    """A training from raw text to a scored model."""

    name: FolderName = "experiment"
    """Names the folder of the run, outputs/NAME."""
    data: DataConfig = field(default_factory=DataConfig)
    model: AnyModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    task: str = "translation"
    """What is learned: translation, next_sentence, language_modelling,
    image_classification, text_classification, pre_training."""


def changed_experiment(
    base: Experiment, changes: dict[str, Any]
) -> Experiment:
    """An experiment with settings changed by their dotted names.

    Raises:
        ConfigError: a setting cannot have that value.
        TypeError: there is no such setting.
    """
    parts: dict[str, dict[str, Any]] = {}
    for setting, value in changes.items():
        part, _, name = setting.partition(".")
        parts.setdefault(part, {})[name] = value
    changed = {
        part: dataclasses.replace(getattr(base, part), **values)
        for part, values in parts.items()
    }
    return dataclasses.replace(base, **changed)
