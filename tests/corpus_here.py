"""What a test needs that not every machine has: the files of a corpus."""

import pytest

from transformer_course.data.download import is_available


def needs(*corpora: str) -> pytest.MarkDecorator:
    """Skip, by name, what needs a corpus that is not here."""
    return pytest.mark.skipif(
        not all(map(is_available, corpora)),
        reason=f"needs {' and '.join(corpora)}, neither cached nor mirrored",
    )
