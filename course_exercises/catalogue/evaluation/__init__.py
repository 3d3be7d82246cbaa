"""Chapter 14: evaluation."""
