"""How much a random split of Soseki flatters: runs/leaks, for chapter 11.

    python tools/measure_leaks.py

A model of character n-grams (``transformer_course.ngram``) stands in for a
language model. It is judged on the second sentences of the same pairs, held
out at random, twice: having learned from all other pairs, in which most of
these sentences stand once more, and having learned from those without them.
A minute on one thread. What is there already in ``runs/leaks/results.json`` is
kept: delete it to have it anew.
"""

import json
import random
from collections.abc import Iterable

from transformer_course import runs
from transformer_course.data import aozora
from transformer_course.data.aozora.prose import DEV, TEST
from transformer_course.device import machine
from transformer_course.ngram import KneserNey

ORDER = 4
HELD_OUT = 1000
SEEDS = (0, 1)
END = "\n"


def surprise(
    learned: Iterable[str], targets: list[str], vocab_size: int
) -> float:
    """Nats per character of sentences, the end counted."""
    model = KneserNey([text + END for text in learned], ORDER, vocab_size)
    nats = sum(model.nll(text + END) for text in targets)
    return round(nats / sum(len(text + END) for text in targets), 4)


def signs_of(chapters: list[list[str]]) -> int:
    """Different characters, the end counted."""
    return len({sign for c in chapters for text in c for sign in text}) + 1


def chapters_of(works: Iterable[aozora.Work]) -> list[list[str]]:
    """The sentences of each chapter that has any."""
    return [
        chapter.sentences
        for work in works
        for chapter in work.chapters
        if chapter.lines
    ]


def at_random(chapters: list[list[str]], seed: int) -> dict[str, float]:
    """The same held-out pairs, with and without their sentences in train."""
    places = [
        (c, s)
        for c, sentences in enumerate(chapters)
        for s in range(len(sentences) - 1)
    ]
    held_out = set(random.Random(seed).sample(places, HELD_OUT))
    inside = held_out | {(c, s + 1) for c, s in held_out}
    train = {
        place
        for c, s in places
        if (c, s) not in held_out
        for place in ((c, s), (c, s + 1))
    }
    targets = [chapters[c][s + 1] for c, s in sorted(held_out)]
    signs = signs_of(chapters)

    def judged(learned: set[tuple[int, int]]) -> float:
        return surprise((chapters[c][s] for c, s in learned), targets, signs)

    return {
        "leaking": judged(train),
        "clean": judged(train - inside),
        "train_leaking": len(train),
        "train_clean": len(train - inside),
    }


def by_work(works: list[aozora.Work]) -> dict[str, float]:
    """The held-out works, as the course splits the text."""
    kept = [w for w in works if w.title not in {*DEV, *TEST}]
    learned = [s for c in chapters_of(kept) for s in c]
    signs = signs_of(chapters_of(works))
    found = {}
    for name, titles in (("dev", DEV), ("test", TEST)):
        part = chapters_of(w for w in works if w.title in titles)
        targets = [s for sentences in part for s in sentences[1:]]
        found[name] = surprise(learned, targets, signs)
    return found


def main() -> None:
    """Measure what is missing."""
    path = runs.folder("leaks") / "results.json"
    works = aozora.soseki(progress=False)
    chapters = chapters_of(works)
    results = {
        "command": "python tools/measure_leaks.py",
        "machine": machine(),
        "order": ORDER,
        "held_out": HELD_OUT,
        "at_random": [],
    }
    if path.exists():
        results = json.loads(path.read_text("utf-8"))
    for seed in SEEDS[len(results["at_random"]) :]:
        results["at_random"].append(at_random(chapters, seed))
        runs.write_json(path, results, indent=1)
        print(results["at_random"][-1], flush=True)
    if "by_work" not in results:
        results["by_work"] = by_work(works)
        runs.write_json(path, results, indent=1)
        print(results["by_work"])


if __name__ == "__main__":
    main()
