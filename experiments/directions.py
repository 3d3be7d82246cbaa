"""What can be read from a direction of SmolLM2's stream, and what it does.

Chapter 20. *Probes*: which of 24 countries was named, read by a linear probe
from the stream after each layer, in wordings that it was not fitted to; and
whether the country lies in Europe, for countries that it was not fitted to.
Each stands beside a probe of shuffled labels; the embedding is the stream
before the first layer. *Steering*: the difference of the means of eight
sentences each is added to the stream, with strengths from -8 to 8, and
beside it random directions of the same length.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.answers import load
from experiments.capitals import CAPITALS
from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.decoding.generate import sample
from transformer_course.interpretation.features import (
    change_stream,
    difference_of_means,
    fit_probe,
    streams,
)
from transformer_course.models.modern import ModernLanguageModel

FORMS = (
    "The capital of {} is",
    "In {}, the capital is",
    "People who visit {} often see its capital,",
    "The flag of {} has",
    "My sister moved to {} last year and",
    "The population of {} was",
)
"""Wordings; a probe is fitted to five of them and reads the sixth."""
OUTSIDE = "China Cuba Egypt Iran Iraq Japan Kenya Peru Syria".split()
"""Those of the countries that do not lie in Europe."""
SHUFFLES = 10
"""Probes of shuffled labels; for the other question as many."""
GLAD = (
    "I love this place, everything was wonderful.",
    "What a beautiful day, I feel happy and grateful.",
    "The film was brilliant and we laughed all evening.",
    "She was delighted with the excellent meal.",
    "This is the best holiday that we have ever had.",
    "He is a kind man, and his friends adore him.",
    "The garden looks lovely in the warm sunshine.",
    "Our team won, and everybody cheered with joy.",
)
SAD = (
    "I hate this place, everything was terrible.",
    "What an awful day, I feel miserable and lonely.",
    "The film was boring and we suffered all evening.",
    "She was disgusted with the horrible meal.",
    "This is the worst holiday that we have ever had.",
    "He is a cruel man, and his neighbours fear him.",
    "The garden looks ugly in the cold rain.",
    "Our team lost, and everybody cried with grief.",
)
"""Contrast sentences, pair by pair."""
BEGINNINGS = (
    "The food in the hotel was",
    "The weather on our trip was",
    "My week at the school was",
    "The people in the office are",
    "When I read it I felt",
    "I went to the restaurant and",
    "The book that he wrote is",
    "My brother came home and was",
)
"""Of six tokens each."""
GOOD = "good great wonderful excellent happy beautiful lovely perfect".split()
BAD = "bad terrible awful horrible sad ugly miserable poor".split()
"""Words whose probabilities are compared; none begins a sentence above."""
STRENGTHS = (-8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8)
STEERED, RANDOM, DRAWN, LENGTH = 15, 3, 2, 20
"""The layer; random directions; texts of each beginning, and their tokens."""
OF_RANDOM = (-6, -3, 3, 6)
"""Strengths of random directions: they have no sign of their own."""


def measure(variant: str, seed: int, context: RunContext) -> Record:
    """Either of the two questions."""
    return {"probe": probe, "steering": steer}[variant](context)


# --- probes ------------------------------------------------------------------


def probe(context: RunContext) -> Record:
    """How often a probe is right, after each layer, at two positions."""
    model, pieces = load(context)
    model.requires_grad_(False)
    countries = list(CAPITALS)
    if context.smoke:  # of one length in bytes
        countries = ["China", "Egypt", "Italy", "Spain"]
    forms = FORMS[: context.limit(len(FORMS))]
    kept = {"country": [], "last": []}  # (form, layer, country, d_model)
    for form in forms:
        ids = [pieces.encode(form.format(name)) for name in countries]
        ids = torch.tensor(ids)
        at = int((ids[0] != ids[1]).nonzero()[0])
        each = torch.stack(list(streams(model, ids)))
        kept["country"].append(each[:, :, at])
        kept["last"].append(each[:, :, -1])
    generator = torch.Generator().manual_seed(0)
    named = torch.arange(len(countries))
    europe = torch.tensor([name not in OUTSIDE for name in countries]).long()
    found: Record = {"forms": len(forms), "countries": len(countries)}
    for where, parts in kept.items():
        x = torch.stack(parts, dim=1)  # (layer, form, country, d_model)
        shuffled = [
            torch.stack(
                [torch.randperm(len(named), generator=generator) for _ in x[0]]
            )
            for _ in range(context.limit(SHUFFLES))
        ]
        plain = named.expand(len(forms), -1)
        found[where] = [by_wording(layer, plain) for layer in x]
        found[f"{where}_shuffled"] = [
            round(fmean(by_wording(layer, s) for s in shuffled), 3)
            for layer in x
        ]
        orders = [s[0] for s in shuffled]
        found[f"{where}_europe"] = [by_country(layer, europe) for layer in x]
        found[f"{where}_europe_shuffled"] = [
            round(fmean(by_country(layer, europe[o]) for o in orders), 3)
            for layer in x
        ]
    return found


def by_wording(x: Tensor, labels: Tensor) -> float:
    """Share of right answers, each wording read by a probe of the others.

    Args:
        x: (form, country, d_model).
        labels: (form, country).
    """
    right = []
    for held in range(len(x)):
        others = [i for i in range(len(x)) if i != held]
        read = fit_probe(x[others].flatten(0, 1), labels[others].flatten())
        right.append((read(x[held]) == labels[held]).float().mean())
    return round(float(torch.stack(right).mean()), 3)


def by_country(x: Tensor, labels: Tensor) -> float:
    """The same for each country, read by a probe of the others; balanced.

    The mean of the shares of both classes, so that guessing gets a half.

    Args:
        x: (form, country, d_model).
        labels: one of 0 and 1 for each country.
    """
    right = torch.zeros(len(labels))
    for held in range(len(labels)):
        others = [i for i in range(len(labels)) if i != held]
        some = labels[others].expand(len(x), -1).flatten()
        read = fit_probe(x[:, others].flatten(0, 1), some)
        right[held] = (read(x[:, held]) == labels[held]).float().mean()
    shares = [right[labels == label].mean() for label in (0, 1)]
    return round(float(torch.stack(shares).mean()), 3)


# --- steering ----------------------------------------------------------------


def steer(context: RunContext) -> Record:
    """What strengths of the direction, and of random ones, do."""
    model, pieces = load(context)
    model.requires_grad_(False)
    layer = context.limit(STEERED, 1)
    means = [
        torch.cat(list(stream_of(model, pieces, lines, layer)))
        for lines in (GLAD, SAD)
    ]
    direction = difference_of_means(*means)
    generator = torch.Generator().manual_seed(0)
    directions = {"difference": direction}
    for i in range(context.limit(RANDOM, 1)):
        other = torch.randn(direction.shape, generator=generator)
        directions[f"random {i + 1}"] = other / other.norm() * direction.norm()
    words = [
        torch.tensor([pieces.encode(f" {word}")[0] for word in words])
        for words in (GOOD, BAD)
    ]
    rows = []
    for name, each in directions.items():
        strengths = STRENGTHS if name == "difference" else OF_RANDOM
        for strength in strengths[: context.limit(len(strengths))]:
            added = strength * each
            row = steered(model, pieces, layer, added, words, context)
            rows.append({"direction": name, "strength": strength, **row})
            context.log(f"directions: {rows[-1]}")
    return {
        "length": round(float(direction.norm()), 2),
        "stream": round(float(means[0].norm(dim=1).median()), 2),
        "rows": rows,
    }


def stream_of(
    model: ModernLanguageModel,
    pieces: ByteBPE,
    lines: Sequence[str],
    layer: int,
) -> Iterator[Tensor]:
    """The stream of each sentence after a layer, without the first token."""
    for line in lines:
        ids = torch.tensor([[first_of(pieces), *pieces.encode(line)]])
        yield list(streams(model, ids))[layer][0, 1:]


def first_of(pieces: ByteBPE) -> int:
    """The token that stands before each text, a sink."""
    return pieces.encode("<|im_start|>")[0]


@torch.no_grad()
def steered(
    model: ModernLanguageModel,
    pieces: ByteBPE,
    layer: int,
    added: Tensor,
    words: list[Tensor],
    context: RunContext,
) -> Record:
    """Log odds of good words, and what the texts cost the untouched model."""
    first = first_of(pieces)
    lines = [pieces.encode(line)[:6] for line in BEGINNINGS]
    ids = torch.tensor(lines[: context.limit(len(lines))])
    start = F.pad(ids, (1, 0), value=first)  # (beginning, 1 + length)
    with change_stream(model, layer, lambda x: x + added):
        log_p = model(start)[:, -1].log_softmax(dim=-1)
        written = sample(
            model,
            prefix=ids.repeat(context.limit(DRAWN), 1),
            start=first,
            generator=torch.Generator().manual_seed(0),
            max_length=ids.size(1) + context.limit(LENGTH),
        )
    good, bad = (log_p[:, some].logsumexp(dim=-1) for some in words)
    length = max(map(len, written))
    rows = [[first, *row] + [first] * (length - len(row)) for row in written]
    rows = torch.tensor(rows)
    asked = rows[:, start.size(1) :].clone()
    for row, text in zip(asked, written, strict=True):
        row[len(text) - ids.size(1) :] = -1  # nothing was written there
    logits = model(rows)[:, start.size(1) - 1 : -1]
    nll = F.cross_entropy(
        logits.flatten(0, 1), asked.flatten(), ignore_index=-1
    )
    return {
        "log_odds": round(float((good - bad).mean()), 3),
        "loss": round(float(nll), 3),
        "texts": [pieces.decode(row) for row in written[: len(lines)]],
    }


EXPERIMENT = Experiment(
    name="directions",
    chapter="20_reading_attention",
    variants={"probe": "probe", "steering": "steering"},
    measure=measure,
    seeds=(0,),
)
