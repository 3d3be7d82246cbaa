"""Is the middle one of many draws a better translation than a beam's best?

Minimum-Bayes-risk decoding (Kumar and Byrne 2004) of the test set: several
translations of each sentence are drawn, and the one is taken that agrees best
with all of them, by chrF or by BLEU. Beside it stand a single draw, greedy
search, a beam of 5 with the length penalty that does best on the development
set, and the middle one of that beam. Nothing else is chosen: all ways to draw
are told. ``experiments/results/mbr/NAME.json`` has the scores, and how far
each is from the beam's, with bootstrap intervals over the sentences.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.metrics.helpers import (
    extract_all_char_ngrams,
    extract_word_ngrams,
)

from experiments import store
from experiments.lab import (
    Analysis,
    Record,
    RunContext,
    checkpoint_of,
    each_of,
    made_of_checkpoint,
    splits_for,
    tiny_run,
)
from experiments.searches import draw, timed
from experiments.translations import BEAMS, CREDIT, dev_bleu
from transformer_course.checkpoints import checkpoint
from transformer_course.data.text import ParallelText
from transformer_course.decoding.translate import candidates, translate
from transformer_course.evaluation.bleu import (
    MIN_SENTENCES,
    SEED,
    bleu_counts,
    bleu_of_counts,
    paired_bootstrap,
)

WAYS = ({"temperature": 1.0}, {"temperature": 0.5})
DRAWS = (4, 8, 16, 32)
"""The first so many of what is drawn are the candidates."""
SEEDS = (0, 1, 2)
"""Seed of the drawing."""
BEAM = BEAMS[-1]
SAMPLES = 1000
"""Test sets that are drawn from the test set."""
CHARACTERS, WORDS, BETA = 6, 4, 2
"""Longest n-grams of chrF and of BLEU; how much more recall counts."""


# --- how well two texts agree ------------------------------------------------


class Shared(NamedTuple):
    """N-grams that texts share, by length."""

    totals: np.ndarray
    """(text, n): of each text."""
    matches: np.ndarray
    """(text, other text, n): of both; clipped, so that it is symmetric."""


def character_ngrams(text: str) -> list[Counter]:
    """Count n-grams of characters, as chrF does: without spaces."""
    return extract_all_char_ngrams(text, CHARACTERS)


def word_ngrams(text: str) -> list[Counter]:
    """Count n-grams of words, as BLEU does."""
    words = text.split()
    return [extract_word_ngrams(words, n) for n in range(1, WORDS + 1)]


def shared(
    texts: Sequence[str], ngrams: Callable[[str], list[Counter]]
) -> Shared:
    """Count the n-grams of each text, and those of each two."""
    totals, matches = [], []
    for counters in zip(*map(ngrams, texts), strict=True):  # a length each
        places = {gram: i for i, gram in enumerate(set().union(*counters))}
        counts = np.zeros((len(texts), len(places)), dtype=np.int64)
        for row, counter in zip(counts, counters, strict=True):
            for gram, count in counter.items():
                row[places[gram]] = count
        totals.append(counts.sum(axis=1))
        matches.append(np.minimum(counts[:, None], counts).sum(axis=2))
    return Shared(np.stack(totals, axis=-1), np.stack(matches, axis=-1))


def chrf_of(written, wanted, matches) -> np.ndarray:
    """chrF2 of totals and matches, whose last axis is the n-grams' length."""
    there = (written > 0) & (wanted > 0)
    lengths = np.maximum(there.sum(axis=-1), 1)
    precision, recall = (
        np.where(there, matches / np.maximum(totals, 1), 0).sum(axis=-1)
        / lengths
        for totals in (written, wanted)
    )
    both = BETA**2 * precision + recall
    product = (1 + BETA**2) * precision * recall
    return 100 * product / np.where(both > 0, both, 1)


def chrf_between(texts: Sequence[str]) -> np.ndarray:
    """(text, other): chrF of the one, were the other the reference."""
    totals, matches = shared(texts, character_ngrams)
    return chrf_of(totals[:, None], totals, matches)


def bleu_between(texts: Sequence[str]) -> np.ndarray:
    """(text, other): sentence BLEU, as sacreBLEU smooths it."""
    totals, matches = shared(texts, word_ngrams)
    totals = totals.tolist()
    return np.array(
        [
            [
                BLEU.compute_bleu(
                    found, one, one[0], other[0], "exp", effective_order=True
                ).score
                for other, found in zip(totals, row, strict=True)
            ]
            for one, row in zip(totals, matches.tolist(), strict=True)
        ]
    )


UTILITIES = {"chrf": chrf_between, "bleu": bleu_between}


def agreement(utility: str, drawn: Sequence[str]) -> np.ndarray:
    """(draw, other draw): how well they agree; equal texts count once."""
    texts = list(dict.fromkeys(drawn))
    places = [texts.index(text) for text in drawn]
    return UTILITIES[utility](texts)[np.ix_(places, places)]


def middle(agreed: np.ndarray, draws: int) -> int:
    """The first of so many draws that agree best with all of these."""
    return int(agreed[:draws, :draws].mean(axis=1).argmax())


# --- scores of the test set --------------------------------------------------


def chrf_counts(
    written: Sequence[str], references: Sequence[str]
) -> np.ndarray:
    """(sentence, 3, n): totals of both and matches; their sum gives chrF.

    What is written does not count where its reference is shorter than n.
    """
    found = []
    for pair in zip(written, references, strict=True):
        (one, other), matches = shared(pair, character_ngrams)
        found.append([np.where(other > 0, one, 0), other, matches[0, 1]])
    return np.array(found)


class Scores(NamedTuple):
    """Counts of each sentence."""

    bleu: np.ndarray
    chrf: np.ndarray


