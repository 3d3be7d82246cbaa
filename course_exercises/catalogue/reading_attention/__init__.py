"""Chapter 20: reading attention."""

CIRCUIT = "20_reading_attention#a-circuit-of-two-heads"
STREAM = "20_reading_attention#read-the-residual-stream"
PATCHED = "20_reading_attention#activation-patching-look-then-change"
JUDGED = "20_reading_attention#does-a-head-look-at-the-right-word"
REMOVED = "20_reading_attention#take-heads-away"
