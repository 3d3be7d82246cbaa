"""Translation: the target is the source in another language (chapter 15)."""

import dataclasses

from torch import nn

from transformer_course.batches.pairs import Batches
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import translate
from transformer_course.errors import ConfigError
from transformer_course.evaluation.bleu import corpus_bleu, perplexity
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


class Translation(Task):
    """Translation of sentences, evaluated by BLEU."""

    name = "translation"
    models = (ModelConfig, RecurrentConfig)
    corpora = ("pairs",)
    languages = 2
    examples = "pairs"
    output_kind = "translation"
    selection_metric = "bleu"
    unsupported = ("data.shift",)
    loss = staticmethod(chunked_loss)
    eval_batches = staticmethod(pair_eval_batches)
    samples = staticmethod(pair_samples)

    def load(self, data: DataConfig) -> Splits:
        if data.src == data.tgt:
            raise ConfigError(
                f"src and tgt are both {data.src!r}: choose two languages."
            )
        splits = load_pairs(data)
        return both_directions(splits) if data.both_ways else splits

    def prepare(
        self,
        experiment: Experiment,
        train: ParallelText,
        tokenizer: Tokenizer | None = None,
    ) -> tuple[Tokenizer, Batches]:
        if tokenizer is None:
            lines = [*train.src, *train.tgt]
            tokenizer = train_tokenizer(lines, experiment)
        return tokenizer, pair_batches(experiment, tokenizer, train)

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: ParallelText,
        means: dict[str, float],
    ) -> dict[str, float]:
        """Perplexity, and BLEU of greedy translations."""
        written = translate(model, tokenizer, dev.src)
        bleu = corpus_bleu(written, dev.tgt, dev.words).value
        return {"perplexity": perplexity(means["nll"]), "bleu": bleu}


def both_directions(splits: Splits) -> Splits:
    """The same splits with each training pair in both directions."""
    src, tgt = splits.train.src, splits.train.tgt
    train = ParallelText([*src, *tgt], [*tgt, *src])
    return dataclasses.replace(splits, train=train)
