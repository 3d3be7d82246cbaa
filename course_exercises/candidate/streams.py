"""What a learner's code may print, and where it runs without a terminal."""

import builtins
import io
import os
import random

import torch

MAX_PRINTED = 1000
"""Characters of printed text that are kept."""


class Prints(io.TextIOBase):
    """A stream that keeps the beginning of what is printed."""

    def __init__(self) -> None:
        self._text = ""

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, text: str) -> int:
        """Keep what there is room for, and one character more."""
        self._text += text[: MAX_PRINTED + 1 - len(self._text)]
        return len(text)

    def text(self) -> str:
        """The text, with a mark where it was cut off."""
        is_cut = len(self._text) > MAX_PRINTED
        return self._text[:MAX_PRINTED] + (" …" if is_cut else "")


def isolate() -> None:
    """Prepare this process for a learner's code.

    It has no input, and no output but what Python's streams catch;
    ``display`` prints, as in a notebook.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    builtins.display = print
    torch.set_num_threads(1)
    random.seed(0)  # the same code, the same verdict
