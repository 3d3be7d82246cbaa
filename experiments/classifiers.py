"""Does an encoder tell classes better than counts of words, or a GRU?

Two corpora: is the review a good one (``polarity``), and who wrote this
(``authors``, split by work)? The opponents of the encoder: TF-IDF of words or
characters under logistic regression, and a GRU that reads both ways. Networks
are trained for a fixed number of epochs and judged with their last weights:
dev chooses nothing but the settings, which are the same for all seeds. TF-IDF
also says what a split by passage would pretend, and what accuracy hides where
classes are unequal.

An encoder of characters reads every passage of ``authors`` to its end; its
rate is chosen on dev, among those of ``authors-rates``.

Of the test set all guesses are stored, with an interval that draws sentences
or works anew; of polarity also the probabilities of a small encoder with and
without label smoothing, how the class token of a trained encoder looks at some
sentences, and what becomes of its answers if its weights are changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.labelled import text_rows
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.pretrained import Start
from transformer_course.data.aozora import authors
from transformer_course.data.corpora import load_labelled
from transformer_course.data.labelled import (
    LabelledText,
    folds,
    passages_of,
    reviews,
)
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import AnyTokenizer, Tokenizer
from transformer_course.decoding.classify import (
    interval_of_groups,
    macro_f1,
    probabilities,
)
from transformer_course.interpretation.explain import (
    encoder_attention,
    encoder_of,
)
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import changed_experiment
from transformer_course.training.loop import fit, make_optimizer, set_seed
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import init_from, sized
from transformer_course.training.tasks.table import find_task

CREDIT = (
    "Reviews: Bo Pang and Lillian Lee, ACL 2005, CC BY 4.0. Books: Aozora "
    "Bunko, in the public domain."
)
SHOWN = (
    "it's not a great movie , but it's never boring .",
    "the film is funny , and it has a heart .",
    "nothing here is good , and the end is worse .",
)
"""Sentences of our own, of which the attention is kept."""
MOST_FEATURES = 50_000
"""Runs of words or characters that are counted: the most frequent ones."""


# --- counts of words, and a line through them --------------------------------


def counted(analyzer: str, grams: tuple[int, int]) -> Any:
    """TF-IDF and logistic regression, untrained."""
    words = {"token_pattern": r"\S+"} if analyzer == "word" else {}
    return make_pipeline(
        TfidfVectorizer(
            analyzer=analyzer,
            ngram_range=grams,
            sublinear_tf=True,
            lowercase=False,
            max_features=MOST_FEATURES,
            **words,
        ),
        LogisticRegression(C=10, max_iter=1000),
    )


def of_counts(
    analyzer: str, grams: tuple[int, int], train: LabelledText
) -> Callable[[Sequence[str]], Tensor]:
    """From texts to probabilities, learned from counts."""
    model = counted(analyzer, grams)
    model.fit(train.texts, train.labels)
    return lambda texts: torch.from_numpy(model.predict_proba(texts)).float()


def in_turns(analyzer: str, grams: tuple[int, int]) -> list[float]:
    """Accuracy on each fold of the reviews, learned from the nine others."""
    text = reviews()
    found = cross_val_score(
        counted(analyzer, grams),
        text.texts,
        text.labels,
        cv=PredefinedSplit(folds(text)),
    )
    return found.round(4).tolist()


def by_passage(splits: Splits[LabelledText]) -> Splits[LabelledText]:
    """Split by passage: sizes stay, but each work is in all parts."""
    parts = splits.train, splits.dev, splits.test
    texts, labels, groups = (
        [one for part in parts for one in getattr(part, column)]
        for column in ("texts", "labels", "groups")
    )
    whole = LabelledText(texts, labels, splits.train.names, groups).mixed()
    test = len(splits.test)
    dev = test + len(splits.dev)
    return Splits(
        whole.take(range(dev, len(whole))),
        whole.take(range(test, dev)),
        whole.take(range(test)),
    )


def unequal(splits: Splits[LabelledText]) -> Splits[LabelledText]:
    """Passages as they come, without a cap: most are Soseki's.

    Every third to learn from, which is about as many as with the cap.
    """
    works = authors.works()
    train, test = (
        passages_of(part).mixed() for part in (works.train, works.test)
    )
    return Splits(train.take(range(0, len(train), 3)), splits.dev, test)


# --- networks ----------------------------------------------------------------


class Trained(NamedTuple):
    """A network, and what cuts its texts."""

    model: nn.Module
    tokenizer: AnyTokenizer


def trained(
    settings: Settings,
    splits: Splits[LabelledText],
    start: Start | None = None,
) -> Trained:
    """Train for all epochs; the last weights are taken, dev is not asked.

    Args:
        settings: of a text classification; ``train_pairs`` limits the labels
            and not the text that the pieces are learned from.
        splits: all of the corpus.
        start: a pre-trained model; its weights and its pieces are taken.
    """
    task, data = find_task(settings.task), settings.data
    tokenizer = start.tokenizer if start else None
    if tokenizer is None:
        tokenizer = Tokenizer.train(
            splits.train.texts, settings.model.vocab_size, data.pieces
        )
    size = min(data.train_pairs or len(splits.train), len(splits.train))
    set_seed(settings.train.seed)
    model = checkpoint.build(sized(settings.model, tokenizer))
    if start:
        init_from(model, start.weights)
    train = splits.train.take(range(size))
    _, batches = task.prepare(settings, train, tokenizer)
    optimizer = make_optimizer(model, settings.train)
    loss_fn = partial(task.loss, config=settings.loss)
    fit(model, optimizer, batches, settings.train, loss_fn=loss_fn)
    return Trained(model.eval(), tokenizer)


def settings_for(
    preset: str, seed: int, context: RunContext, **changes: Any
) -> Settings:
    """A preset with a seed; in a smoke test a tiny one.

    Args:
        preset: its name.
        seed: of the training.
        context: whether it is a smoke test.
        changes: settings by their dotted names, with __ for the dot.
    """
    changes = {key.replace("__", "."): v for key, v in changes.items()}
    if context.smoke:
        classes = len(smoke_splits().train.names)
        changes |= {"train.epochs": 1, "data.pieces": "word"}
        changes |= {"model.n_classes": classes, "model.d_model": 16}
        small = (
            {"model.d_hidden": 16}
            if "gru" in preset
            else {"model.n_heads": 2, "model.d_ff": 16, "model.n_layers": 1}
        )
        changes |= small
    return changed_experiment(PRESETS[preset], changes | {"train.seed": seed})


def splits_of(corpus: str, context: RunContext) -> Splits[LabelledText]:
    """The corpus; in a smoke test a few sentences that need no file."""
    return smoke_splits() if context.smoke else load_labelled(corpus)


def smoke_splits() -> Splits[LabelledText]:
    """Twelve sentences, the same in each part."""
    texts = [f"{a} film is {b} ." for a in "abc" for b in ("bad", "dull")]
    texts += [f"{a} film is {b} ." for a in "abc" for b in ("good", "fun")]
    text = LabelledText(texts, [0] * 6 + [1] * 6, ("no", "yes"), texts)
    return Splits(text.mixed(), text, text)


# --- what is said of guesses -------------------------------------------------


def classification_scores(text: LabelledText, found: Tensor) -> Record:
    """Accuracy with its interval, and macro F1.

    Args:
        text: with labels.
        found: probabilities of each class.
    """
    right, guesses = torch.tensor(text.labels), found.argmax(dim=-1)
    hits = guesses == right
    low, high = interval_of_groups(hits, text.groups)
    return {
        "accuracy": round(hits.float().mean().item(), 4),
        "interval": [round(low, 4), round(high, 4)],
        "macro_f1": round(macro_f1(right, guesses, len(text.names)), 4),
    }


def by_class(text: LabelledText, guesses: list[int]) -> Record:
    """The share of each class that is found, and how often it is named."""
    classes = range(len(text.names))
    found = recall_score(
        text.labels, guesses, labels=classes, average=None, zero_division=0.0
    )
    named = np.bincount(guesses, minlength=len(classes)) / len(text)
    return {
        "found": found.round(4).tolist(),
        "named": named.round(4).tolist(),
    }


# --- what a class token looks at ---------------------------------------------


def attention_maps_of(made: Trained, lines: Sequence[str]) -> list[Record]:
    """Pieces of each line, and how the class token's attention is shared."""
    found = []
    for line in lines:
        ids = torch.tensor(text_rows(made.tokenizer, [line], 512))
        weights = encoder_attention(made.model, ids)[0, -1, :, 0, 1:-1]
        with torch.no_grad():
            share = made.model(ids).softmax(dim=-1)[0]
        found.append(
            {
                "pieces": made.tokenizer.pieces(line),
                "probabilities": rounded(share),
                "attention": rounded(weights.mean(dim=0)),
            }
        )
    return found


