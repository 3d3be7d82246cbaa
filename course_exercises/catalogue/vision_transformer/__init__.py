"""Chapter 19: images."""

from typing import Any

import torch
from torch import Tensor

from course_exercises.engine.edits import Implementation
from course_exercises.engine.exercise import Case

PATCHES = "19_vision_transformer#words-made-of-pixels"
CAM = "19_vision_transformer#where-did-it-look"
ROLLOUT = "19_vision_transformer#and-in-a-transformer"


def numbered(*shape: int) -> Tensor:
    """Numbers from 0 on, to be followed through reshaping."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


def without_gradients(candidate: Implementation, given: Case) -> Any:
    """How a map is tried: nobody goes on through it with a gradient."""
    with torch.no_grad():
        return candidate(*given.args, **given.kwargs)
