"""Chapter 19: the vision transformer."""

PATCHES = "19_vision_transformer#words-made-of-pixels"
CAM = "19_vision_transformer#grad-cam"
ROLLOUT = "19_vision_transformer#where-did-it-look"
