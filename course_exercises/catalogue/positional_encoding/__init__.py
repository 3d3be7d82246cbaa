"""Chapter 03: positional encoding."""
