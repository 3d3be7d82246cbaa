"""Tasks that learn from pairs: what is read, and what is written after it."""

import torch
from torch import Tensor, nn

from transformer_course.batches.buckets import ResampledBatches
from transformer_course.batches.pairs import (
    Batches,
    IdPair,
    encode_pairs,
    sampled_pairs,
)
from transformer_course.console import log
from transformer_course.data import more_pairs
from transformer_course.data.corpora import Corpus, pairs_of
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import (
    draw,
    encode_source,
    translate,
)
from transformer_course.errors import ConfigError
from transformer_course.models.config import ModelConfig, RecurrentConfig
from transformer_course.training.config import DataConfig, Experiment
from transformer_course.training.tasks.task import corpus_of
from transformer_course.training.tasks.writing import (
    SAMPLES,
    Writing,
    bucketed,
    first_pairs,
)

BEAM_SIZE = 5
"""Of the beam search among the samples."""


class Pairs(Writing):
    """A target for each source."""

    models = (ModelConfig, RecurrentConfig)
    examples = "pairs"
    prompted = "src"

    def takes(self, corpus: Corpus) -> bool:
        return corpus.pairs is not None

    def load(self, data: DataConfig) -> Splits:
        splits = pairs_of(corpus_of(data), data.src, data.tgt)
        splits = first_pairs(splits, data.train_pairs)
        if data.more is None:
            return splits
        return more_pairs.added(splits, data.more, data.more_sha256)

    def pairs(
        self, tokenizer: Tokenizer, text: ParallelText, max_length: int
    ) -> list[IdPair]:
        return encode_pairs(tokenizer, text, max_length)

    def batches(
        self, experiment: Experiment, tokenizer: Tokenizer, train: ParallelText
    ) -> Batches:
        """Pairs of like length; with drawn pieces, made anew each epoch."""
        data, seed = experiment.data, experiment.train.seed
        limit = experiment.model.max_length
        pairs = self.pairs(tokenizer, train, limit)
        _warn_cut_off(tokenizer, train, pairs, limit)
        if not data.subword_sampling:
            return bucketed(pairs, experiment)

        def drawn(epoch: int) -> list[IdPair]:
            alpha, draw = data.subword_sampling, seed * 1_000_003 + epoch
            return sampled_pairs(tokenizer, train, limit, alpha, draw)

        return ResampledBatches(
            drawn, data.token_budget, seed, data.max_shapes
        )

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
    ) -> list[dict[str, str]]:
        """What a model says to some fixed sentences, in three ways."""
        text = dev.take(range(0, len(dev), -(-len(dev) // SAMPLES)))
        ways = {
            "src": text.src,
            "tgt": text.tgt,
            "greedy": translate(model, tokenizer, text.src),
            "beam": translate(model, tokenizer, text.src, BEAM_SIZE),
            "sampled": draw(model, tokenizer, text.src, seed=0),
        }
        rows = zip(*ways.values(), strict=True)
        return [dict(zip(ways, row, strict=True)) for row in rows]

    def told(self, sample: dict[str, str]) -> str:
        return f"{sample['src']}\n→ {sample['greedy']}"

    def prompt(
        self, tokenizer: Tokenizer, text: str, max_length: int
    ) -> tuple[Tensor, None]:
        if not text.strip():
            raise ConfigError(
                "no sentence was given, and this model answers one: generate "
                "MODEL 'a sentence'."
            )
        ids = encode_source(tokenizer, text, max_length)
        return torch.tensor([ids]), None


def _warn_cut_off(
    tokenizer: Tokenizer,
    text: ParallelText,
    pairs: list[IdPair],
    max_length: int,
) -> None:
    """Say how many pairs have lost their end to ``max_length``, if any."""
    full = [i for i, ids in enumerate(pairs) if max_length in map(len, ids)]
    cut_off = sum(
        len(tokenizer.encode(src)) > max_length - 1
        or len(tokenizer.encode(tgt)) > max_length - 2
        for src, tgt in text.take(full)
    )
    if cut_off:
        log(
            f"warning: {cut_off:,} of {len(text):,} training pairs are "
            f"longer than {max_length} tokens and are cut off there; a "
            "larger --model.max-length keeps them whole."
        )
