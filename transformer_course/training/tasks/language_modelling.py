"""Language modelling: the next token of a text (chapters 13 and 16)."""

import torch
from torch import nn

from transformer_course.batches.pairs import Batch, Batches, encode_texts
from transformer_course.data.corpora import pairs_of
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.generate import sample
from transformer_course.evaluation.bleu import perplexity
from transformer_course.models.config import (
    AnyModelConfig,
    LanguageModelConfig,
)
from transformer_course.models.mode import eval_mode
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training.chunked_loss import chunked_loss
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.tasks.task import Task, corpus_of
from transformer_course.training.tasks.writing import (
    SAMPLES,
    batches_in_order,
    bucketed,
    first_pairs,
    train_tokenizer,
)


class LanguageModelling(Task):
    """A text without a source: chapters, or the targets of pairs."""

    name = "language_modelling"
    models = (LanguageModelConfig, ModernConfig)
    corpora = ("pairs", "texts")
    examples = "texts"
    prompt_side = "tgt"
    selection_metric = "nll"
    greater_is_better = False
    unsupported = (
        "data.both_ways",
        "data.subword_sampling",
        "data.more",
        "data.shift",
    )
    loss = staticmethod(chunked_loss)

    def load(self, data: DataConfig) -> Splits:
        corpus = corpus_of(data)
        if corpus.texts:
            splits = corpus.texts()
        else:
            splits = pairs_of(corpus, data.src, data.tgt)
        return first_pairs(splits, data.train_pairs)

    def prepare(
        self,
        experiment: Experiment,
        train: ParallelText,
        tokenizer: Tokenizer | None = None,
    ) -> tuple[Tokenizer, Batches]:
        """The tokenizer learns from both sides, as a translator's does."""
        if tokenizer is None:
            texts = filter(None, [*train.src, *train.tgt])
            lines = [line for text in texts for line in text.split("\n")]
            tokenizer = train_tokenizer(lines, experiment)
        limit = experiment.model.max_length
        pairs = encode_texts(tokenizer, train.tgt, limit)
        return tokenizer, bucketed(pairs, experiment)

    def eval_batches(
        self, config: AnyModelConfig, tokenizer: Tokenizer, text: ParallelText
    ) -> list[Batch]:
        return batches_in_order(
            encode_texts(tokenizer, text.tgt, config.max_length)
        )

    def metrics(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        dev: ParallelText,
        means: dict[str, float],
    ) -> dict[str, float]:
        return {"perplexity": perplexity(means["nll"])}

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
    ) -> list[dict[str, str]]:
        """Texts drawn from the model with a fixed seed."""
        device = next(model.parameters()).device
        with eval_mode(model):
            drawn = sample(
                model,
                prefix=torch.empty(SAMPLES, 0, dtype=torch.long),
                generator=torch.Generator(device).manual_seed(0),
            )
        texts = map(tokenizer.decode, drawn)
        return [{"src": "", "tgt": "", "sampled": text} for text in texts]
