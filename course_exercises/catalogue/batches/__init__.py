"""Chapter 11: batches."""
