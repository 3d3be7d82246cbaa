"""Tasks whose models write text, token by token.

Translation (chapter 15), the next sentence (chapter 16), language modelling
(chapters 13 and 16).
"""

import dataclasses

import torch
from torch import nn

from transformer_course.batches.buckets import (
    BucketedBatches,
    ResampledBatches,
)
from transformer_course.batches.pairs import (
    Batch,
    Batches,
    IdPair,
    encode_pairs,
    encode_texts,
    padded_batch,
    sampled_pairs,
)
from transformer_course.checkpoints.kinds import TASK_KINDS
from transformer_course.console import log
from transformer_course.data import more_pairs, own_book
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import corpus_of, pairs_of
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.generate import sample
from transformer_course.decoding.search import EXTRA_LENGTH
from transformer_course.decoding.translate import draw, translate
from transformer_course.errors import ConfigError
from transformer_course.evaluation.bleu import corpus_bleu, perplexity
from transformer_course.models.config import (
    AnyModelConfig,
)
from transformer_course.training.config import Experiment, SequenceLossConfig
from transformer_course.training.loss import compute_loss
from transformer_course.training.tasks.task import Task, warn_cut_off

TEXT_SETTINGS = (
    "src",
    "tgt",
    "files",
    "sha256",
    "spaced",
    "train_pairs",
    "pieces",
    "token_budget",
    "max_shapes",
)
"""Settings that all of these tasks follow."""
PAIR_SETTINGS = (*TEXT_SETTINGS, "more", "more_sha256", "subword_sampling")
"""Settings that the tasks with pairs follow."""
EVAL_BATCH_SIZE = 50
"""Pairs, or blocks of text, in a batch of an evaluation."""
SAMPLES = 10
"""Number of samples at each epoch."""
SAMPLE_BEAM_SIZE = 5
"""Beam size of a sample."""


def load_pairs(data: DataConfig) -> Splits:
    """The pairs of a corpus, shortened or with more pairs as asked."""
    splits = pairs_of(corpus_of(data), data.src, data.tgt)
    splits = first_pairs(splits, data.train_pairs)
    if data.more is None:
        return splits
    return more_pairs.added(splits, data.more, data.more_sha256)


def first_pairs(splits: Splits, size: int | None) -> Splits:
    """Shorten the training split to ``size`` pairs, if it is not None."""
    if size is None:
        return splits
    train = splits.train.take(range(min(size, len(splits.train))))
    return dataclasses.replace(splits, train=train)


def train_tokenizer(lines: list[str], experiment: Experiment) -> Tokenizer:
    """A tokenizer with the size and the kind of subwords of the settings."""
    size, kind = experiment.model.vocab_size, experiment.data.pieces
    tokenizer = Tokenizer.train(lines, size, kind)
    if tokenizer.vocab_size < size and kind in ("unigram", "bpe"):
        log(
            f"{len(lines):,} lines fill {tokenizer.vocab_size:,} pieces, not "
            f"the {size:,} asked for"
        )
    return tokenizer


def bucketed(pairs: list[IdPair], experiment: Experiment) -> BucketedBatches:
    """Batches of similar length."""
    data = experiment.data
    return BucketedBatches(
        pairs,
        data.token_budget,
        experiment.train.seed,
        max_shapes=data.max_shapes,
    )


def pair_batches(
    experiment: Experiment, tokenizer: Tokenizer, train: ParallelText
) -> Batches:
    """Batches of pairs; with subword sampling, made anew in each epoch."""
    data, seed = experiment.data, experiment.train.seed
    limit = experiment.model.max_length
    pairs = encode_pairs(tokenizer, train, limit)
    _warn_cut_off(tokenizer, train, pairs, limit)
    if not data.subword_sampling:
        return bucketed(pairs, experiment)

    def sampled(epoch: int) -> list[IdPair]:
        alpha, draw_seed = data.subword_sampling, seed * 1_000_003 + epoch
        return sampled_pairs(tokenizer, train, limit, alpha, draw_seed)

    return ResampledBatches(sampled, data.token_budget, seed, data.max_shapes)


def batches_in_order(pairs: list[IdPair]) -> list[Batch]:
    """Batches of pairs in their order."""
    starts = range(0, len(pairs), EVAL_BATCH_SIZE)
    return [padded_batch(pairs[i : i + EVAL_BATCH_SIZE]) for i in starts]


def pair_eval_batches(
    config: AnyModelConfig, tokenizer: Tokenizer, text: ParallelText
) -> list[Batch]:
    """Batches of a split's pairs in their order."""
    return batches_in_order(encode_pairs(tokenizer, text, config.max_length))


