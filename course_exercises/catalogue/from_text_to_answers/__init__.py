"""Chapter 23: from text to answers."""
