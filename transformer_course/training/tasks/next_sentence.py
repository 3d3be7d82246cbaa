"""The next sentence, or a haiku to a keyword (chapter 16)."""

from torch import nn

from transformer_course.batches.pairs import Batches
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.evaluation.bleu import perplexity
from transformer_course.models.config import ModelConfig, RecurrentConfig
from transformer_course.training.chunked_loss import chunked_loss
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.tasks.task import Task
from transformer_course.training.tasks.writing import (
    load_pairs,
    pair_batches,
    pair_eval_batches,
    pair_samples,
    train_tokenizer,
)


class NextSentence(Task):
    """The sentence after a sentence; many are right, so the nll decides."""

    name = "next_sentence"
    models = (ModelConfig, RecurrentConfig)
    corpora = ("pairs",)
    languages = 1
    examples = "pairs"
    selection_metric = "nll"
    greater_is_better = False
    unsupported = ("data.both_ways", "data.shift")
    loss = staticmethod(chunked_loss)
    eval_batches = staticmethod(pair_eval_batches)
    samples = staticmethod(pair_samples)

    def load(self, data: DataConfig) -> Splits:
        return load_pairs(data)

    def prepare(
        self,
        experiment: Experiment,
        train: ParallelText,
        tokenizer: Tokenizer | None = None,
    ) -> tuple[Tokenizer, Batches]:
        """The tokenizer learns from the targets: all but the first sentence
        of a chapter is one."""
        if tokenizer is None:
            tokenizer = train_tokenizer(train.tgt, experiment)
        return tokenizer, pair_batches(experiment, tokenizer, train)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: ParallelText,
        means: dict[str, float],
    ) -> dict[str, float]:
        return {"perplexity": perplexity(means["nll"])}
