"""What do simple methods give by number of labels?

The opponents of networks on sentences of film reviews. TF-IDF of words and
pairs under logistic regression, and NB-SVM (Wang and Manning 2012), have read
nothing but these sentences. Logistic regression on a vector of each sentence,
by published weights that stay as they are, is today's first baseline; its
``C`` is chosen on dev. Last the mean of the probabilities of both logistic
regressions.

A seed is a draw of the labels: draws of one size share none, and the first has
the labels that ``fine-tuning`` learns from.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.classifiers import (
    classification_scores,
    of_counts,
    splits_of,
)
from experiments.fine_tuning import by_regression, vectors
from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import Splits

LABELS = (85, 855, 8552)
DRAWS = (0, 1, 2, 3, 4)
MIXED = 0.25
"""The share of the SVM in the weights of NB-SVM, the paper's β."""

Answer = Callable[[Sequence[str]], Tensor]
"""From texts to a probability, or a vote, for each class."""


def of_tf_idf(splits: Splits[LabelledText], context: RunContext) -> Answer:
    """Learned from counts of words and pairs."""
    return of_counts("word", (1, 2), splits.train)


def of_nb_svm(splits: Splits[LabelledText], context: RunContext) -> Answer:
    """From texts to votes for two classes, learned as Wang and Manning do.

    A feature is whether a word or a pair stands in the text, times the
    logarithm of how much more frequent it is in the one class (with 1 added to
    each count). The weights of a linear SVM (C = 1) are mixed with their own
    mean size, which by itself would be naive Bayes.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.svm import LinearSVC

    vectors = CountVectorizer(
        token_pattern=r"\S+", ngram_range=(1, 2), lowercase=False, binary=True
    )
    there = vectors.fit_transform(splits.train.texts)
    positive = np.array(splits.train.labels) == 1
    p, q = (
        1 + np.asarray(there[part].sum(axis=0))[0]
        for part in (positive, ~positive)
    )
    ratio = np.log(p / p.sum()) - np.log(q / q.sum())
    svm = LinearSVC().fit(there.multiply(ratio).tocsr(), positive)
    weights = svm.coef_[0]
    weights = (1 - MIXED) * np.abs(weights).mean() + MIXED * weights

    def votes(texts: Sequence[str]) -> Tensor:
        x = vectors.transform(texts).multiply(ratio).tocsr()
        vote = torch.from_numpy(x @ weights + svm.intercept_)
        return torch.stack([-vote, vote], dim=-1)

    return votes


def of_vectors(splits: Splits[LabelledText], context: RunContext) -> Answer:
    """Learned from MiniLM's vectors, with the best ``C`` on dev."""

    def vectors_of(texts: Sequence[str]) -> Tensor:
        return vectors(tuple(texts), context.smoke)

    known, dev = (
        (vectors_of(part.texts), part.labels)
        for part in (splits.train, splits.dev)
    )

    def answer(texts: Sequence[str]) -> Tensor:
        _, shares = by_regression(known, dev, (vectors_of(texts), None))
        return shares

    return answer


def of_both(splits: Splits[LabelledText], context: RunContext) -> Answer:
    """The mean of the probabilities by counts and by vectors."""
    ways = [way(splits, context) for way in (of_tf_idf, of_vectors)]
    return lambda texts: sum(way(texts) for way in ways) / len(ways)


WAYS = {
    "tf-idf": of_tf_idf,
    "nb-svm": of_nb_svm,
    "vectors": of_vectors,
    "both": of_both,
}


class Point(NamedTuple):
    """A number of labels, and who learns from them."""

    labels: int
    way: str

    def measure(self, seed: int, context: RunContext) -> Record:
        """Learn from one draw, and judge by the test set."""
        splits = splits_of("sentence_polarity", context)
        size = min(self.labels, len(splits.train))
        drawn = splits.train.take(range(seed * size, (seed + 1) * size))
        answer = WAYS[self.way](
            dataclasses.replace(splits, train=drawn), context
        )
        found = answer(splits.test.texts)
        record: Record = {
            "labels": self.labels,
            "dev": classification_scores(splits.dev, answer(splits.dev.texts)),
            "test": classification_scores(splits.test, found),
        }
        if seed == 0:  # beside those of fine-tuning
            record["guesses"] = found.argmax(dim=-1).tolist()
        return record


EXPERIMENT = Experiment(
    name="few-labels",
    chapter="17_classification",
    variants={
        f"{labels}/{way}": Point(labels, way)
        for labels in LABELS
        for way in WAYS
    },
    measure=Point.measure,
    seeds=DRAWS,
    seeds_of={"8552": (0,)},
)
