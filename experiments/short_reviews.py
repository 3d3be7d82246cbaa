"""How far is fine-tuning ahead on 250 short reviews?

The loop of chapter 18's page, with five seeds, beside two opponents that learn
from the same labels: logistic regression on MiniLM's vectors, with C chosen on
the short reviews of dev, and counts of words and pairs. All are judged by the
short reviews of dev, as on the page, and by the whole test set, of which the
guesses are stored. A seed takes half a minute of one core.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.classifiers import (
    classification_scores,
    of_counts,
    splits_of,
)
from experiments.fine_tuning import by_regression, smoke_start
from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.labelled import text_rows
from transformer_course.batches.pairs import pad_rows
from transformer_course.checkpoints.pretrained import (
    load_bert,
    minilm_folder,
    sentence_vectors,
)
from transformer_course.data.labelled import LabelledText
from transformer_course.data.wordpiece import WordPiece
from transformer_course.models.bert import Bert, mean_of_tokens

LABELS, MOST = 250, 10
"""Labels to learn from, and words in the longest review of these."""
LONGEST = 64
"""Pieces that are read of a review."""
RATE, EPOCHS, BATCH = 1e-4, 3, 16


def short(part: LabelledText) -> LabelledText:
    """Those reviews that have few words."""
    few = [i for i, text in enumerate(part.texts) if len(text.split()) <= MOST]
    return part.take(few)


def text_vectors(body: Bert, rows: Sequence[list[int]]) -> Tensor:
    """The mean of each text's tokens, (texts, d_model)."""
    ids = pad_rows(rows)
    return mean_of_tokens(body(ids), ids)


def rate_at(step: int, steps: int) -> float:
    """Up over the first tenth of the updates, then down as a cosine."""
    warm, done = (step + 1) / (0.1 * steps), step / steps
    return RATE * min(warm, (1 + math.cos(math.pi * done)) / 2)


def fine_tune(
    body: Bert, rows: Sequence[list[int]], labels: Tensor, seed: int = 0
) -> tuple[nn.Linear, list[float]]:
    """Train all weights of a body, and of a new head.

    Args:
        body: changed in place.
        rows: ids of each text, [CLS] and [SEP] included.
        labels: 0 or 1, (texts,).
        seed: of the head, the order of the texts and dropout.

    Returns:
        The head, and the loss of each batch.
    """
    torch.manual_seed(seed)
    head = nn.Linear(body.config.d_model, 2)
    dropout = nn.Dropout(0.1)
    weights = [*body.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(weights, weight_decay=0.01, fused=True)
    steps = EPOCHS * math.ceil(len(rows) / BATCH)
    losses: list[float] = []
    body.train()
    for _ in range(EPOCHS):
        for some in torch.randperm(len(rows)).split(BATCH):
            optimizer.param_groups[0]["lr"] = rate_at(len(losses), steps)
            x = text_vectors(body, [rows[i] for i in some])
            loss = F.cross_entropy(head(dropout(x)), labels[some])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            losses.append(loss.item())
    body.eval()
    return head, losses


def body_of(context: RunContext) -> tuple[Bert, WordPiece]:
    """MiniLM; in a smoke test a tiny encoder."""
    if not context.smoke:
        return load_bert(minilm_folder())
    start = smoke_start()
    return Bert(start.config).eval(), start.tokenizer


def by_tuning(learned, parts, seed: int, context: RunContext) -> list[Tensor]:
    """Logits of each part."""
    body, pieces = body_of(context)
    rows = text_rows(pieces, learned.texts, LONGEST)
    head, _ = fine_tune(body, rows, torch.tensor(learned.labels), seed)
    with torch.no_grad():
        return [
            torch.cat(
                [
                    head(text_vectors(body, some))
                    for some in _in_parts(
                        text_rows(pieces, part.texts, LONGEST)
                    )
                ]
            )
            for part in parts
        ]


def by_probe(learned, parts, seed: int, context: RunContext) -> list[Tensor]:
    """Shares of each part; the first one chooses C."""
    body, pieces = body_of(context)
    train, dev, test = (
        (sentence_vectors(body, pieces, part.texts), part.labels)
        for part in (learned, *parts)
    )
    return [by_regression(train, dev, part)[1] for part in (dev, test)]


def by_counts(learned, parts, seed: int, context: RunContext) -> list[Tensor]:
    """Shares of each part."""
    answer = of_counts("word", (1, 2), learned)
    return [answer(part.texts) for part in parts]


def measure(way, seed: int, context: RunContext) -> Record:
    """Learn, and judge by dev's short reviews and by the whole test set."""
    splits = splits_of("sentence_polarity", context)
    train = short(splits.train)
    learned = train.take(range(min(LABELS, len(train))))
    dev = short(splits.dev)
    of_dev, of_test = way(learned, (dev, splits.test), seed, context)
    right = of_dev.argmax(dim=-1) == torch.tensor(dev.labels)
    return {
        "dev": round(right.float().mean().item(), 4),
        "test": classification_scores(splits.test, of_test),
        "guesses": of_test.argmax(dim=-1).tolist(),
    }


def _in_parts(rows: list[list[int]], size: int = 64) -> list[list[list[int]]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


EXPERIMENT = Experiment(
    name="short-reviews",
    chapter="18_bert",
    variants={
        "fine-tuned": by_tuning,
        "frozen": by_probe,
        "counts": by_counts,
    },
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    seeds_of={"frozen": (0,), "counts": (0,)},
    settings=lambda: {"labels": LABELS, "words": MOST, "rate": RATE},
)
