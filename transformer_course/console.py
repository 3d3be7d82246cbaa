"""What is told to whoever sits at the terminal, beside the results."""

import sys


def tell(text: str) -> None:
    """Print a line to standard error; nowhere, where that is closed.

    Without one, ``print`` would write among the results.
    """
    if sys.stderr is not None:
        print(text, file=sys.stderr)
