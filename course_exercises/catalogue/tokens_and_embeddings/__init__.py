"""Chapter 02: tokens and embeddings."""
