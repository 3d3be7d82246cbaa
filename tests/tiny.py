"""Small models and ids that several test files share."""

import itertools
import os

import pytest
import torch
from torch import Tensor, nn

from transformer_course.data import images, labelled
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import BOS, PAD
from transformer_course.models.config import (
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.recurrent import RecurrentTranslator
from transformer_course.models.transformer import LanguageModel, Transformer

VOCAB = 17
POSITIONS = ["sinusoidal", "learned", "rotary", "none"]

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(
                not torch.cuda.is_available()
                and not os.environ.get("PRETEND_CUDA"),
                reason="no CUDA device",
            ),
        ],
    ),
]
on_each_device = pytest.mark.parametrize("device", DEVICES)


def close(actual, expected, tolerance: float = 1e-5) -> None:
    """Equal up to the rounding of a few dozen operations in fp32."""
    torch.testing.assert_close(
        actual, expected, rtol=tolerance, atol=tolerance
    )


SIZES = {
    "vocab_size": VOCAB,
    "d_model": 16,
    "n_heads": 2,
    "d_ff": 32,
    "n_layers": 2,
    "max_length": 40,
    "dropout": 0.0,
}


def tiny_config(**changes) -> ModelConfig:
    """Two layers of width 16; ``changes`` go into the config."""
    return ModelConfig(**SIZES | changes)


def tiny_transformer(seed: int = 0, **changes) -> Transformer:
    """An untrained Transformer in evaluation mode."""
    torch.manual_seed(seed)
    return Transformer(tiny_config(**changes)).eval()


def tiny_language_model(seed: int = 0, **changes) -> LanguageModel:
    """An untrained language model in evaluation mode."""
    torch.manual_seed(seed)
    return LanguageModel(LanguageModelConfig(**SIZES | changes)).eval()


def tiny_gru(seed: int = 0, **changes) -> RecurrentTranslator:
    """An untrained GRU translator in evaluation mode."""
    settings = {
        "vocab_size": VOCAB,
        "d_model": 12,
        "d_hidden": 16,
        "max_length": 40,
        "dropout": 0.0,
    }
    torch.manual_seed(seed)
    config = RecurrentConfig(**settings | changes)
    return RecurrentTranslator(config).eval()


def decided(model: nn.Module) -> nn.Module:
    """Make an untrained model sure of itself, and fond of ending.

    Larger output weights give each prefix a clear favourite, so that the
    targets of two sentences differ; eos is made likely enough that some rows
    end early and some do not.
    """
    with torch.no_grad():
        weight = torch.nn.Parameter(model.to_logits.weight.detach() * 4)
        model.to_logits.weight = weight
    return model


def random_ids(
    rows: int, length: int, seed: int = 0, vocab: int = VOCAB
) -> Tensor:
    """Real tokens: no pad, bos, eos or unk among them."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, vocab, (rows, length), generator=generator)


def ragged_ids(
    lengths: list[int], seed: int = 0, vocab: int = VOCAB
) -> Tensor:
    """Rows of these lengths, padded on the right."""
    ids = random_ids(len(lengths), max(lengths), seed, vocab)
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = PAD
    return ids


def with_bos(ids: Tensor) -> Tensor:
    """The decoder's input: bos before each row."""
    return torch.cat([ids.new_full((ids.size(0), 1), BOS), ids], dim=1)


def padded(ids: Tensor, columns: int) -> Tensor:
    """The same rows with more padding on the right."""
    return nn.functional.pad(ids, (0, columns), value=PAD)


def gradients(model: nn.Module) -> dict[str, Tensor]:
    """The gradient of every parameter, by name."""
    missing = [n for n, p in model.named_parameters() if p.grad is None]
    assert not missing, f"no gradient reached {missing}"
    return {n: p.grad for n, p in model.named_parameters()}


WORDS = {"red": "赤い", "old": "古い", "cat": "猫", "dog": "犬", "fish": "魚"}


def tiny_pairs(count: int = 125) -> ParallelText:
    """Sentences of three words, and the same words in Japanese."""
    rows = list(itertools.product(WORDS, repeat=3))[:count]
    src = [f"{a} {b} {c} ." for a, b, c in rows]
    tgt = [f"{WORDS[c]} {WORDS[b]} {WORDS[a]} 。" for a, b, c in rows]
    return ParallelText(src, tgt)


def tiny_splits() -> Splits:
    """Some of them to learn from, and others."""
    text = tiny_pairs()
    return Splits(
        text.take(range(0, 40)),
        text.take(range(40, 46)),
        text.take(range(46, 54)),
    )


def tiny_corpus(monkeypatch, name: str = "grammar", pairs=tiny_splits) -> None:
    """Put a corpus of these pairs, English to Japanese, into the table."""
    corpus = Corpus(name, ("en", "ja"), True, pairs=pairs)
    monkeypatch.setitem(CORPORA, name, corpus)


def tiny_labels(monkeypatch, name: str = "sentence_polarity") -> None:
    """Put a corpus of texts with labels into the tables."""
    corpus = Corpus(name, ("en",), True, labelled=tiny_labelled)
    monkeypatch.setitem(CORPORA, name, corpus)
    monkeypatch.setitem(labelled.CLASSES, name, ("no", "yes"))


def tiny_labelled() -> Splits[LabelledText]:
    """The same sentences: is there a cat in them?"""
    parts = []
    for text in (tiny_splits().train, tiny_splits().dev, tiny_splits().test):
        labels = [int("cat" in line) for line in text.src]
        parts.append(
            LabelledText(text.src, labels, ("no", "yes"), list(text.src))
        )
    return Splits(*parts, "by their places")


def tiny_digits(monkeypatch) -> None:
    """Put noise in the digits' place: they take a second to be loaded."""
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (60, 1, 8, 8), generator=generator)
    labels, names = torch.arange(60) % 10, images.CLASSES["digits"]
    some = images.ImageSet(pixels.byte(), labels, names)
    splits = Splits(some, some.take(slice(20)), some)
    monkeypatch.setattr(images, "digits", lambda: splits)


class Killed(BaseException):
    """Stands for a process that ends there and then."""


def killed(*_, **__) -> None:
    """In place of a function: the process ends."""
    raise Killed


def dies_at(monkeypatch, target, name: str, call: int, end=killed) -> None:
    """The call-th call of a function is the last thing that happens."""
    function, left = getattr(target, name), [call]

    def wrapped(*args, **kwargs):
        left[0] -= 1
        if left[0] <= 0:
            end()
        return function(*args, **kwargs)

    monkeypatch.setattr(target, name, wrapped)
