"""How should a trained translator search?

Beams of several sizes, each with several length penalties, and sampling, for
the checkpoint that is best on the development set, in
``experiments/results/searches/NAME.json``. Last, each size of beam translates
the test set once, with the length penalty that the development set likes best,
and what BLEU counts in each sentence is stored in
``experiments/results/searches/NAME.npz``.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from experiments import store
from experiments.lab import (
    Analysis,
    RunContext,
    checkpoint_of,
    each_of,
    made_of_checkpoint,
    splits_for,
    tiny_run,
)
from experiments.translations import CREDIT
from transformer_course.batches.pairs import sorted_batches
from transformer_course.checkpoints import checkpoint
from transformer_course.data.text import ParallelText, Splits, unseen
from transformer_course.decoding.generate import sample
from transformer_course.decoding.translate import (
    Candidate,
    candidates,
    encode_source,
    translate,
)
from transformer_course.device import pick_device
from transformer_course.evaluation.bleu import bleu_counts, corpus_bleu

WAYS = (
    [{"beam": 1, "alpha": 0.0}]
    + [
        {"beam": beam, "alpha": alpha}
        for beam, alpha in itertools.product(
            (2, 5, 10), (0.0, 0.3, 0.6, 1.0, 1.4, 1.8)
        )
    ]
    + [
        {"temperature": temperature, "top_p": top_p}
        for temperature, top_p in ((1.0, 1.0), (1.0, 0.9), (0.5, 1.0))
    ]
)
SMOKE_WAYS = [WAYS[0], WAYS[1], WAYS[-1]]
SEED = 0
BATCH = 50
LIKELIER = 1e-3
"""Nats by which a log-probability must be larger to be called so."""
EXAMPLES = 6


def draw(
    loaded: checkpoint.Checkpoint,
    sentences: list[str],
    seed: int = SEED,
    **how: float,
) -> list[str]:
    """One sampled translation of each sentence."""
    device = next(loaded.model.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    limit = loaded.model.config.max_length
    ids = [encode_source(loaded.tokenizer, s, limit) for s in sentences]
    written = [""] * len(ids)
    for places, src in sorted_batches(ids, BATCH):
        drawn = sample(loaded.model, src, generator=generator, **how)
        for place, target in zip(places, drawn, strict=True):
            written[place] = loaded.tokenizer.decode(target)
    return written


def timed(work: Callable[[], list]) -> tuple[list, float]:
    """Result of the work, and its seconds: of the processor, since others
    may use it too; by the clock on a GPU."""
    clock = time.process_time
    if torch.cuda.is_available():
        clock = time.perf_counter
    start = clock()
    return work(), clock() - start


def quality(written: list[str], dev: ParallelText) -> dict:
    """Scores of the translations, and how long they are."""
    bleu = corpus_bleu(written, dev.tgt)
    words = [len(text.split()) for text in written]
    wanted = [len(text.split()) for text in dev.tgt]
    pairs = list(zip(words, wanted, strict=True))
    return {
        "bleu": round(bleu.value, 2),
        "signature": bleu.signature,
        "length_ratio": round(sum(words) / sum(wanted), 4),
        "empty": words.count(0),
        "short": sum(2 * w <= r for w, r in pairs),
    }


def measure(
    loaded: checkpoint.Checkpoint,
    dev: ParallelText,
    way: dict,
    greedy: list[Candidate],
) -> tuple[dict, list[Candidate]]:
    """One way of decoding the development set; the best candidates too."""
    best = []
    if "beam" in way:
        size, alpha = way["beam"], way["alpha"]
        found, seconds = timed(
            lambda: candidates(
                loaded.model, loaded.tokenizer, dev.src, size, alpha, BATCH
            )
        )
        best = [beam[0] for beam in found]
        written = [one.text for one in best]
    else:
        written, seconds = timed(lambda: draw(loaded, dev.src, **way))
    row = {
        **way,
        **quality(written, dev),
        "ms_per_sentence": round(1000 * seconds / len(dev), 2),
    }
    if best and greedy:
        gains = [
            one.log_prob - other.log_prob
            for one, other in zip(best, greedy, strict=True)
        ]
        row["log_prob"] = round(
            sum(one.log_prob for one in best) / len(best), 4
        )
        row["likelier_than_greedy"] = sum(g > LIKELIER for g in gains)
        row["less_likely_than_greedy"] = sum(g < -LIKELIER for g in gains)
    return row, best


def likelier_but_short(
    best: list[Candidate], greedy: list[Candidate], dev: ParallelText
) -> list[dict]:
    """Sentences for which a wide beam found a likelier, much shorter text."""
    found = [
        {
            "src": dev.src[i],
            "tgt": dev.tgt[i],
            "greedy": two.text,
            "beam": one.text,
        }
        for i, (one, two) in enumerate(zip(best, greedy, strict=True))
        if one.log_prob > two.log_prob + LIKELIER
        and 2 * len(one.text.split()) <= len(two.text.split())
    ]
    return sorted(found, key=lambda e: len(e["src"]))[:EXAMPLES]


def compare(folder: Path, context: RunContext) -> Iterator[str]:
    """Measure each way of decoding, and write the file after each.

    Raises:
        CourseError: the run has no checkpoint.
    """
    chosen = checkpoint_of(folder)
    loaded = checkpoint.load(chosen, pick_device("auto"))
    splits = splits_for(loaded.details, context)
    path = context.folder / f"{folder.name}.json"
    rows, examples = [], {}
    stored = {
        **made_of_checkpoint("searches", chosen, context),
        "split": "dev",
        "seed": SEED,
        "credit": CREDIT,
        "rows": rows,
        "examples": examples,
        "sentences": len(splits.dev),
    }
    greedy = measure(loaded, splits.dev, WAYS[0], [])[1]
    for way in SMOKE_WAYS if context.smoke else WAYS:
        row, best = measure(loaded, splits.dev, way, greedy)
        rows.append(row)
        if way.get("alpha") == 0 and way["beam"] > 1:
            found = likelier_but_short(best, greedy, splits.dev)
            examples[str(way["beam"])] = found
        store.write_json(path, stored, indent=1)
        yield f"{folder.name}: {row}"
    penalties = chosen_penalties(rows)
    arrays = count_on_test(loaded, splits, penalties)
    store.write_arrays(path.with_suffix(".npz"), arrays)
    store.write_json(path, stored | {"chosen": penalties}, indent=1)
    yield f"{folder.name}: on the test set {penalties}"


def chosen_penalties(rows: list[dict]) -> dict[int, float]:
    """For each size of beam, the length penalty that scores best."""
    best: dict[int, dict] = {}
    for row in rows:
        if "beam" in row:
            known = best.setdefault(row["beam"], row)
            best[row["beam"]] = max(known, row, key=lambda r: r["bleu"])
    return {beam: row["alpha"] for beam, row in best.items()}


def count_on_test(
    loaded: checkpoint.Checkpoint, splits: Splits, penalties: dict[int, float]
) -> dict[str, np.ndarray]:
    """BLEU's counts of the test set's translations, for each beam."""
    text = splits.test
    new = unseen(text, splits.train)
    found = {"unseen": np.isin(np.arange(len(text)), new)}
    for beam, alpha in penalties.items():
        written = translate(
            loaded.model, loaded.tokenizer, text.src, beam, alpha, BATCH
        )
        counts = bleu_counts(written, text.tgt)
        found[f"beam-{beam}"] = counts.astype(np.uint16)
    return found


EXPERIMENT = Analysis(
    name="searches",
    chapter="13_generation",
    analyse=each_of(compare),
    inputs=("outputs/enja",),
    smoke_inputs=lambda scratch: [tiny_run(scratch, "tiny")],
)
