"""Chapter 01: from recurrence to attention."""
