"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

PROGRAM = "transformer-course"
"""What is typed."""
Model = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="MODEL",
        help="a run's folder, one checkpoint, or the name of a model that "
        "comes with the course. Of a run, the average or the best epoch is "
        "taken, whichever scored higher on the development set.",
    ),
]
BeamSize = Annotated[
    int, tyro.conf.arg(help="hypotheses kept; 1 is greedy search.")
]
Alpha = Annotated[
    float | None,
    tyro.conf.arg(
        help="exponent of the length penalty: larger favours longer "
        "translations, 0 has none; without effect on greedy search. If left "
        "out, what the model was exported with, or 0.6.",
        help_behavior_hint="",
    ),
]
AsIs = Annotated[
    bool,
    tyro.conf.arg(
        help="neither cut text into words nor join them: what goes in and "
        "out has its words apart, by spaces, as in the corpus."
    ),
]
Others = Annotated[
    tuple[Path, ...],
    tyro.conf.arg(
        name="with",
        metavar="MODEL [MODEL ...]",
        help="further models, of the same tokenizer: at each token the "
        "probabilities of all are averaged.",
    ),
]
Output = Annotated[
    Path | None,
    tyro.conf.arg(
        metavar="FILE",
        help="write the translations here, when all are done.",
        help_behavior_hint="",
    ),
]
Explain = Annotated[
    Path | None,
    tyro.conf.arg(
        metavar="PAGE.html",
        help="write a page that shows, in colour, what each answer was made "
        "of.",
        help_behavior_hint="",
    ),
]
NBest = Annotated[
    int,
    tyro.conf.arg(
        metavar="N",
        help="write the N best of each beam, one a line, with tabs between "
        "number of the sentence, rank, score (what ranks: log-probability "
        "over length penalty), log-probability in nats, and text; 0 writes "
        "the best translation alone.",
    ),
]
Stream = Annotated[
    bool,
    tyro.conf.arg(
        help="write words as they are decided, with --beam-size 1; so it is "
        "anyway when someone types and reads on a terminal.",
    ),
]
Bf16 = Annotated[
    bool,
    tyro.conf.arg(
        help="compute in bf16: about twice as fast on a processor that has "
        "instructions for it, and a translation in thirty comes out "
        "otherwise."
    ),
]
Engine = Annotated[
    Literal["torch", "ctranslate2"],
    tyro.conf.arg(
        help="what computes: ctranslate2 takes a folder that export --to "
        "ctranslate2 has written, and uses the CPU."
    ),
]
Device = Annotated[str, tyro.conf.arg(help="auto, cpu, cuda, cuda:1, mps.")]
