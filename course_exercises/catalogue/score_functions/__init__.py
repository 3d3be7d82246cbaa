"""Chapter 05: score functions."""
