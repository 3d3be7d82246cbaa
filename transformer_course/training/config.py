"""Settings of a training: its data, its model, how it is trained.

The command line is made from these classes: ``--train.epochs 6`` sets
``LoopConfig.epochs``. The training's task checks how they go together.
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
from transformer_course.data.config import DataConfig
from transformer_course.models.config import AnyModelConfig, ModelConfig

Steps = Annotated[
    int | float,
    Constraint(
        lambda n: 0 < n < 1 or (n >= 1 and n % 1 == 0),
        "of steps, or below 1 a share of all steps",
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
class LoopConfig(Config):
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
    beta2: Probability = 0.98
    """Adam's β₂: the decay rate of its mean of squared gradients."""
    epsilon: Positive = 1e-9
    """Adam's guard against division by zero."""
    weight_decay: NonNegative = 0.0
    """AdamW's: each step takes this times the rate off every matrix."""
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
class LossConfig(Config):
    """The loss of a classifier, and of whoever guesses hidden words."""

    label_smoothing: Probability = 0.1
    """Probability taken from the right answer, spread over all answers."""


@dataclass(frozen=True)
class SequenceLossConfig(LossConfig):
    """The loss of a translator or a language model."""

    r_drop: NonNegative = 0.0
    """Weight of R-Drop: each batch is read twice, and the two predictions
    are pulled together (Liang et al. 2021, who take 5); 0 reads it once."""


@dataclass(frozen=True)
class Experiment(Config):
    """A training from raw text to a scored model."""

    name: FolderName = "experiment"
    """Names the folder of the run, outputs/NAME."""
    data: DataConfig = field(default_factory=DataConfig)
    model: AnyModelConfig = field(default_factory=ModelConfig)
    train: LoopConfig = field(default_factory=LoopConfig)
    task: str = "translation"
    """What is learned: translation, next_sentence, language_modelling,
    image_classification, text_classification, pre_training."""
    loss: LossConfig = field(default_factory=SequenceLossConfig)


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
