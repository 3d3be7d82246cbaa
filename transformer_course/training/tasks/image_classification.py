"""Classifying images: what does it show? (chapter 19)"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch
from torch import nn

from transformer_course.batches.images import (
    ImageBatch,
    ImageBatches,
    in_order,
)
from transformer_course.batches.pairs import Batches
from transformer_course.console import quoted
from transformer_course.data.corpora import Corpus, load_images
from transformer_course.data.images import ImageSet, ImageSplits
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.models.mode import eval_mode
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.tasks.classification import Classification
from transformer_course.training.tasks.task import Judged, require_unset

SCORED = 500
"""Images in a batch that is judged on."""
SAMPLES = 10
"""Images that are shown at each epoch."""


class ImageClassification(Classification):
    """One class for each image; judged by the share of right ones."""

    name = "image_classification"
    models = (VisionConfig, ConvolutionalConfig)
    examples = "images"
    reads = "images"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.images is not None

    def load(self, data: DataConfig) -> ImageSplits:
        require_unset(data, "both_ways", "subword_sampling", "more")
        splits = load_images(data.corpus)
        if data.train_pairs is None:
            return splits
        return dataclasses.replace(
            splits, train=splits.train.take(slice(data.train_pairs))
        )

    def learn_tokenizer(self, experiment: Experiment, train: ImageSet) -> None:
        return None

    def sized(self, config: AnyModelConfig, tokenizer: None) -> AnyModelConfig:
        return config

    def batches(
        self, experiment: Experiment, tokenizer: None, train: ImageSet
    ) -> Batches:
        """Shuffled batches.

        Raises:
            ConfigError: the model is made for other images.
        """
        check_fits(experiment.model, train)
        data, seed = experiment.data, experiment.train.seed
        return ImageBatches(train, data.batch_size, seed, data.shift)

    def scored_batches(
        self, config: AnyModelConfig, tokenizer: None, text: ImageSet
    ) -> list[ImageBatch]:
        return in_order(text, SCORED)

    def logits(self, model: nn.Module, batch: ImageBatch) -> torch.Tensor:
        return model(batch.images)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: None,
        dev: ImageSet,
        means: dict[str, float],
    ) -> dict[str, float]:
        return {}

    def samples(
        self, model: nn.Module, tokenizer: None, dev: ImageSet
    ) -> list[dict[str, str]]:
        """What a model takes some fixed images for, and how surely."""
        places = range(0, len(dev), -(-len(dev) // SAMPLES))
        shown = dev.take(torch.tensor(places))
        device = next(model.parameters()).device
        [batch] = in_order(shown, len(shown))
        with torch.inference_mode(), eval_mode(model):
            found = model(batch.images.to(device)).softmax(dim=-1).max(dim=-1)
        columns = places, shown.labels, found.indices, found.values
        return [
            {
                "src": f"image {place}",
                "tgt": dev.names[label],
                "class": dev.names[guess],
                "probability": f"{share:.2f}",
            }
            for place, label, guess, share in zip(*columns, strict=True)
        ]

    def told(self, sample: dict[str, str]) -> str:
        return (
            f"{sample['src']}, {sample['tgt']}\n"
            f"→ {sample['class']} ({sample['probability']})"
        )

    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> None:
        """The share of right answers, of all images and by class."""
        images = judged.text
        batches = in_order(images, SCORED)
        guesses = classified(judged.model, batches).cpu()
        right = guesses == images.labels
        say(
            f"{title}: {int(right.sum()):,} of {len(images):,} images right, "
            f"accuracy {right.float().mean():.4f}"
        )
        for label, name in enumerate(images.names):
            of_class = images.labels == label
            if not of_class.any():
                continue
            missed = guesses[of_class & ~right]
            most = ""
            if len(missed):
                taken = int(missed.mode().values)
                most = f", most often taken for {images.names[taken]}"
            say(f"  {name:12} {right[of_class].float().mean():.4f}{most}")

    def prompt(self, tokenizer: None, text: str, max_length: int) -> NoReturn:
        """Refuse text: raise a ConfigError."""
        raise ConfigError(
            "this model classifies images, and cannot read text: give image "
            "files, classify MODEL FILE."
        )

    def first_use(self, folder: Path) -> str:
        return f"score {quoted(folder)}"


def check_fits(config: AnyModelConfig, images: ImageSet) -> None:
    """See that a model is made for images like these.

    Raises:
        ConfigError: another size, number of channels or of classes.
    """
    channels, size = images.images.shape[1:3]
    expected = {
        "channels": channels,
        "image_size": size,
        "n_classes": len(images.names),
    }
    for name, value in expected.items():
        given = getattr(config, name)
        if given != value:
            raise ConfigError(
                f"{name} is {given}, but in these images it is {value}: give "
                f"--model.{name.replace('_', '-')} {value}."
            )


@torch.inference_mode()
def classified(model: nn.Module, batches: list[ImageBatch]) -> torch.Tensor:
    """The likeliest class of each image, in order."""
    device = next(model.parameters()).device
    with eval_mode(model):
        guesses = [model(b.images.to(device)).argmax(dim=-1) for b in batches]
    return torch.cat(guesses)
