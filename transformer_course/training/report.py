"""Evaluation of a model on its corpus, as the command ``score`` prints it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transformer_course.console import Say
from transformer_course.data.text import ParallelText, unseen
from transformer_course.data.tokenizer import PAD, AnyTokenizer
from transformer_course.decoding.classify import confusion, f1_by_class
from transformer_course.decoding.translate import MapBatches, translate
from transformer_course.evaluation.bleu import perplexity, score_lines
from transformer_course.training.loop import evaluate
from transformer_course.training.tasks.classification import (
    class_probabilities,
)
from transformer_course.training.tasks.pre_training import next_accuracy
from transformer_course.training.tasks.task import Task


@dataclass(frozen=True)
class Evaluation:
    """A model and the split that it is evaluated on."""

    task: Task
    model: nn.Module
    tokenizer: AnyTokenizer | None
    text: Any
    """The split."""
    train: Any
    """The training split, whose sentences are counted apart."""
    beam_size: int = 5
    """1 is greedy search."""
    alpha: float = 0.6
    """Exponent of the length penalty."""
    max_length: int | None = None
    """Most tokens of a translation; None: 50 more than its source has."""
    map_batches: MapBatches = map
    """How a translator searches batches."""

    def report(self, title: str, say: Say) -> list[str] | None:
        """Evaluate the model, line by line.

        Args:
            title: beginning of the first line.
            say: called with each line as soon as it is known.

        Returns:
            The translations of a translator, else None.
        """
        reports = {
            "translation": self._translations,
            "text": self._text,
            "classes": self._classes,
            "hidden words": self._hidden_words,
        }
        return reports[self.task.kind.output](title, say)

    def confusion(self) -> Int[Tensor, "class guess"]:
        """How many of each class a classifier takes for which."""
        labels = torch.as_tensor(self.text.labels)
        guesses = class_probabilities(self.model, self._batches()).argmax(-1)
        return confusion(labels, guesses, len(self.text.names))

    def _translations(self, title: str, say: Say) -> list[str]:
        """BLEU and chrF, of all sentences and of those unseen in training."""
        search = f"beam {self.beam_size}, alpha {self.alpha}"
        say(f"{title}: {search if self.beam_size > 1 else 'greedy'}")
        text, how = self.text, (self.beam_size, self.alpha)
        cut: list[int] = []
        written = translate(
            self.model,
            self.tokenizer,
            text.src,
            *how,
            map_batches=self.map_batches,
            max_length=self.max_length,
            on_cut=cut.extend,
        )
        if cut:
            say(
                f"{len(cut)} of {len(text)} translations were cut off before "
                "their end: see --max-length"
            )
        title = f"all {len(text)} sentences"
        say(score_lines(title, written, text.tgt, text.tokenize[1]))
        if new := unseen(text, self.train):
            title = f"the {len(new)} whose source is not in the training part"
            found = [written[i] for i in new], [text.tgt[i] for i in new]
            say(score_lines(title, *found, text.tokenize[1]))
        return written

    def _text(self, title: str, say: Say) -> None:
        """nll and perplexity, per token and per character."""
        found = text_nll(self.task, self.model, self.tokenizer, self.text)
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

    def _classes(self, title: str, say: Say) -> None:
        """Accuracy and F1, and by class what it is most often taken for."""
        names, counts = self.text.names, self.confusion()
        right, total = counts.diag(), int(counts.sum())
        f1 = f1_by_class(counts)
        say(
            f"{title}: {int(right.sum()):,} of {total:,} "
            f"{self.task.kind.input.removesuffix('s')}s right, accuracy "
            f"{int(right.sum()) / total:.4f}, macro F1 {f1.mean():.4f}"
        )
        for label, name in enumerate(names):
            here = counts[label]
            if not here.any():
                continue
            most, missed = "", here.clone()
            missed[label] = 0
            if missed.any():
                taken = names[int(missed.argmax())]
                most = f", most often taken for {taken}"
            share = here[label] / here.sum()
            say(f"  {name:12} {share:.4f}  F1 {f1[label]:.4f}{most}")

    def _hidden_words(self, title: str, say: Say) -> None:
        """nll and accuracy of hidden words, and of "does B follow?"."""
        batches = self._batches()
        means = evaluate(self.model, batches, self.task.unsmoothed_loss)
        count = sum(int(batch.chosen.sum()) for batch in batches)
        say(
            f"{title}: {count:,} hidden words, nll {means['nll']:.4f}, "
            f"perplexity {perplexity(means['nll']):.2f}, accuracy "
            f"{means['accuracy']:.4f}"
        )
        if self.model.config.next_sentence:
            for name, share in next_accuracy(self.model, batches).items():
                say(f"  does B follow? {name:10}  accuracy {share:.4f}")

    def _batches(self) -> list:
        config = self.model.config
        return self.task.eval_batches(config, self.tokenizer, self.text)


class TextNll(NamedTuple):
    """Negative log-likelihood of held-out text."""

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


def text_nll(
    task: Task, model: nn.Module, tokenizer: AnyTokenizer, text: ParallelText
) -> TextNll:
    """nll of the target side of a text, given its sources if it has any.

    A pair that is longer than the model's ``max_length`` counts up to there;
    running text is read in blocks, each without those before it.
    """
    batches = task.eval_batches(model.config, tokenizer, text)
    means = evaluate(model, batches, task.unsmoothed_loss)
    targets = [row for batch in batches for row in batch.tgt_out.tolist()]
    return TextNll(
        means["nll"],
        means["accuracy"],
        sum(i != PAD for row in targets for i in row),
        sum(len(tokenizer.decode(row)) for row in targets),
    )
