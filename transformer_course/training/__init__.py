"""Training: loss, optimizer, loop, checkpoints, tasks and runs."""
