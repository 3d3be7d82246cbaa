"""Chapter 18: BERT."""
