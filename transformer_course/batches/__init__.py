"""Batches: tensors of ids, padded, made from a corpus and a tokenizer."""
