"""Chapter 20: reading attention."""
