"""Chapter 16: soseki."""
