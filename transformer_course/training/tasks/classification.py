"""Classification of texts (chapter 17) and of images (chapter 19)."""

import dataclasses
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transformer_course.batches import images as image_batches
from transformer_course.batches import labelled as text_batches
from transformer_course.batches.images import ImageBatch, ImageBatches
from transformer_course.batches.labelled import (
    LabelledBatch,
    LabelledBatches,
    text_rows,
)
from transformer_course.checkpoints.kinds import TASK_KINDS
from transformer_course.data import own_images
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import (
    corpus_of,
    labelled_of,
    load_images,
)
from transformer_course.data.images import ImageSet
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import AnyTokenizer
from transformer_course.decoding.classify import macro_f1, probabilities
from transformer_course.errors import ConfigError
from transformer_course.models.config import AnyModelConfig
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import Experiment, LossConfig
from transformer_course.training.loss import LossSums, classification_loss
from transformer_course.training.tasks.task import Task, warn_cut_off
from transformer_course.training.tasks.writing import train_tokenizer

TEXT_BATCH_SIZE = 64
"""Texts in a batch of an evaluation."""
IMAGE_BATCH_SIZE = 500
"""Images in a batch of an evaluation."""
SAMPLES = 10
"""Number of samples at each epoch."""
OWN_SETTINGS = ("files", "sha256", "classes")
"""Settings of files of one's own."""


def labelled_loss(
    model: nn.Module, batch: ImageBatch | LabelledBatch, config: LossConfig
) -> LossSums:
    """Label-smoothed cross entropy of the classes of texts or images."""
    inputs, labels = batch
    return classification_loss(model(inputs), labels, config.label_smoothing)


