"""Settings of a training: its data, its model, how it is trained.

The command line is made from these classes: ``--train.epochs 6`` sets
``TrainConfig.epochs``. Every value is checked when the object is made; what a
task makes of them is checked by the task.
"""

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from transformer_course.checks import (
    is_text,
    require,
    require_fits,
    require_positive,
    require_seed,
    require_share,
    shown,
)
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig, ModelConfig

OWN_FILES = "files"
"""What the corpus is called when it is two files."""
LONGEST_NAME = 200
"""Bytes of a run's name: file systems take 255, and names are added to."""


@dataclass(frozen=True)
class DataConfig:
    """Which text is learned, and how it is cut."""

    corpus: str = "grammar"
    """Which text, by its name: data list says which there are. "files" are
    two of your own."""
    src: str = "en"
    """Language that is read: a code such as en."""
    tgt: str = "ja"
    """Language that is written."""
    files: tuple[str, str] | None = None
    """Two files in a corpus's place, UTF-8, one sentence a line: one to read,
    and one whose line i translates its line i."""
    sha256: tuple[str, str] | None = None
    """Of these files; written down when a training begins, so that a text
    which has changed since is refused."""
    spaced: bool = False
    """In the two files, punctuation and words stand apart by spaces, as in
    the book's corpora; else they hold text as people write it."""
    train_pairs: int | None = None
    """Train on the first so many pairs; all of them when None."""
    more: tuple[str, str] | None = None
    """Two files of more pairs to train on beside the corpus, in its form:
    translations that a model wrote, for instance. A pair with a sentence that
    is held out is left out."""
    more_sha256: tuple[str, str] | None = None
    """Of these files; written down when a training begins."""
    both_ways: bool = False
    """Train on each pair in both directions (Ding et al. 2021); what is
    scored stays in the one direction."""
    pieces: Literal["unigram", "bpe", "word", "char"] = "unigram"
    """Kind of SentencePiece model."""
    subword_sampling: float = 0.0
    """Cut the training text anew in each epoch, drawing the pieces with this
    sharpness (Kudo 2018); 0 always takes the likeliest pieces."""
    token_budget: int = 2048
    """Size of a batch: its rows times the wider of source and target, padding
    counted, are at the most this many."""
    max_shapes: int = 12
    """Different sizes of batches; more of them pad less."""
    batch_size: int = 128
    """Images in a batch."""
    shift: int = 0
    """Move each image by up to so many pixels and mirror every other one,
    drawn anew in each epoch; 0 leaves them as they are."""

    def __post_init__(self):
        require_positive(self, "token_budget", "max_shapes", "batch_size")
        require(
            self.subword_sampling >= 0,
            f"subword_sampling is {self.subword_sampling}: it cannot be "
            "negative.",
        )
        require(
            self.shift >= 0, f"shift is {self.shift}: it cannot be negative."
        )
        require(
            not self.subword_sampling or self.pieces == "unigram",
            f"subword_sampling needs unigram pieces, but pieces is "
            f"{self.pieces!r}: only that model gives each way to cut a "
            "probability.",
        )
        require(
            self.train_pairs is None or self.train_pairs >= 1,
            f"train_pairs is {self.train_pairs}: it must be at least 1.",
        )
        for name in ("src", "tgt"):
            code = getattr(self, name)
            require(
                re.fullmatch("[a-z]{2,3}", code) is not None,
                f"{name} is {code!r}: it must be a language's code of two or "
                "three letters, such as en, ja, fr.",
            )
        self._check_files()
        self._check_more()

    def _check_more(self) -> None:
        """See that digests of more pairs come with the pairs."""
        require(
            all(map(is_text, self.more or ())),
            f"more is {self.more}, and settings are UTF-8: rename what is "
            "not.",
        )
        require(
            self.more is not None or not self.more_sha256,
            "more_sha256 tells of two files of more pairs, and none are "
            "given: set --data.more-sha256 None.",
        )

    def _check_files(self) -> None:
        """See that there is a corpus or two files, and not both."""
        require(
            all(map(is_text, self.files or ())),
            f"files are {self.files}, and settings are UTF-8: rename what "
            "is not.",
        )
        require(
            (self.corpus == OWN_FILES) == (self.files is not None),
            f"corpus is {self.corpus!r}, and files are {self.files}: give a "
            f"corpus, or --data.files (the corpus is {OWN_FILES!r} then).",
        )
        require(
            self.files is not None or not (self.sha256 or self.spaced),
            "sha256 and spaced tell of two files, and none are given: set "
            "--data.sha256 None and --data.no-spaced.",
        )
        require(
            self.files is None or self.spaced or self.pieces != "word",
            "pieces are words, but the files hold text as people write it: "
            "choose --data.pieces unigram, or cut the text into words and "
            "add --data.spaced.",
        )


