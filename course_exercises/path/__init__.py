"""The reader's own Transformer: one file, written part by part."""
