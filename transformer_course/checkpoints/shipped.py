"""Models that come with the course, called by their names.

They stand in ``models/`` of the repository, each with a card that says what it
was trained on, what it scores and what it gets wrong.
"""

from pathlib import Path

from transformer_course.checkpoints.checkpoint import Checkpoint, load

FOLDER = Path(__file__).parents[2] / "models"


def names() -> list[str]:
    """The models that are there; none where the package stands alone."""
    return sorted(path.parent.name for path in FOLDER.glob("*/config.json"))


def find(path: Path) -> Path | None:
    """The model that is meant by a name, where no such path exists."""
    if path.exists() or str(path) not in names():
        return None
    return FOLDER / path


def load_shipped(name: str) -> Checkpoint:
    """A model that comes with the course, where tensors are made by default.

    Raises:
        CheckpointError: there is no such model.
    """
    return load(FOLDER / name)


def hint(path: Path) -> str:
    """What to do when something that looks like a name is not found."""
    if path.exists() or len(path.parts) != 1:
        return ""
    if there := names():
        return f" Models that come with the course: {', '.join(there)}."
    return (
        " Models that are called by a name come with the course's "
        "repository: install the package from a clone of it (pip install -e "
        "FOLDER), or give the path of a checkpoint."
    )
