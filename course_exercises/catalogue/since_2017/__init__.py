"""Chapter 22: what has changed since 2017."""
