"""What does a frozen body know of eleven authors?

A pre-trained body is left as it is, and turns each passage into one vector:
the mean of its tokens, or what stands at [CLS]. On these, logistic regression
learns the authors, with 1 %, 10 % and all of the labels. Beside it stand the
same body with first weights, and TF-IDF of characters on the same labels. A
small share is drawn five times, from passages that do not overlap; held-out
works are scored, and intervals draw works.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from experiments import store
from experiments.classifiers import (
    CREDIT,
    classification_scores,
    counted,
    splits_of,
)
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    made_of,
)
from experiments.pre_trainings import text_for
from transformer_course.batches.labelled import text_rows
from transformer_course.batches.pairs import sorted_batches
from transformer_course.checkpoints import checkpoint
from transformer_course.data.labelled import LabelledText
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.models.bert import mean_of_tokens
from transformer_course.models.mode import eval_mode
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import sized
from transformer_course.training.tasks.pre_training import train_tokenizer

UNTRAINED = "untrained"
"""The start with first weights."""
SHARES = (0.01, 0.1, 1.0)
DRAWS = 5
"""Times that a small share is drawn."""
ROWS = 32
"""Passages at a time."""
WAYS = ("mean", "class token")
Features = dict[str, Tensor]
"""One vector for each passage, by way."""
Answers = Callable[[str, range], Tensor]
"""From a way, and the passages whose labels are learned from, to
probabilities of each test passage."""


def features(
    model: nn.Module, tokenizer: Tokenizer, texts: list[str]
) -> Features:
    """One vector for each text, in both ways; the model is not changed."""
    rows = text_rows(tokenizer, texts, model.config.max_length)
    width = model.config.d_model
    found = {way: torch.zeros(len(rows), width) for way in WAYS}
    with torch.inference_mode(), eval_mode(model):
        for places, ids in sorted_batches(rows, ROWS):
            x = model.bert(ids)
            found["mean"][places] = mean_of_tokens(x, ids)
            found["class token"][places] = x[:, 0]
    return found


def on_vectors(learn: Tensor, labels: list[int], ask: Tensor) -> Tensor:
    """Probabilities by logistic regression on scaled vectors."""
    model = make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)
    ).fit(learn, labels)
    return spread(model.predict_proba(ask), model.classes_)


def on_counts(learn: LabelledText, texts: list[str]) -> Tensor:
    """Probabilities by TF-IDF of one to three characters."""
    model = counted("char", (1, 3)).fit(learn.texts, learn.labels)
    return spread(model.predict_proba(texts), model.classes_)


def spread(found, classes) -> Tensor:
    """Probabilities of all classes; those that were not learned have 0."""
    whole = torch.zeros(len(found), int(max(classes)) + 1)
    whole[:, list(classes)] = torch.from_numpy(found).float()
    return whole


def drawn(size: int, share: float) -> Iterator[range]:
    """Passages whose labels are learned from, draw by draw."""
    count = max(2, round(share * size))
    for draw in range(min(DRAWS, size // count)):
        yield range(draw * count, (draw + 1) * count)


def probed(
    ways: Sequence[str], answers: Answers, splits: Splits[LabelledText]
) -> list[Record]:
    """Judge answers that were learned from each share of the labels.

    Args:
        ways: to make vectors.
        answers: from a way and passages to learn from to probabilities.
        splits: of the corpus.
    """
    return [
        {"way": way, "share": share, "labels": len(part)}
        | classification_scores(splits.test, answers(way, part))
        for way in ways
        for share in SHARES
        for part in drawn(len(splits.train), share)
    ]


def of_body(
    model: nn.Module, tokenizer: Tokenizer, splits: Splits[LabelledText]
) -> list[Record]:
    """By logistic regression on the body's vectors."""
    learn, ask = (
        features(model, tokenizer, part.texts)
        for part in (splits.train, splits.test)
    )

    def answers(way: str, part: range) -> Tensor:
        labels = [splits.train.labels[i] for i in part]
        return on_vectors(learn[way][list(part)], labels, ask[way])

    return probed(WAYS, answers, splits)


def of_counts(splits: Splits[LabelledText]) -> list[Record]:
    """Probe TF-IDF, which has one way."""
    return probed(
        ("counts",),
        lambda _, part: on_counts(splits.train.take(part), splits.test.texts),
        splits,
    )


def bodies(context: RunContext) -> Iterator[tuple[str, nn.Module, Tokenizer]]:
    """The trained ones, and one with first weights."""
    for output in context.inputs:
        loaded = checkpoint.load(checkpoint_of(output))
        model, tokenizer = loaded.model, loaded.tokenizer
        yield output.name, model, tokenizer
    if context.smoke:
        preset = changed_experiment(
            PRESETS["aozora-bert"], {"model.d_model": 16}
        )
        tokenizer = train_tokenizer(preset, text_for(context).dev)
        model = checkpoint.build(sized(preset.model, tokenizer))
    torch.manual_seed(0)
    yield UNTRAINED, checkpoint.build(model.config), tokenizer


def analyse(context: RunContext) -> Iterator[str]:
    """Ask each body, and the counts."""
    splits = splits_of("authors", context)
    found: Record = made_of("authors-probe", context) | {"credit": CREDIT}
    found["counts"] = of_counts(splits)
    for name, model, tokenizer in bodies(context):
        found[name] = of_body(model, tokenizer, splits)
        yield f"{name}: {found[name][0]}"
    store.write_json(Path(context.folder) / "probe.json", found)


EXPERIMENT = Analysis(
    name="authors-probe",
    chapter="18_bert",
    analyse=analyse,
    inputs=(
        "outputs/aozora-bert",
        "outputs/aozora-bert-longer",
        "outputs/aozora-bert-pairs",
    ),
)
