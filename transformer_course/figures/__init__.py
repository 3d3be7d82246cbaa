"""The figures of the book, and what they look like."""
