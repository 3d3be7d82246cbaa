"""Chapter 19: the vision transformer."""

PATCHES = "19_vision_transformer#an-image-as-patches"
CAM = "19_vision_transformer#grad-cam"
ROLLOUT = "19_vision_transformer#attention-rollout-where-did-it-look"
