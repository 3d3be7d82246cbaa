"""Stopping by signal: Ctrl-C and SIGTERM let a training save and leave."""

import signal


class StopSignal:
    """Note the first signal in place of ending the process; a context manager.

    A second one ends it at once.

    Args:
        quiet: print nothing at the first one.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, quiet: bool = False):
        self.asked = False
        self._quiet = quiet

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
        if not self._quiet:
            from tqdm import tqdm  # keeps the bar below the line

            tqdm.write("saving; press Ctrl-C again to leave at once")
