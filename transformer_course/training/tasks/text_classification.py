"""Classifying texts: is the review good, who wrote this? (chapter 17)"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch
from torch import nn

from transformer_course.batches.labelled import (
    LabelledBatch,
    LabelledBatches,
    in_order,
    text_rows,
)
from transformer_course.console import quoted
from transformer_course.data.corpora import Corpus, load_labelled
from transformer_course.data.labelled import LabelledSplits, LabelledText
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.classify import (
    EVAL_BATCH_SIZE,
    f1_by_class,
    macro_f1,
    probabilities,
)
from transformer_course.errors import ConfigError
from transformer_course.models.bert_config import (
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.tasks.classification import Classification
from transformer_course.training.tasks.task import (
    Judged,
    require_text,
    require_unset,
)

SAMPLES = 10
"""Texts that are shown at each epoch."""
BODY = ("bert.", "pooler.")
"""How the names of weights begin that a classifier shares with a model that
was pre-trained."""


class TextClassification(Classification):
    """One vector of a text, [CLS] or the mean, says which class it has."""

    name = "text_classification"
    models = (TextClassifierConfig, RecurrentClassifierConfig)
    examples = "texts"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.labelled is not None

    def check(self, experiment: Experiment) -> None:
        super().check(experiment)
        require_text(experiment)

    def load(self, data: DataConfig) -> LabelledSplits:
        """The corpus; the first so many training texts hold all classes."""
        require_unset(data, "both_ways", "subword_sampling", "more")
        splits = load_labelled(data.corpus)
        if data.train_pairs is None:
            return splits
        kept = splits.train.take(
            range(min(data.train_pairs, len(splits.train)))
        )
        others = splits.train.texts[len(kept) :]
        kept = dataclasses.replace(kept, unlabelled=others)
        return dataclasses.replace(splits, train=kept)

    def learn_tokenizer(
        self, experiment: Experiment, train: LabelledText
    ) -> Tokenizer:
        """From all training texts: ``train_pairs`` limits the labels."""
        return Tokenizer.train(
            [*train.texts, *train.unlabelled],
            experiment.model.vocab_size,
            experiment.data.pieces,
        )

    def sized(
        self, config: AnyModelConfig, tokenizer: Tokenizer
    ) -> AnyModelConfig:
        return dataclasses.replace(config, vocab_size=tokenizer.vocab_size)

    def begin_with(self, model: nn.Module, other: nn.Module) -> None:
        """Copy all from a classifier, and body and pooler from others.

        A model that was pre-trained has heads of its own, which are left
        behind; the map to classes keeps its first weights.
        """
        if type(other) is type(model):
            super().begin_with(model, other)
            return
        weights = {
            name: weight
            for name, weight in other.state_dict().items()
            if name.startswith(BODY)
        }
        missing, unknown = model.load_state_dict(weights, strict=False)
        lacking = [name for name in missing if name.startswith(BODY)]
        if unknown or lacking or not weights:
            raise RuntimeError(
                f"no body and pooler like these: {[*unknown, *lacking][:1]}"
            )

    def how_parted(self, splits: LabelledSplits) -> str:
        return splits.how

    def batches(
        self, experiment: Experiment, tokenizer: Tokenizer, train: LabelledText
    ) -> LabelledBatches:
        """Texts of like length.

        Raises:
            ConfigError: the model is made for another number of classes.
        """
        _check_fits(experiment.model, train)
        return LabelledBatches(
            tokenizer,
            train,
            experiment.model.max_length,
            experiment.data.token_budget,
            experiment.train.seed,
            experiment.data.max_shapes,
        )

    def batch_figures(self, batches: LabelledBatches) -> dict[str, float]:
        return {"padding_share": batches.padding_share}

    def scored_batches(
        self, config: AnyModelConfig, tokenizer: Tokenizer, text: LabelledText
    ) -> list[LabelledBatch]:
        rows = text_rows(tokenizer, text.texts, config.max_length)
        return in_order(rows, text.labels, EVAL_BATCH_SIZE)

    def logits(self, model: nn.Module, batch: LabelledBatch) -> torch.Tensor:
        return model(batch.ids)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: LabelledText,
        means: dict[str, float],
    ) -> dict[str, float]:
        found = probabilities(model, tokenizer, dev.texts)
        right, classes = torch.tensor(dev.labels), len(dev.names)
        return {"macro_f1": macro_f1(right, found.argmax(dim=-1), classes)}

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: LabelledText
    ) -> list[dict[str, str]]:
        """What a model takes some fixed texts for, and how surely."""
        shown = dev.take(range(0, len(dev), -(-len(dev) // SAMPLES)))
        found = probabilities(model, tokenizer, shown.texts).max(dim=-1)
        columns = shown.texts, shown.labels, found.indices, found.values
        return [
            {
                "src": text,
                "tgt": dev.names[label],
                "class": dev.names[guess],
                "probability": f"{share:.2f}",
            }
            for text, label, guess, share in zip(*columns, strict=True)
        ]

    def told(self, sample: dict[str, str]) -> str:
        return (
            f"{sample['src']} ({sample['tgt']})\n"
            f"→ {sample['class']} ({sample['probability']})"
        )

    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> None:
        """Accuracy and macro F1; of each class, what it is taken for."""
        text = judged.text
        found = probabilities(judged.model, judged.tokenizer, text.texts)
        right, guesses = torch.tensor(text.labels), found.argmax(dim=-1)
        f1 = f1_by_class(right, guesses, len(text.names))
        hits = guesses == right
        say(
            f"{title}: {int(hits.sum()):,} of {len(text):,} texts right, "
            f"accuracy {hits.float().mean():.4f}, macro F1 {f1.mean():.4f}"
        )
        for label, name in enumerate(text.names):
            here = right == label
            if not here.any():
                continue
            missed = guesses[here & ~hits]
            most = ""
            if len(missed):
                taken = text.names[int(missed.mode().values)]
                most = f", most often taken for {taken}"
            say(
                f"  {name:12} {hits[here].float().mean():.4f}  "
                f"F1 {f1[label]:.4f}{most}"
            )

    def prompt(
        self, tokenizer: Tokenizer, text: str, max_length: int
    ) -> NoReturn:
        """Refuse to write: raise a ConfigError."""
        raise ConfigError(
            "this model tells classes apart, and cannot write text: give it "
            "lines, classify MODEL FILE."
        )

    def first_use(self, folder: Path) -> str:
        return f"classify {quoted(folder)}"


def _check_fits(config: AnyModelConfig, text: LabelledText) -> None:
    """See that a model knows as many classes as there are."""
    if config.n_classes != len(text.names):
        raise ConfigError(
            f"n_classes is {config.n_classes}, but these texts have "
            f"{len(text.names)} classes: give --model.n-classes "
            f"{len(text.names)}."
        )
