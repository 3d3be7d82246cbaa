"""Tasks: what differs between kinds of training.

A task says which corpora and which models it takes, how their text becomes
batches, what a batch is scored by, what is shown of a model on the way, and by
which measure checkpoints are chosen. Training, recording, grids and the
command line know a task by these methods (:class:`~.task.Task`) and ask
nothing else. A new kind of training is a module here, a line in
:mod:`~.table` and a preset.
"""
