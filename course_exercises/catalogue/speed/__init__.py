"""Chapter 21: speed."""

from typing import Any

import torch

from course_exercises.engine.edits import Implementation
from course_exercises.engine.exercise import Case


def without_gradients(candidate: Implementation, given: Case) -> Any:
    """How weights are stored: nobody trains through their rounding."""
    with torch.no_grad():
        return candidate(*given.args, **given.kwargs)
