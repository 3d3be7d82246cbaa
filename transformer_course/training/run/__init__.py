"""An experiment in a folder: from settings to checkpoints and scores.

``outputs/NAME/`` holds ``experiment.json`` (all settings, and the machine),
``tokenizer.model``, ``metrics.jsonl`` (a line for each step and each epoch),
``tensorboard/`` and ``checkpoints/``: ``last``, ``best`` by the development
set, ``epoch-NNN`` for the last few, ``average`` of these at the end.

:func:`~.run.training.run` trains: :mod:`~.prepare` makes what a training
needs, :mod:`~.folder` is the run's place, :mod:`~.recorder` writes down what
happens, :mod:`~.retention` keeps checkpoints, :mod:`~.stopping` listens for
Ctrl-C. :func:`~.shared.trained` is for chapters, which share a few small
models.
"""

from transformer_course.training.run.folder import (
    RunFolder,
    changed_setting,
    chosen_checkpoint,
)
from transformer_course.training.run.prepare import Prepared, prepare
from transformer_course.training.run.training import run

__all__ = [
    "Prepared",
    "RunFolder",
    "changed_setting",
    "chosen_checkpoint",
    "prepare",
    "run",
]
