"""What all tasks share that teach a model to write text, token by token."""

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import (
    Batch,
    Batches,
    IdPair,
    padded_batch,
)
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.evaluation.bleu import perplexity
from transformer_course.models.config import AnyModelConfig
from transformer_course.training.config import Experiment
from transformer_course.training.loop import evaluate
from transformer_course.training.tasks.task import Judged, Task, require_text

ROWS = 50
"""Pairs, or blocks of text, in a batch that is judged on."""
SAMPLES = 10
"""Texts that are shown at each epoch."""


class TextNll(NamedTuple):
    """How surprised a model is by text that it has not learned."""

    nll: float
    """Nats per target token, eos counted."""
    accuracy: float
    """Share of the target tokens that were the likeliest."""
    tokens: int
    """Target tokens, eos counted."""
    characters: int
    """Characters of these tokens."""

    @property
    def nll_per_character(self) -> float:
        """Nats per character: comparable between tokenizers."""
        return self.nll * self.tokens / self.characters


class Writing(Task):
    """A task whose text is cut into pieces, and predicted piece by piece."""

    @abstractmethod
    def pairs(
        self, tokenizer: Tokenizer, text: ParallelText, max_length: int
    ) -> list[IdPair]:
        """Text as ids, with bos and eos where the model wants them."""

    def check(self, experiment: Experiment) -> None:
        super().check(experiment)
        require_text(experiment)

    def learn_tokenizer(
        self, experiment: Experiment, train: ParallelText
    ) -> Tokenizer:
        return Tokenizer.train(
            self.lines(train),
            experiment.model.vocab_size,
            experiment.data.pieces,
        )

    @abstractmethod
    def lines(self, train: ParallelText) -> list[str]:
        """The text that a tokenizer is learned from."""

    def sized(
        self, config: AnyModelConfig, tokenizer: Tokenizer
    ) -> AnyModelConfig:
        return dataclasses.replace(config, vocab_size=tokenizer.vocab_size)

    def batches(
        self, experiment: Experiment, tokenizer: Tokenizer, train: ParallelText
    ) -> Batches:
        limit = experiment.model.max_length
        return bucketed(self.pairs(tokenizer, train, limit), experiment)

    def how_parted(self, splits: Splits) -> str:
        return splits.how

    def batch_figures(self, batches: Batches) -> dict[str, float]:
        return {"padding_share": batches.padding_share}

    def scored_batches(
        self, config: AnyModelConfig, tokenizer: Tokenizer, text: ParallelText
    ) -> list[Batch]:
        pairs = self.pairs(tokenizer, text, config.max_length)
        starts = range(0, len(pairs), ROWS)
        return [padded_batch(pairs[i : i + ROWS]) for i in starts]

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: ParallelText,
        means: dict[str, float],
    ) -> dict[str, float]:
        return {"perplexity": perplexity(means["nll"])}

    def quality(self, metrics: dict[str, float]) -> float:
        """Minus the nll: a text can go on in many right ways."""
        return -metrics["nll"]

    def report(
        self, title: str, judged: Judged, say: Callable[[str], None]
    ) -> list[str] | None:
        """The nll: of a text that can go on in many ways, what else?"""
        found = self.text_nll(judged.model, judged.tokenizer, judged.text)
        say(f"{title}: {found.tokens:,} tokens")
        say(
            f"  per token      nll {found.nll:.4f}  "
            f"perplexity {perplexity(found.nll):.2f}  "
            f"accuracy {found.accuracy:.4f}"
        )
        each = found.nll_per_character
        say(
            f"  per character  nll {each:.4f}  "
            f"perplexity {perplexity(each):.2f}"
        )

    def text_nll(
        self, model: nn.Module, tokenizer: Tokenizer, text: ParallelText
    ) -> TextNll:
        """LossSums the target side of a text, given its sources if it has any.

        A pair that is longer than the model's ``max_length`` is scored up to
        there; running text is read in blocks, each without those before it.
        """
        batches = self.scored_batches(model.config, tokenizer, text)
        means = evaluate(model, batches, loss_fn=self.loss)
        targets = [row for batch in batches for row in batch.tgt_out.tolist()]
        return TextNll(
            means["nll"],
            means["accuracy"],
            sum(i != PAD for row in targets for i in row),
            sum(len(tokenizer.decode(row)) for row in targets),
        )


def bucketed(pairs: list[IdPair], experiment: Experiment) -> BucketedBatches:
    """Batches of like length, as large and as many as the settings say."""
    return BucketedBatches(
        pairs,
        experiment.data.token_budget,
        experiment.train.seed,
        max_shapes=experiment.data.max_shapes,
    )


def first_pairs(splits: Splits, size: int | None) -> Splits:
    """The same splits with a shorter training part; whole when None."""
    if size is None:
        return splits
    train = ParallelText(splits.train.src[:size], splits.train.tgt[:size])
    return dataclasses.replace(splits, train=train)
