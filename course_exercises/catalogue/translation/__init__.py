"""Chapter 15: translation."""