def pair_samples(
    model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
) -> list[dict[str, str]]:
    """Targets of a few fixed sentences: greedy, by beam search, sampled."""
    text = dev.take(range(0, len(dev), -(-len(dev) // SAMPLES)))
    columns = {
        "src": text.src,
        "tgt": text.tgt,
        "greedy": translate(model, tokenizer, text.src),
        "beam": translate(model, tokenizer, text.src, SAMPLE_BEAM_SIZE),
        "sampled": draw(model, tokenizer, text.src, seed=0),
    }
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def perplexity_metric(
    model: nn.Module,
    tokenizer: Tokenizer,
    dev: ParallelText,
    means: dict[str, float],
) -> dict[str, float]:
    """The perplexity, from the mean nll."""
    return {"perplexity": perplexity(means["nll"])}


def _warn_cut_off(
    tokenizer: Tokenizer,
    text: ParallelText,
    pairs: list[IdPair],
    max_length: int,
) -> None:
    """Warn of pairs that are cut off, or that no search would write."""
    full = [i for i, ids in enumerate(pairs) if max_length in map(len, ids)]
    cut_off = sum(
        len(tokenizer.encode(src)) > max_length - 1
        or len(tokenizer.encode(tgt)) > max_length - 2
        for src, tgt in text.take(full)
    )
    warn_cut_off(cut_off, len(text), "training pairs", max_length)
    beyond = sum(len(tgt) - 1 > len(src) + EXTRA_LENGTH for src, tgt in pairs)
    if beyond:
        log(
            f"warning: in {beyond:,} of {len(text):,} training pairs the "
            f"target has over {EXTRA_LENGTH} tokens more than the source: "
            "translations are cut off there, unless translate and score are "
            "given a --max-length."
        )


class Translation(Task):
    """Translation of sentences, evaluated by BLEU."""

    kind = TASK_KINDS["translation"]
    corpora = ("pairs",)
    languages = 2
    examples = "pairs"
    selection_metric = "bleu"
    data_settings = (*PAIR_SETTINGS, "both_ways")
    loss_config = SequenceLossConfig
    loss = staticmethod(compute_loss)
    eval_batches = staticmethod(pair_eval_batches)
    samples = staticmethod(pair_samples)

    def load(self, data: DataConfig) -> Splits:
        src, tgt = corpus_of(data).direction(data.src, data.tgt)
        if src == tgt:
            raise ConfigError(
                f"src and tgt are both {src!r}: choose two languages."
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
        bleu = corpus_bleu(written, dev.tgt, dev.tokenize[1]).value
        return {"perplexity": perplexity(means["nll"]), "bleu": bleu}


class NextSentence(Task):
    """The sentence after a sentence; many are right, so the nll decides."""

    kind = TASK_KINDS["next_sentence"]
    corpora = ("pairs",)
    languages = 1
    examples = "pairs"
    selection_metric = "nll"
    greater_is_better = False
    data_settings = PAIR_SETTINGS
    loss_config = SequenceLossConfig
    loss = staticmethod(compute_loss)
    metrics = staticmethod(perplexity_metric)
    eval_batches = staticmethod(pair_eval_batches)
    samples = staticmethod(pair_samples)

    def load(self, data: DataConfig) -> Splits:
        if data.files is None:
            return load_pairs(data)
        splits = own_book.next_sentences(data.files, data.sha256)
        return first_pairs(splits, data.train_pairs)

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


class LanguageModelling(Task):
    """A text without a source: chapters, or the targets of pairs."""

    kind = TASK_KINDS["language_modelling"]
    corpora = ("pairs", "texts")
    examples = "texts"
    selection_metric = "nll"
    greater_is_better = False
    data_settings = TEXT_SETTINGS
    loss_config = SequenceLossConfig
    loss = staticmethod(compute_loss)
    metrics = staticmethod(perplexity_metric)

    def load(self, data: DataConfig) -> Splits:
        corpus = corpus_of(data)
        if corpus.own and len(data.files) == 1:
            splits = own_book.running_text(data.files, data.sha256)
        elif corpus.texts:
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

    def samples(
        self, model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
    ) -> list[dict[str, str]]:
        """Texts drawn from the model with a fixed seed."""
        device = next(model.parameters()).device
        drawn = sample(
            model,
            prefix=torch.empty(SAMPLES, 0, dtype=torch.long),
            generator=torch.Generator(device).manual_seed(0),
        )
        texts = map(tokenizer.decode, drawn)
        return [{"src": "", "tgt": "", "sampled": text} for text in texts]


def both_directions(splits: Splits) -> Splits:
    """The same splits with each training pair in both directions."""
    src, tgt = splits.train.src, splits.train.tgt
    train = ParallelText([*src, *tgt], [*tgt, *src])
    return dataclasses.replace(splits, train=train)
