"""The errors that a user can cause, each with one clear line.

A message says what was given, what was expected, and what to do. The command
line prints it after ``error:`` and leaves with a non-zero status; a traceback
means a fault of the package.
"""


class CourseError(Exception):
    """Base of every error that the user of the package can put right."""


class ConfigError(CourseError):
    """A setting that cannot work, alone or together with another."""


class CorpusError(CourseError):
    """A corpus or text file that is missing, damaged or not what it says."""


class TokenizerError(CourseError):
    """A tokenizer that cannot be trained, read or used with this model."""


class CheckpointError(CourseError):
    """A checkpoint folder that is missing, damaged or of another kind."""


class MissingPackage(CourseError, ImportError):
    """A package that is not installed, and the extra that installs it."""

    def __init__(self, error: ModuleNotFoundError, extra: str):
        super().__init__(
            f"{error.name} is not installed: pip install "
            f"'transformer-course[{extra}]' adds what this needs."
        )


class Interrupted(CourseError):
    """The user stopped a training, which has been saved."""


class DivergedError(CourseError):
    """A training whose loss or weights are no numbers any more."""
