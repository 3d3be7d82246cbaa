"""Does the encoder tell the senses of a word apart?

*Play* becomes 弾く with a piano, する with tennis and 遊ぶ in a park.
``senses.toml`` has such words, and what in a target shows which sense is
meant. From the encoder's vector of the word, before and after each layer, the
nearest of the senses' mean vectors is chosen. The means are those of training
sentences, which are themselves asked about with their own vector left out; of
development and test sentences whose English the encoder has not been trained
on; and of sentences written for this experiment, which are in no corpus.

Beside it stand the commonest sense; an encoder of the same form with first
weights; and two readers of the counts of the sentence's other words, which
know no encoder: their nearest mean, and logistic regression.

``experiments/results/senses/`` has ``accuracy.json`` with all this, and
``play.json``: sentences for the figure, with where the vector of *play* lies
on the plane through the three means after the last layer.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    made_of,
    splits_for,
    tiny_run,
    weights_of,
)
from experiments.translations import CREDIT
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.data.plain import from_plain
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import encode_source, translate
from transformer_course.interpretation.hooks import record
from transformer_course.models.mode import eval_mode
from transformer_course.models.transformer import Transformer

WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
FEWEST = 20
"""Training sentences of a word that is asked about."""
SEED = 0
TIE = 1e-4
"""Distances are compared to so many of their units."""
Answer = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From vectors and their labels to the labels of other vectors."""


class Use(NamedTuple):
    """A sentence with the word in it."""

    text: str
    sense: int
    """Its number among the word's senses."""


# --- sentences ---------------------------------------------------------------


def uses_of(word: str, text: ParallelText) -> list[Use]:
    """Sentences with the word once, whose target shows one sense alone.

    Each English sentence is there once, with its first target.
    """
    patterns = [re.compile(sense["shown"]) for sense in WORDS[word].values()]
    found = {}
    for src, tgt in text:
        joined = tgt.replace(" ", "")
        shown = [k for k, one in enumerate(patterns) if one.search(joined)]
        if src.split().count(word) == 1 and len(shown) == 1:
            found.setdefault(src, Use(src, shown[0]))
    return list(found.values())


def written_uses(word: str) -> list[Use]:
    """The sentences that were written for this experiment."""
    return [
        Use(from_plain(text, "en"), k)
        for k, sense in enumerate(WORDS[word].values())
        for text in sense["written"]
    ]


def without(uses: list[Use], known: set[str]) -> list[Use]:
    """Those whose English is not known."""
    return [use for use in uses if use.text not in known]


# --- vectors -----------------------------------------------------------------


@torch.no_grad()
def states_of(
    model: Transformer, tokenizer: Tokenizer, texts: list[str], word: str
) -> np.ndarray:
    """The word's vector (text, depth, d_model): the embedding, with the
    position if one is added, and after each layer of the encoder."""
    found = []
    for text in texts:
        src = pad_rows([encode_source(tokenizer, text)])
        place = tokenizer.pieces(text).index("▁" + word)
        x = model.src_position(model.src_embedding(src))
        _, gave = record(model.encoder, x)
        layers = range(model.config.n_layers)
        states = [x, *(gave[f"layers.{i}"] for i in layers)]
        found.append(torch.stack(states)[:, 0, place])
    return torch.stack(found).numpy()


def counts_of(texts: list[str], word: str, known: list[str]) -> np.ndarray:
    """How often each known word stands in a text; the word itself does not
    count."""
    number = {one: i for i, one in enumerate(known)}
    counts = np.zeros((len(texts), len(known)))
    for row, text in zip(counts, texts, strict=True):
        for one in text.split():
            if one != word and one in number:
                row[number[one]] += 1
    return counts


# --- answers -----------------------------------------------------------------


def nearest_mean(learn: np.ndarray, labels, ask: np.ndarray) -> np.ndarray:
    """The sense whose mean is nearest; of equal ones the commonest."""
    common = [sense for sense, _ in Counter(labels.tolist()).most_common()]
    means = np.stack([learn[labels == sense].mean(axis=0) for sense in common])
    apart = np.linalg.norm(ask[:, None] - means, axis=-1)
    return np.array(common)[(apart / TIE).round().argmin(axis=1)]


def regression(learn: np.ndarray, labels, ask: np.ndarray) -> np.ndarray:
    """By logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(learn, labels).predict(ask)


def left_out(answer: Answer, vectors: np.ndarray, labels) -> np.ndarray:
    """Each one's answer, learned from all others."""
    rest = ~np.eye(len(labels), dtype=bool)
    return np.concatenate(
        [
            answer(vectors[others], labels[others], vectors[[i]])
            for i, others in enumerate(rest)
        ]
    )
