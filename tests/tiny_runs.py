"""Tiny trainings in folders, and what is read from them afterwards."""

import dataclasses
import json
import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from tiny import tiny_pairs

from transformer_course.checkpoints import checkpoint
from transformer_course.data.aozora import Chapter, Work
from transformer_course.data.config import DataConfig
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.data.text import Splits
from transformer_course.models.bert_config import (
    BertConfig,
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import (
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.vit_config import ConvolutionalConfig
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    LossConfig,
    SequenceLossConfig,
    changed_experiment,
)

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
MODELS = {
    "transformer": ModelConfig(vocab_size=30, dropout=0.2, **SIZES),
    "decoder-only": LanguageModelConfig(vocab_size=30, **SIZES),
    "learned": ModelConfig(
        vocab_size=30, position="learned", max_length=8, **SIZES
    ),
    "gru": RecurrentConfig(vocab_size=30, d_model=12, d_hidden=16),
    "classifier": TextClassifierConfig(vocab_size=30, dropout=0.2, **SIZES),
    "gru-classifier": RecurrentClassifierConfig(
        vocab_size=30, d_model=12, d_hidden=16
    ),
}
TASKS = {
    "decoder-only": "language_modelling",
    "classifier": "text_classification",
    "gru-classifier": "text_classification",
}
"""Of those models that do not translate."""


def tiny(model: str = "transformer", **train) -> Experiment:
    """Three epochs; ``train`` goes into the settings of the training."""
    settings = {
        "epochs": 3,
        "warmup": 4,
        "peak_rate": 0.02,
        "average_last": 2,
        "save_every": 2,
        "device": "cpu",
    }
    return Experiment(
        "tiny",
        DataConfig(pieces="word", token_budget=64),
        MODELS[model],
        LoopConfig(**settings | train),
        TASKS.get(model, "translation"),
        LossConfig() if "classifier" in model else SequenceLossConfig(),
    )


def tiny_images(**train) -> Experiment:
    """The same, of digits and a convolutional network."""
    settings = tiny(**train)
    return dataclasses.replace(
        settings,
        data=DataConfig(corpus="digits", train_pairs=150, batch_size=50),
        model=ConvolutionalConfig(width=8, n_blocks=2, image_size=8),
        task="image_classification",
        loss=LossConfig(),
    )


def other(settings: Experiment, model=None, **data) -> Experiment:
    """The same training of a model with changes, or on other text."""
    changes = {f"model.{k}": value for k, value in (model or {}).items()}
    changes |= {f"data.{k}": value for k, value in data.items()}
    return changed_experiment(settings, changes)


def tiny_texts(model: str = "classifier", **train) -> Experiment:
    """The same, of texts with labels (``tiny.tiny_labels``)."""
    return other(tiny(model, **train), corpus="sentence_polarity")


def own_files(folder: Path) -> dict:
    """Changes of the data's settings: two files, which are written here."""
    text = tiny_pairs(100)
    names = str(folder / "a.en"), str(folder / "b.ja")
    for name, lines in zip(names, (text.src, text.tgt), strict=True):
        Path(name).write_text("\n".join(lines), encoding="utf-8")
    about = {"corpus": "files", "files": names, "spaced": True}
    return about | {"token_budget": 512}


def records(folder: Path, kind: str | None = None) -> list[dict]:
    """The records of a run, of all kinds or of one."""
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    every = [json.loads(line) for line in lines]
    return [r for r in every if kind is None or r["kind"] == kind]


def losses(folder: Path) -> list[float]:
    """The loss of each step."""
    return [record["loss"] for record in records(folder, "step")]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The parameters in a checkpoint, by name."""
    model = checkpoint.load(folder).model
    return {n: p.detach() for n, p in model.named_parameters()}


def assert_same_runs(one, other):
    """Metrics and every checkpoint's weights, to the last bit."""
    assert records(one) == records(other)
    kept = sorted(p.name for p in (one / "checkpoints").iterdir())
    assert kept == sorted(p.name for p in (other / "checkpoints").iterdir())
    for name in kept:
        mine, yours = (weights(f / "checkpoints" / name) for f in (one, other))
        for parameter, tensor in mine.items():
            assert torch.equal(tensor, yours[parameter]), (name, parameter)


def tiny_works(count: int) -> list[Work]:
    """Works of two chapters of short sentences; no two have the same ones."""

    def chapter(number: int, place: int) -> Chapter:
        begin = "abcdef"[number] + "gh"[place]
        words = "kiro shiro kuro ao aka midori".split()
        lines = tuple(f"{begin} {word} 。" for word in words)
        return Chapter(f"chapter {place}", lines)

    return [
        Work(f"work {n}", f"author {n % 2}", (chapter(n, 0), chapter(n, 1)))
        for n in range(count)
    ]


def tiny_library() -> Splits[list[Work]]:
    """The same in three parts."""
    return Splits(tiny_works(4), tiny_works(2), tiny_works(2))


def tiny_books(monkeypatch) -> None:
    """Put them into the table."""
    corpus = Corpus("authors", ("ja",), works=tiny_library)
    monkeypatch.setitem(CORPORA, "authors", corpus)


def tiny_masked(**train) -> Experiment:
    """The same, of an encoder that learns hidden words and pairs."""
    settings = tiny(**train)
    return dataclasses.replace(
        settings,
        data=DataConfig(corpus="authors", pieces="word", token_budget=128),
        model=BertConfig(vocab_size=40, max_length=32, **SIZES),
        task="pre_training",
        loss=LossConfig(),
    )


def in_a_process(target: Callable, *args) -> BaseProcess:
    """Start a function in a process of its own, of one thread.

    A fork has everything imported already, which saves seconds; but autograd
    does not work in it where a GPU has been used before.
    """
    forks = hasattr(os, "fork") and not torch.cuda.is_available()
    context = multiprocessing.get_context("fork" if forks else "spawn")
    process = context.Process(target=_on_one_thread, args=(target, *args))
    process.start()
    return process


def _on_one_thread(target: Callable, *args) -> None:
    torch.set_num_threads(1)  # those of OpenMP do not outlive a fork
    target(*args)
