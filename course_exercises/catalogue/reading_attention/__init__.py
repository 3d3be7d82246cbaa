"""Chapter 20: what heads look at, and what is lost without them."""

JUDGED = "20_reading_attention#is-it-the-right-word"
REMOVED = "20_reading_attention#take-heads-away"
CIRCUIT = "20_reading_attention#a-circuit-of-two-heads"