def scores_of(written: Sequence[str], references: Sequence[str]) -> Scores:
    """Count for BLEU and for chrF."""
    return Scores(
        bleu_counts(written, references), chrf_counts(written, references)
    )


def chrf_differences(system: np.ndarray, baseline: np.ndarray) -> np.ndarray:
    """Intervals of chrF, on the test sets that BLEU's bootstrap draws."""
    generator = np.random.default_rng(SEED)
    sentences = len(system)
    draws = generator.choice(sentences, size=(SAMPLES, sentences))
    one, other = (
        chrf_of(*np.array([c[d].sum(axis=0) for d in draws]).swapaxes(0, 1))
        for c in (system, baseline)
    )
    return one - other


def summarize(scores: Scores, beam: Scores | None = None) -> Record:
    """BLEU and chrF; the difference to the beam's with its interval, unless
    there are too few sentences."""
    bleu, chrf = bleu_of_counts(scores.bleu), _chrf(scores)
    found = {"bleu": round(bleu, 2), "chrf": round(chrf, 2)}
    if beam is None or len(scores.bleu) < MIN_SENTENCES:
        return found
    ahead = paired_bootstrap(scores.bleu, beam.bleu, SAMPLES).difference
    drawn = chrf_differences(scores.chrf, beam.chrf)
    ends = np.percentile(drawn, (2.5, 97.5)).tolist()
    return found | {
        "bleu_ahead": [round(value, 2) for value in ahead],
        "chrf_ahead": [round(v, 2) for v in (chrf - _chrf(beam), *ends)],
    }


def _chrf(scores: Scores) -> float:
    return float(chrf_of(*scores.chrf.sum(axis=0)))


# --- the ways ----------------------------------------------------------------


class Asked(NamedTuple):
    """Head of the file: the model, the sentences, the beam's scores."""

    loaded: checkpoint.Checkpoint
    text: ParallelText
    beam: Scores

    def row(self, about: Record, written: Sequence[str]) -> Record:
        """The scores of what was written."""
        scores = scores_of(written, self.text.tgt)
        return {**about, **summarize(scores, self.beam)}

    def per_sentence(self, seconds: float) -> float:
        """Milliseconds."""
        return round(1000 * seconds / len(self.text), 1)


def drawn(asked: Asked, way: Record, seed: int, most: int) -> Iterator[Record]:
    """One way to draw: a single draw, and the middle one of several."""
    repeated = [source for source in asked.text.src for _ in range(most)]
    found, seconds = timed(lambda: draw(asked.loaded, repeated, seed, **way))
    groups = [found[i : i + most] for i in range(0, len(found), most)]
    about = {**way, "seed": seed}
    different = sum(len(set(group)) for group in groups) / len(groups)
    yield {
        **asked.row(about | {"draws": 1}, [group[0] for group in groups]),
        "different": round(different, 2),
        "ms_to_draw_all": asked.per_sentence(seconds),
    }
    for utility in UTILITIES:
        matrices, seconds = timed(
            lambda utility=utility: [agreement(utility, g) for g in groups]
        )
        ms = {"ms_to_choose": asked.per_sentence(seconds)}
        for draws in (n for n in DRAWS if n <= most):
            named = about | {"draws": draws, "utility": utility}
            yield asked.row(named, middles(groups, matrices, draws)) | ms


def middles(
    groups: Sequence[Sequence[str]],
    matrices: Sequence[np.ndarray],
    draws: int,
) -> list[str]:
    """The middle one of each sentence's first draws."""
    return [
        group[middle(matrix, draws)]
        for group, matrix in zip(groups, matrices, strict=True)
    ]


def searched(
    asked: Asked, beams: Sequence[Sequence[str]], greedy: Sequence[str]
) -> Iterator[Record]:
    """Greedy search, the beam's best, and the middle one of the beam."""
    yield asked.row({"beam": 1}, greedy)
    yield {"beam": BEAM, **summarize(asked.beam)}
    for utility in UTILITIES:
        matrices = [agreement(utility, beam) for beam in beams]
        about = {"beam": BEAM, "utility": utility}
        yield asked.row(about, middles(beams, matrices, BEAM))


def compare(folder: Path, context: RunContext) -> Iterator[str]:
    """Measure a run, and write what there is after each way.

    Raises:
        CourseError: the run has no checkpoint.
    """
    chosen = checkpoint_of(folder)
    loaded = checkpoint.load(chosen)
    model, tokenizer = loaded.model, loaded.tokenizer
    splits = splits_for(loaded.details, context)
    text, choices = splits.test, dev_bleu(model, tokenizer, splits.dev)
    alpha = max(choices, key=choices.get)
    beams = [
        [one.text for one in beam]
        for beam in candidates(model, tokenizer, text.src, BEAM, alpha)
    ]
    best = scores_of([beam[0] for beam in beams], text.tgt)
    asked = Asked(loaded, text, best)
    stored = {
        **made_of_checkpoint("mbr", chosen, context),
        "split": "test",
        "sentences": len(text),
        "alpha": alpha,
        "samples": SAMPLES,
        "credit": CREDIT,
    }
    greedy = translate(model, tokenizer, text.src)
    rows = list(searched(asked, beams, greedy))
    most = context.limit(DRAWS[-1], DRAWS[0])
    seeds = SEEDS[: context.limit(len(SEEDS), 1)]
    for seed, way in itertools.product(seeds, WAYS):
        rows += drawn(asked, way, seed, most)
        path = context.folder / f"{folder.name}.json"
        store.write_json(path, stored | {"rows": rows}, indent=1)
        yield f"{folder.name}: {rows[-1]}"


EXPERIMENT = Analysis(
    name="mbr",
    chapter="13_generation",
    analyse=each_of(compare),
    inputs=("outputs/enja",),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "tiny")],
)
