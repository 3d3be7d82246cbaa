"""A Transformer of the learner's own: one file, written part by part."""
