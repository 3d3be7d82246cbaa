"""Chapter 07: multi-head attention."""
