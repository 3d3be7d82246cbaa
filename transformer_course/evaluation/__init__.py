"""Evaluation: BLEU and chrF, and word alignments."""
