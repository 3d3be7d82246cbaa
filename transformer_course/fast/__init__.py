"""What the course does without, but for time and memory (chapter 21)."""
