"""Chapter 04: attention."""
