"""Stopping by signal: Ctrl-C and SIGTERM ask a training to save and leave."""

import signal
from collections.abc import Callable


class StopSignal:
    """While it is open, a signal is noted in place of ending the process.

    A second one ends it at once.

    Args:
        say: called with what a user is told at the first one; a process of
            several tells nothing.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, say: Callable[[str], None] | None = None):
        self.asked = False
        self._say = say

    def __enter__(self) -> "StopSignal":
        self._before = [signal.signal(s, self._ask) for s in self.SIGNALS]
        return self

    def __exit__(self, *error) -> None:
        for number, handler in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def _ask(self, *_) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        if self._say:
            self._say("saving; press Ctrl-C again to leave at once")
