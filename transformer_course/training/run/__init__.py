"""A training in a folder: from settings to checkpoints and metrics.

``outputs/NAME/`` holds ``experiment.json`` (all settings, and the machine),
``tokenizer.model``, ``metrics.jsonl`` (a record for each step and each
epoch), ``tensorboard/`` and ``checkpoints/``: ``last``, ``best`` by the
development set, ``epoch-NNN`` for the last few, ``average`` of these at the
end.

:func:`~.run.training.run` trains: :mod:`~.prepare` makes what it needs,
:mod:`~.folder` reads and writes the folder, :mod:`~.recorder` writes metrics
and :mod:`~.run.checkpoints` checkpoints, :mod:`~.stopping` handles Ctrl-C.
"""
