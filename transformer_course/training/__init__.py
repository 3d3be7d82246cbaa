"""Training: loss, optimizer, loop, tasks and runs."""
