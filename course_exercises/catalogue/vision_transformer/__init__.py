"""Chapter 19: the vision transformer."""

PATCHES = "19_vision_transformer#words-made-of-pixels"
CAM = "19_vision_transformer#where-did-it-look"
ROLLOUT = "19_vision_transformer#and-in-a-transformer"
