"""Chapter 20: reading attention."""

JUDGED = "20_reading_attention#is-it-the-right-word"
REMOVED = "20_reading_attention#take-heads-away"
CIRCUIT = "20_reading_attention#a-circuit-of-two-heads"
