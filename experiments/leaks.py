"""How much does a random split of Soseki flatter?

A model of character n-grams (``models.ngram``) stands in for a
language model. It is judged on the second sentences of the same pairs, held
out at random, twice: having learned from all other pairs, in which most of
these sentences stand once more, and having learned from those without them.
``by_work`` holds out whole works, as the course does. A minute.
"""

import random
from collections.abc import Iterable

from experiments.lab import Experiment, Record, RunContext
from transformer_course.data import aozora
from transformer_course.data.aozora.prose import DEV, TEST
from transformer_course.data.grammar import grammar_corpus
from transformer_course.models.ngram import KneserNey

ORDER = 4
HELD_OUT = 1000
END = "\n"


def surprise(
    learned: Iterable[str], targets: list[str], vocab_size: int
) -> float:
    """Nats per character of sentences, the end counted."""
    texts = [text + END for text in learned]
    model = KneserNey(texts, ORDER, vocab_size, discounts=1)
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


def split_at_random(
    chapters: list[list[str]], seed: int, size: int = HELD_OUT
) -> tuple[list[str], list[str], list[str]]:
    """Held-out second sentences; what leaks them to learn from, and what not.

    The leaking text has all sentences of all other pairs.
    """
    places = [
        (c, s)
        for c, sentences in enumerate(chapters)
        for s in range(len(sentences) - 1)
    ]
    held_out = set(random.Random(seed).sample(places, size))
    inside = held_out | {(c, s + 1) for c, s in held_out}
    train = {
        place
        for c, s in places
        if (c, s) not in held_out
        for place in ((c, s), (c, s + 1))
    }
    targets = [chapters[c][s + 1] for c, s in sorted(held_out)]
    leaking, clean = (
        [chapters[c][s] for c, s in part] for part in (train, train - inside)
    )
    return targets, leaking, clean


def at_random(
    works: list[aozora.Work], seed: int, context: RunContext
) -> Record:
    """The same held-out pairs, with and without their sentences in train."""
    chapters = chapters_of(works)
    size = context.limit(HELD_OUT)
    targets, leaking, clean = split_at_random(chapters, seed, size)
    signs = signs_of(chapters)
    return {
        "leaking": surprise(leaking, targets, signs),
        "clean": surprise(clean, targets, signs),
    }


def by_work(
    works: list[aozora.Work], seed: int, context: RunContext
) -> Record:
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


def works_for(context: RunContext) -> list[aozora.Work]:
    """Soseki's; in a smoke test a few sentences of the grammar."""
    if not context.smoke:
        return aozora.soseki(progress=False)
    lines = grammar_corpus(20, 1, 1).train.tgt
    text = (aozora.Chapter("", tuple(f"{line}。" for line in lines)),)
    return [aozora.Work(t, "", text) for t in (*DEV, *TEST, "another")]


def measure(kind, seed: int, context: RunContext) -> Record:
    """One way to hold sentences out."""
    return kind(works_for(context), seed, context)


EXPERIMENT = Experiment(
    name="leaks",
    chapter="11_batches",
    variants={"at_random": at_random, "by_work": by_work},
    measure=measure,
    seeds=(0, 1),
    seeds_of={"by_work": (0,)},
    settings=lambda: {"order": ORDER, "held_out": HELD_OUT},
)
