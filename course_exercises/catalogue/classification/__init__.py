"""Chapter 17: classification."""