def rounded(row: Tensor, digits: int = 4) -> list[float]:
    return [round(value, digits) for value in row.tolist()]


def change_attention(made: Trained, text: LabelledText) -> Record:
    """What becomes of the answers if the class token's weights are changed.

    In the last layer or in both, the class token's row of every head is put
    into another order, drawn for each text and layer; made even; or set to 1
    at the class token itself, so that it takes in nothing.
    """
    model, generator = made.model, torch.Generator().manual_seed(0)
    ways = {
        "permuted": lambda row: row[
            :, torch.randperm(row.size(1), generator=generator)
        ],
        "even": lambda row: torch.full_like(row, 1 / row.size(1)),
        "itself": lambda row: (torch.arange(row.size(1)) == 0).to(row),
    }
    rows = text_rows(made.tokenizer, text.texts, model.config.max_length)
    right = torch.tensor(text.labels)
    before = torch.cat([ask(model, row, lambda row: row, 1) for row in rows])
    found: Record = {}
    for layers, where in ((1, "last"), (len(encoder_of(model).layers), "all")):
        for name, change in ways.items():
            after = torch.cat(
                [ask(model, row, change, layers) for row in rows]
            )
            guesses = after.argmax(dim=-1)
            same = before.argmax(dim=-1) == guesses
            found.setdefault(where, {})[name] = {
                "same_answer": round(same.float().mean().item(), 4),
                "accuracy": round((guesses == right).float().mean().item(), 4),
            }
    return found


