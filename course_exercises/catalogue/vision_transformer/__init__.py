"""Chapter 19: the vision transformer."""
