"""Interpretation: attention maps, head ablation, attribution."""
