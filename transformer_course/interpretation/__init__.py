"""Interpretation: attention maps, heads, attribution, features."""
