"""Models that come with the course, called by their names.

They stand in ``transformer_course/shipped/``, each with a card that says what
it was trained on, what it scores and what it gets wrong.
"""

from pathlib import Path

from transformer_course.checkpoints.checkpoint import Checkpoint, load

FOLDER = Path(__file__).parents[1] / "shipped"
PUBLISHED = {
    "minilm": ("pretrained", "minilm_folder"),
    "antiberty": ("antiberty", "antiberty_folder"),
    "smollm2": ("smollm2", "smollm2_file"),
}
"""Weights that others published, by name: the module of this folder that
finds them, imported on use, and its function."""


def names() -> list[str]:
    """The models that are there."""
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
    return (
        f" Models that come with the course: {', '.join(names())}; "
        f"published ones: {', '.join(PUBLISHED)}."
    )