class ImageClassification(Task):
    """One class for each image."""

    kind = TASK_KINDS["image_classification"]
    corpora = ("images",)
    examples = "images"
    selection_metric = "accuracy"
    data_settings = (*OWN_SETTINGS, "image_size") + (
        "train_pairs",
        "batch_size",
        "shift",
    )
    loss = staticmethod(labelled_loss)

    def fitted(self, experiment: Experiment) -> Experiment:
        size = experiment.model.image_size
        data = dataclasses.replace(experiment.data, image_size=size)
        if data.files is None or data.classes:
            return experiment
        train = self.load(data).train
        return _fitted(experiment, data, train.names, len(train.images[0]))

    def load(self, data: DataConfig) -> Splits[ImageSet]:
        if data.files is None:
            splits = load_images(data.corpus)
        else:
            splits = own_images.load(data.files, data.sha256, data.image_size)
        train = splits.train.take(slice(data.train_pairs))
        return dataclasses.replace(splits, train=train)

    def prepare(
        self, experiment: Experiment, train: ImageSet, tokenizer: None = None
    ) -> tuple[None, ImageBatches]:
        channels, size = train.images.shape[1:3]
        names = len(train.names)
        _require_sizes(
            experiment.model,
            channels=channels,
            image_size=size,
            n_classes=names,
        )
        data, seed = experiment.data, experiment.train.seed
        return None, ImageBatches(train, data.batch_size, seed, data.shift)

    def eval_batches(
        self, config: AnyModelConfig, tokenizer: None, text: ImageSet
    ) -> list[ImageBatch]:
        return image_batches.in_order(text, IMAGE_BATCH_SIZE)

    def samples(
        self, model: nn.Module, tokenizer: None, dev: ImageSet
    ) -> list[dict[str, str]]:
        places = range(0, len(dev), -(-len(dev) // SAMPLES))
        shown = dev.take(torch.tensor(places))
        found = class_probabilities(
            model, image_batches.in_order(shown, SAMPLES)
        )
        inputs = [f"image {place}" for place in places]
        return _samples(inputs, shown.labels, found, dev.names)


class TextClassification(Task):
    """One class for each text."""

    kind = TASK_KINDS["text_classification"]
    corpora = ("labelled",)
    examples = "texts"
    selection_metric = "accuracy"
    data_settings = (
        *OWN_SETTINGS,
        "src",
        "tgt",
        "train_pairs",
        "pieces",
        "token_budget",
        "max_shapes",
    )
    loss = staticmethod(labelled_loss)

    def fitted(self, experiment: Experiment) -> Experiment:
        data = experiment.data
        if data.files is None or data.classes:
            return experiment
        return _fitted(experiment, data, self.load(data).train.names)

    def load(self, data: DataConfig) -> Splits[LabelledText]:
        """The splits; ``train_pairs`` limits the texts with labels."""
        splits = labelled_of(corpus_of(data))
        if data.train_pairs is None:
            return splits
        size = min(data.train_pairs, len(splits.train))
        train = splits.train.take(range(size))
        train = dataclasses.replace(
            train, unlabelled=splits.train.texts[size:]
        )
        return dataclasses.replace(splits, train=train)

    def prepare(
        self,
        experiment: Experiment,
        train: LabelledText,
        tokenizer: AnyTokenizer | None = None,
    ) -> tuple[AnyTokenizer, LabelledBatches]:
        """The tokenizer learns from the texts without labels too."""
        _require_sizes(experiment.model, n_classes=len(train.names))
        if tokenizer is None:
            lines = [*train.texts, *train.unlabelled]
            tokenizer = train_tokenizer(lines, experiment)
        limit = experiment.model.max_length
        lengths = [len(tokenizer.encode(text)) for text in train.texts]
        cut_off = sum(length > limit - 2 for length in lengths)
        warn_cut_off(cut_off, len(train), "training texts", limit)
        return tokenizer, LabelledBatches(
            tokenizer,
            train,
            limit,
            experiment.data.token_budget,
            experiment.train.seed,
            experiment.data.max_shapes,
        )

    def eval_batches(
        self,
        config: AnyModelConfig,
        tokenizer: AnyTokenizer,
        text: LabelledText,
    ) -> list[LabelledBatch]:
        rows = text_rows(tokenizer, text.texts, config.max_length)
        return text_batches.in_order(rows, text.labels, TEXT_BATCH_SIZE)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: AnyTokenizer,
        dev: LabelledText,
        means: dict[str, float],
    ) -> dict[str, float]:
        guesses = probabilities(model, tokenizer, dev.texts).argmax(dim=-1)
        labels = torch.tensor(dev.labels)
        return {"macro_f1": macro_f1(labels, guesses, len(dev.names))}

    def samples(
        self, model: nn.Module, tokenizer: AnyTokenizer, dev: LabelledText
    ) -> list[dict[str, str]]:
        shown = dev.take(range(0, len(dev), -(-len(dev) // SAMPLES)))
        found = probabilities(model, tokenizer, shown.texts)
        return _samples(shown.texts, shown.labels, found, dev.names)


@torch.inference_mode()
def class_probabilities(
    model: nn.Module, batches: list[ImageBatch] | list[LabelledBatch]
) -> Float[Tensor, "items classes"]:
    """The probability of each class for each text or image.

    Args:
        model: put into evaluation mode meanwhile.
        batches: on any device; so is the result.
    """
    device = next(model.parameters()).device
    with eval_mode(model):
        logits = [model(x.to(device)).to(x.device) for x, _ in batches]
    return torch.cat(logits).float().softmax(dim=-1)


def _samples(
    inputs: Sequence[str],
    labels: Sequence[int] | Tensor,
    probabilities: Float[Tensor, "items classes"],
    names: Sequence[str],
) -> list[dict[str, str]]:
    """The likeliest class of each input beside its label."""
    found = probabilities.max(dim=-1)
    columns = inputs, labels, found.indices, found.values
    return [
        {
            "src": text,
            "tgt": names[label],
            "class": names[guess],
            "probability": f"{probability:.2f}",
        }
        for text, label, guess, probability in zip(*columns, strict=True)
    ]


def _fitted(
    experiment: Experiment,
    data: DataConfig,
    names: tuple[str, ...],
    channels: int | None = None,
) -> Experiment:
    """The settings with the classes, and the channels of images, if any."""
    sizes = {"n_classes": len(names)}
    if channels is not None:
        sizes["channels"] = channels
    return dataclasses.replace(
        experiment,
        data=dataclasses.replace(data, classes=names),
        model=dataclasses.replace(experiment.model, **sizes),
    )


def _require_sizes(config: AnyModelConfig, **sizes: int) -> None:
    """Check sizes of a model that the data determine.

    Raises:
        ConfigError: one is another.
    """
    for name, size in sizes.items():
        given = getattr(config, name)
        if given != size:
            raise ConfigError(
                f"{name} is {given}, but it is {size} in these data: give "
                f"--model.{name.replace('_', '-')} {size}."
            )
