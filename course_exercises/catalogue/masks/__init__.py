"""Chapter 06: masks."""
