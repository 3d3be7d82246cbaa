"""A training in a folder: from settings to checkpoints and metrics.

``outputs/NAME/`` holds ``experiment.json`` (all settings, and the machine),
``tokenizer.model``, ``metrics.jsonl`` (a record for each step and each
epoch), ``tensorboard/`` and ``checkpoints/``: ``last``, ``best`` by the
development set, ``epoch-NNN`` for the last few, ``average`` of these at the
end.

:func:`~.run.training.run` trains: :mod:`~.prepare` makes what it needs,
:mod:`~.folder` reads and writes the folder, :mod:`~.recorder` writes metrics
and :mod:`~.checkpoints` checkpoints, :mod:`~.stopping` handles Ctrl-C.
:func:`~.shared.trained` is for chapters, which share a few small models.
"""

from transformer_course.training.run.folder import (
    RunFolder,
    changed_setting,
    chosen_checkpoint,
    settings_of,
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
    "settings_of",
]
