"""Options that several commands have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from transformer_course.console import log

if TYPE_CHECKING:
    from transformer_course.inference.model import TrainedModel

PROGRAM = "transformer-course"
"""The name of the command."""
Model = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="MODEL",
        help="a run's folder, one checkpoint, the folder of a published BERT, "
        "or the name of a model that comes with the course. Of a run, the "
        "average or the best epoch is taken, whichever scored higher on the "
        "development set.",
    ),
]
Text = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[TEXT]")]
BeamSize = Annotated[
    int, tyro.conf.arg(help="hypotheses in the beam; 1 is greedy search.")
]
Alpha = Annotated[
    float | None,
    tyro.conf.arg(
        help="exponent of the length penalty: larger favours longer "
        "translations, 0 applies no penalty; greedy search ignores it. If "
        "left out, the value stored at export, or 0.6."
    ),
]
MaxLength = Annotated[
    int | None,
    tyro.conf.arg(
        help="maximum number of tokens of a translation; if left out, 50 "
        "more than its source has."
    ),
]
Raw = Annotated[
    bool,
    tyro.conf.arg(
        name="as-is",
        help="neither cut text into words nor join them: what goes in and "
        "out is tokenised by spaces, as in the corpus.",
    ),
]
Others = Annotated[
    tuple[Path, ...],
    tyro.conf.arg(
        name="with",
        metavar="MODEL [MODEL ...]",
        help="further models with the same tokenizer: at each token the "
        "probabilities of all models are averaged.",
    ),
]
Output = Annotated[
    Path | None,
    tyro.conf.arg(
        metavar="FILE", help="write the translations here, when all are done."
    ),
]
Device = Annotated[str, tyro.conf.arg(help="auto, cpu, cuda, cuda:1, mps.")]


def load(
    model: Path,
    device: str,
    raw: bool = False,
    others: tuple[Path, ...] = (),
) -> "TrainedModel":
    """Load a model, or an ensemble, and log the checkpoints of runs."""
    from transformer_course.inference.model import TrainedModel

    loaded = []
    for path in (model, *others):
        loaded.append(TrainedModel.load(path, device, raw))
        if loaded[-1].path != path:
            log(f"using {loaded[-1].path}")
    return loaded[0].ensemble_with(loaded[1:])
