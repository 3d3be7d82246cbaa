"""A student's answer on its way out of the notebook that defines it."""

import base64
from typing import Any

from course_exercises.candidate.payload import (
    PayloadError,
    pack,
    sources_of,
)

MIME = "application/vnd.transformer-course.answer+json"
"""Type under which a test cell's output holds the answer."""


class HandedOver:
    """The output of a test cell: an answer as data, not yet judged."""

    def __init__(self, about: dict[str, Any]):
        self._about = about

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": "0.0", MIME: self._about}


def hand_over(name: str, namespace: dict[str, Any]) -> HandedOver:
    """Pack an answer, to be tried where no solution is.

    Args:
        name: the exercise's.
        namespace: the notebook's global names.
    """
    if name not in namespace:
        return HandedOver({"missing": True})
    answer = namespace[name]
    module = getattr(answer, "__module__", None) or ""
    if module.partition(".")[0] in ("course_exercises", "transformer_course"):
        text = f"This {name} comes from the package. Write your own."
        return HandedOver({"refused": text})
    try:
        payload = pack(answer)
    except PayloadError as error:
        return HandedOver({"refused": str(error)})
    return HandedOver(
        {
            "content": base64.b64encode(payload.content).decode(),
            "left_out": payload.left_out,
            "sources": sources_of(answer),
        }
    )
