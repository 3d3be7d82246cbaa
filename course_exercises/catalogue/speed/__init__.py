"""Chapter 21: speed."""
