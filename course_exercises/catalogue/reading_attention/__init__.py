"""Chapter 20: reading attention."""

CIRCUIT = "20_reading_attention#a-circuit-of-two-heads"
STREAM = "20_reading_attention#read-the-stream"
PATCHED = "20_reading_attention#look-then-change"
JUDGED = "20_reading_attention#is-it-the-right-word"
REMOVED = "20_reading_attention#take-heads-away"
