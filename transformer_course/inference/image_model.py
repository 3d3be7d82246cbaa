"""A trained classifier as people use it: image files in, classes out."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image, ImageOps
from torch import Tensor, nn

from transformer_course.batches.images import scaled
from transformer_course.data.images import CLASSES
from transformer_course.decoding.classify import Guess, top_guesses
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, CorpusError
from transformer_course.inference.report import Evaluation, Say
from transformer_course.interpretation.explain import HeatMap, class_map
from transformer_course.models.config import AnyModelConfig
from transformer_course.training import checkpoint
from transformer_course.training.config import DataConfig
from transformer_course.training.run.folder import find
from transformer_course.training.tasks.table import TASKS, task_of
from transformer_course.training.tasks.task import Task

MODES = {1: "L", 3: "RGB"}
"""What an image is called by Pillow, by its number of channels."""


@dataclass(frozen=True)
class ImageModel:
    """A model that classifies images, and what its classes are called."""

    path: Path
    """The checkpoint that was loaded."""
    model: nn.Module
    task: Task
    corpus: str
    """What it was trained on."""
    names: tuple[str, ...]
    """Its classes, by number."""

    @classmethod
    def load(cls, path: Path, device: str = "auto") -> "ImageModel":
        """Load a run's chosen checkpoint, or the one that a folder is.

        Raises:
            CheckpointError: there is none, it is damaged, it does not
                classify images, or does not say which.
        """
        folder = find(path)
        loaded = checkpoint.load(folder, pick_device(device))
        task = task_of(loaded.model.config, loaded.details)
        if task.input_kind != "images":
            raise CheckpointError(
                f"{path} holds a model of text, and this command takes one "
                "that classifies images: train one (transformer-course train "
                "digits-vit), or use translate or generate."
            )
        corpus = loaded.details.get("corpus")
        if corpus not in CLASSES:
            raise CheckpointError(
                f"{path} says that it was trained on {corpus!r}, so its "
                f"classes have no names; known are {', '.join(CLASSES)}."
            )
        return cls(folder, loaded.model, task, corpus, CLASSES[corpus])

    def classify(
        self, files: Sequence[Path], top: int = 1, fit: bool = False
    ) -> list[list[Guess]]:
        """The likeliest classes of each image, the likeliest first.

        Args:
            files: paths of images.
            top: classes for each.
            fit: crop, scale and convert images of other sizes and colours.

        Raises:
            ConfigError: ``top`` is not from 1 to the number of classes.
            CorpusError: a file that is no image, or does not fit.
        """
        return self.guesses(self.read(files, fit), top)

    def read(
        self, files: Sequence[Path], fit: bool = False
    ) -> UInt8[Tensor, "files channels height width"]:
        """The pixels of image files, as the model wants them.

        Raises:
            CorpusError: a file that is no image, or does not fit.
        """
        config = self.model.config
        return torch.stack([read_image(file, config, fit) for file in files])

    def guesses(
        self,
        pixels: UInt8[Tensor, "images channels height width"],
        top: int = 1,
    ) -> list[list[Guess]]:
        """As :meth:`classify`, of images that have been read."""
        with torch.inference_mode():
            logits = self.model(self._scaled(pixels)).float()
        return top_guesses(logits.softmax(dim=-1), self.names, top)

    def heat(
        self, pixels: UInt8[Tensor, "images channels height width"]
    ) -> HeatMap:
        """Where each image speaks for its likeliest class.

        By gradient × attention for a Vision Transformer, by Grad-CAM for
        the convolutional network
        (:func:`~.explain.class_map`).
        """
        return class_map(self.model, self._scaled(pixels)).cpu()

    def _scaled(self, pixels: UInt8[Tensor, "*images"]) -> Tensor:
        device = next(self.model.parameters()).device
        return scaled(pixels).to(device)

    def report(self, named: str, split: str, say: Say) -> None:
        """Evaluate the model on its corpus.

        Args:
            named: the name of the model.
            split: dev or test.
            say: called with each line.
        """
        splits = self.task.load(DataConfig(corpus=self.corpus))
        text, train = getattr(splits, split), splits.train
        evaluation = Evaluation(self.task, self.model, None, text, train)
        evaluation.report(f"{named} on {self.corpus}, {split}", say)


def reads_images(path: Path) -> bool:
    """Whether a run, or a checkpoint, holds a model of images.

    Raises:
        CheckpointError: there is none.
    """
    header = checkpoint.read_config(find(path))
    config, _ = checkpoint.KINDS[header["kind"]]
    readers = (task for task in TASKS.values() if task.input_kind == "images")
    return any(config in task.models for task in readers)


def read_image(
    path: Path, config: AnyModelConfig, fit: bool = False
) -> UInt8[Tensor, "channels height width"]:
    """Read an image file as a model wants it.

    Args:
        path: PNG, JPEG or whatever else Pillow reads.
        config: of the model: size and channels.
        fit: crop the middle square, scale it, and convert its colours, where
            they are others.

    Raises:
        CorpusError: the file is no image or is damaged, or has another size
            or colours and ``fit`` is off.
    """
    side, mode = config.image_size, MODES[config.channels]
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path) as image,
        ):
            image = ImageOps.exif_transpose(image)
            if fit:
                image = ImageOps.fit(image.convert(mode), (side, side))
            image.load()
    except (
        OSError,
        SyntaxError,
        ValueError,
        Image.DecompressionBombError,
    ) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise CorpusError(
            f"{path} cannot be read as an image ({reason}): give a file in "
            "PNG, JPEG or the like."
        ) from error
    if image.size != (side, side) or image.mode != mode:
        width, height = image.size
        raise CorpusError(
            f"{path} is {width} × {height} pixels of mode {image.mode}, but "
            f"this model reads {side} × {side} of mode {mode}: scale and "
            "convert it, or add --fit."
        )
    pixels = torch.from_numpy(np.array(image))  # (height, width[, channels])
    return pixels.reshape(side, side, config.channels).permute(2, 0, 1)