@torch.no_grad()
def ask(
    model: nn.Module,
    row: list[int],
    change: Callable[[Tensor], Tensor],
    layers: int,
) -> Tensor:
    """Probabilities, with the class token's weights changed.

    Args:
        model: with one encoder.
        row: ids of a text.
        change: from weights (heads, keys) to others.
        layers: how many are changed, from the last one down.
    """

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
        weights = scores.softmax(dim=-1)
        weights[0, :, 0] = change(weights[0, :, 0])
        return weights @ value

    parts = [one.self_attention for one in encoder_of(model).layers][-layers:]
    for part in parts:
        part.attend = attend
    try:
        with eval_mode(model):
            return model(torch.tensor([row])).softmax(dim=-1)
    finally:
        for part in parts:
            del part.attend


# --- the experiment ----------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A way to tell classes, on a corpus."""

    about: str
    corpus: str
    preset: str | None = None
    """Preset of the network; None for counts."""
    parted: Callable[[Splits[LabelledText]], Splits[LabelledText]] | None = (
        None
    )
    """Parts the corpus in another way."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the preset that are others here."""
    analyzer: str = "word"
    """Unit that is counted: word, or char."""
    grams: tuple[int, int] = (1, 1)
    """The shortest and the longest run of them."""
    sure: bool = False
    """Keeps how probable it finds the second class, on dev and test."""

    def measure(self, seed: int, context: RunContext) -> Record:
        """Train, and judge by the test set."""
        splits = splits_of(self.corpus, context)
        if self.parted and not context.smoke:
            splits = self.parted(splits)
        record: Record = {}
        if self.preset is None:
            answer = of_counts(self.analyzer, self.grams, splits.train)
            if self.corpus == "sentence_polarity" and not context.smoke:
                record["folds"] = in_turns(self.analyzer, self.grams)
        else:
            settings = settings_for(self.preset, seed, context, **self.changes)
            made = trained(settings, splits)
            answer = lambda texts: probabilities(*made, texts)  # noqa: E731
        of_dev, found = (
            answer(part.texts) for part in (splits.dev, splits.test)
        )
        record["dev"] = classification_scores(splits.dev, of_dev)
        record["test"] = classification_scores(splits.test, found)
        if self.sure:
            record["positive"] = {
                part: rounded(shares[:, 1], digits=6)
                for part, shares in (("dev", of_dev), ("test", found))
            }
        record["guesses"] = found.argmax(dim=-1).tolist()
        record |= by_class(splits.test, record["guesses"])
        if self.changes is SMALLER:
            record["maps"] = attention_maps_of(made, SHOWN)
            record["changed"] = change_attention(made, splits.test)
        return record


