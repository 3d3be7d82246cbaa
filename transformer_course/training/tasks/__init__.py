"""Tasks: what differs between kinds of training.

A task (:class:`~.task.Task`) is data, a loss, metrics and samples; run,
recorder and command line know nothing else of it. A new kind of training is a
class here, a line in :mod:`~.table`, one in :mod:`~.kinds` and a preset.
"""
