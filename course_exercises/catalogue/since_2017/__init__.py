"""Chapter 22: changes since 2017."""