@dataclass(frozen=True)
class TrainConfig:
    """How long, how fast, and what is kept; chapter 12."""

    epochs: int = 15
    """Passes over the training pairs."""
    seed: int = 0
    """Fixes initial weights, order of batches and dropout."""
    start_from: str | None = None
    """Begin with the weights and the tokenizer of another training: the name
    of a run in the same output folder; where there is none, a folder with a
    run or a checkpoint, or the name of a model that comes with the course."""
    peak_rate: float | None = None
    """Highest learning rate; (d_model × warmup)^-½, the paper's, when None."""
    warmup: int = 4000
    """Steps over which the rate rises."""
    cooldown: int = 0
    """Last epochs in which the rate falls further, in equal steps, nearly to
    zero (Zhai et al. 2022, section 3.5); 0 leaves the paper's schedule."""
    label_smoothing: float = 0.1
    """Probability taken from the right token, spread over the vocabulary."""
    r_drop: float = 0.0
    """Weight of R-Drop: each batch is read twice, and the two predictions
    are pulled together (Liang et al. 2021, who take 5); 0 reads it once."""
    beta2: float = 0.98
    """Adam's memory of squared gradients."""
    epsilon: float = 1e-9
    """Adam's guard against division by zero."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 leaves it as it is."""
    bf16: bool = False
    """Run matrix products in bfloat16 (autocast)."""
    average_last: int = 5
    """Average the weights of so many last epochs; 0 leaves it out."""
    save_every: int = 500
    """Steps between checkpoints, besides one at each epoch's end."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1, mps."""

    def __post_init__(self):
        require_positive(self, "epochs", "warmup", "save_every")
        require_share(self, "label_smoothing", "beta2")
        require_seed(self.seed)
        require(
            0 < self.epsilon <= 1,
            f"epsilon is {self.epsilon}: it must be above 0, or Adam may "
            "divide by it, and at most 1, or nothing is learned.",
        )
        require(
            self.average_last >= 0,
            f"average_last is {self.average_last}: it cannot be negative.",
        )
        require(
            self.r_drop >= 0,
            f"r_drop is {self.r_drop}: it cannot be negative.",
        )
        require(
            0 <= self.cooldown <= self.epochs,
            f"cooldown is {self.cooldown}: it is a number of the last "
            f"epochs, and there are {self.epochs}.",
        )
        require(self.clip >= 0, f"clip is {self.clip}: it cannot be negative.")
        require(
            self.peak_rate is None or self.peak_rate > 0,
            f"peak_rate is {self.peak_rate}: it must be positive.",
        )


@dataclass(frozen=True)
class Experiment:
    """A training from raw text to a scored model."""

    name: str = "experiment"
    """Names the folder of the run, outputs/NAME."""
    data: DataConfig = field(default_factory=DataConfig)
    model: AnyModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    task: str = "translation"
    """What is learned: translation, next_sentence, language_modelling,
    image_classification, text_classification, pre_training."""

    def __post_init__(self):
        require(
            re.fullmatch(r"[^/\\\x00-\x1f]+", self.name) is not None
            and self.name not in (".", "..")
            and is_text(self.name)
            and len(self.name.encode()) <= LONGEST_NAME,
            f"the name is {shown(repr(self.name))}: it must be that of one "
            f"folder, without slashes, of {LONGEST_NAME} bytes at the most; "
            "--output-dir says where the folder stands.",
        )


def changed_experiment(
    base: Experiment, changes: dict[str, Any]
) -> Experiment:
    """An experiment with settings changed by their dotted names.

    Raises:
        ConfigError: a setting that does not exist, or a value that it cannot
            have.
    """
    known = _settings_of(base)
    parts: dict[str, dict[str, Any]] = {}
    for setting, value in changes.items():
        if setting not in known:
            raise ConfigError(
                f"there is no setting {setting!r}; there are: "
                f"{', '.join(sorted(known))}."
            )
        require_fits(setting, value, known[setting])
        part, _, name = setting.partition(".")
        parts.setdefault(part, {})[name] = value
    changed = {
        part: dataclasses.replace(getattr(base, part), **values)
        for part, values in parts.items()
    }
    return dataclasses.replace(base, **changed)


def _settings_of(base: Experiment) -> dict[str, Any]:
    """Every dotted name, and the type of its values."""
    return {
        f"{part}.{name}": hint
        for part in ("data", "model", "train")
        for name, hint in get_type_hints(type(getattr(base, part))).items()
    }
