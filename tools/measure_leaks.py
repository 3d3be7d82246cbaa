"""How much a random split of Soseki flatters: runs/leaks, for chapter 11.

    python tools/measure_leaks.py

A model of character n-grams (Witten and Bell's interpolation) stands in for a
language model. It is judged on the second sentences of the same pairs, held
out at random, twice: having learned from all other pairs, in which most of
these sentences stand once more, and having learned from those without them.
A minute on one thread. What is there already in ``runs/leaks/results.json`` is
kept: delete it to have it anew.
"""

import json
import math
import random
from collections import Counter
from collections.abc import Iterable

from transformer_course import runs
from transformer_course.data import aozora
from transformer_course.data.soseki import DEV, TEST

ORDER = 4
HELD_OUT = 1000
SEEDS = (0, 1)
END = "\n"


class NGrams:
    """p(next character | the ORDER - 1 before it), in a sentence.

    Witten and Bell: a context that was followed by T kinds of characters in
    N places trusts itself with N / (N + T), and the shorter context for the
    rest.
    """

    def __init__(self, sentences: Iterable[str]):
        self.seen = Counter(
            text[start : i + 1]
            for text in (sentence + END for sentence in sentences)
            for i in range(len(text))
            for start in range(max(0, i - ORDER + 1), i + 1)
        )
        self.places, self.kinds = Counter(), Counter()
        for gram, number in self.seen.items():
            self.places[gram[:-1]] += number
            self.kinds[gram[:-1]] += 1

    def probability(self, sign: str, context: str) -> float:
        """Of one character; one that was never seen has its share, too."""
        p = 1 / (self.kinds[""] + 1)
        for start in range(len(context), -1, -1):
            before = context[start:]
            if before not in self.kinds:
                break
            kinds, places = self.kinds[before], self.places[before]
            p = (self.seen[before + sign] + kinds * p) / (places + kinds)
        return p

    def nll(self, sentences: Iterable[str]) -> float:
        """Nats per character, the end counted."""
        total, characters = 0.0, 0
        for sentence in sentences:
            text = sentence + END
            for i, sign in enumerate(text):
                context = text[max(0, i - ORDER + 1) : i]
                total -= math.log(self.probability(sign, context))
            characters += len(text)
        return total / characters


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
    leaking = NGrams(chapters[c][s] for c, s in train)
    leaking_nll = leaking.nll(targets)
    del leaking
    clean = NGrams(chapters[c][s] for c, s in train - inside)
    return {
        "leaking": round(leaking_nll, 4),
        "clean": round(clean.nll(targets), 4),
        "train_leaking": len(train),
        "train_clean": len(train - inside),
    }


def by_work(works: list[aozora.Work]) -> dict[str, float]:
    """The held-out works, as the course splits the text."""
    kept = [w for w in works if w.title not in {*DEV, *TEST}]
    model = NGrams(s for c in chapters_of(kept) for s in c)
    found = {}
    for name, titles in (("dev", DEV), ("test", TEST)):
        part = chapters_of(w for w in works if w.title in titles)
        targets = [s for sentences in part for s in sentences[1:]]
        found[name] = round(model.nll(targets), 4)
    return found


def main() -> None:
    """Measure what is missing."""
    path = runs.folder("leaks") / "results.json"
    works = aozora.soseki(progress=False)
    chapters = chapters_of(works)
    results = {
        "command": "python tools/measure_leaks.py",
        "machine": runs.machine(),
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