POLARITY, AUTHORS = "sentence_polarity", "authors"
OF_CHARACTERS = {
    "data__pieces": "char",
    "data__token_budget": 4096,
    "model__vocab_size": 5000,
    "model__max_length": 2048,
    "model__d_model": 64,
    "model__n_heads": 2,
    "model__d_ff": 256,
    "model__n_layers": 2,
    "model__dropout": 0.1,
    "model__norm_first": True,
    "model__position": "rotary",
    "model__pooling": "mean",
    "train__epochs": 6,
    "train__schedule": "cosine",
    "train__warmup": 0.1,
    "train__bf16": False,
}
"""An encoder that reads characters, and every passage to its end."""
SMALLER = {
    "model__d_model": 64,
    "model__n_heads": 2,
    "model__d_ff": 256,
    "train__epochs": 3,
    "train__peak_rate": 1e-3,
    "train__bf16": False,
}
"""The encoder whose class token is looked at, trained in half a minute."""
RATE, RATES = 2e-3, (1e-3, 2e-3, 4e-3)
"""Its highest rate, and those that were compared on dev after an epoch."""
METHODS = {
    "polarity-counts": Method(
        "TF-IDF of words and pairs", POLARITY, grams=(1, 2)
    ),
    "polarity-words": Method("TF-IDF of single words", POLARITY),
    "polarity-gru": Method("a GRU, both ways", POLARITY, "polarity-gru"),
    "polarity-encoder": Method("our encoder", POLARITY, "polarity"),
    "polarity-encoder-mean": Method(
        "our encoder, by the mean of all tokens",
        POLARITY,
        "polarity",
        changes={"model__pooling": "mean"},
    ),
    "polarity-smaller": Method(
        "an encoder half as wide, whose attention is changed",
        POLARITY,
        "polarity",
        changes=SMALLER,
    ),
    "sure/smoothed": Method(
        "the encoder half as wide, and how sure it is",
        POLARITY,
        "polarity",
        changes=dict(SMALLER),
        sure=True,
    ),
    "sure/unsmoothed": Method(
        "the same, without label smoothing",
        POLARITY,
        "polarity",
        changes=SMALLER | {"loss__label_smoothing": 0.0},
        sure=True,
    ),
    "authors-counts": Method(
        "TF-IDF of characters", AUTHORS, analyzer="char", grams=(1, 3)
    ),
    "authors-by-passage": Method(
        "TF-IDF of characters; each work is in all parts",
        AUTHORS,
        parted=by_passage,
        analyzer="char",
        grams=(1, 3),
    ),
    "authors-unequal": Method(
        "TF-IDF of characters; passages as they come, most by Soseki",
        AUTHORS,
        parted=unequal,
        analyzer="char",
        grams=(1, 3),
    ),
    "authors-gru": Method("a GRU, both ways", AUTHORS, "authors-gru"),
    "authors-encoder": Method("our encoder", AUTHORS, "authors"),
    "authors-encoder-mean": Method(
        "our encoder, by the mean of all tokens",
        AUTHORS,
        "authors",
        changes={"model__pooling": "mean"},
    ),
    "authors-characters": Method(
        "an encoder of characters, by the mean of all",
        AUTHORS,
        "authors",
        changes=OF_CHARACTERS | {"train__peak_rate": RATE},
    ),
} | {
    f"authors-rates/{rate:g}": Method(
        "the encoder of characters, one epoch at one rate",
        AUTHORS,
        "authors",
        changes=OF_CHARACTERS | {"train__epochs": 1, "train__peak_rate": rate},
    )
    for rate in RATES
}
EXPERIMENT = Experiment(
    name="classifiers",
    chapter="17_classification",
    variants=METHODS,
    measure=Method.measure,
    seeds_of={
        name: (0,) for name, method in METHODS.items() if not method.preset
    }
    | {"authors-rates": (0,), "sure": (0,)},
    settings=lambda: {
        "credit": CREDIT,
        "about": {name: method.about for name, method in METHODS.items()},
    },
)
