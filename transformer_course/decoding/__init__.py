"""Decoding: from a model's next-token probabilities to text or classes."""
