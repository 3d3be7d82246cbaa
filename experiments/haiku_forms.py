"""How far can the judgement of 5-7-5 be trusted?

The readings of janome miss many a haiku and let pass some lines that are none.
So lines are judged whose form is known: poets' haiku are the ceiling; the same
with a word less, and prose, are nearly all none.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.aozora.morae import form, tokens
from transformer_course.data.corpora import load_corpus

CREDIT = "Haiku of the poets: from Aozora Bunko; in the public domain."
SEED = 0
CLAUSES = range(9, 19)
"""Characters of the pieces of prose that are compared with haiku."""
POND = "古池や蛙飛びこむ水の音"


def forms(lines: Sequence[str]) -> dict[str, float]:
    """Shares of the lines that are 5-7-5, are not, and nobody can tell."""
    counts = Counter(map(form, lines))
    kinds = ("5-7-5", "other", "unknown")
    return {kind: round(counts[kind] / len(lines), 4) for kind in kinds}


def without_a_word(line: str) -> str:
    """A line that has lost one of its words, drawn by a hash of it."""
    words = [token.surface for token in tokens(line)]
    digest = hashlib.sha256(f"{SEED} {line}".encode()).digest()
    lost = int.from_bytes(digest[:8], "big") % len(words)
    return "".join(words[:lost] + words[lost + 1 :])


def clauses(sentences: Iterable[str]) -> list[str]:
    """Pieces of prose as long as a haiku, between its signs."""
    cut = (re.split(r"[^\w]", sentence) for sentence in sentences)
    return [c for piece in cut for c in piece if len(c) in CLAUSES]


def poems(part: str) -> list[str]:
    """The haiku of a part of the corpus."""
    return getattr(load_corpus("haiku", "ja", "ja"), part).tgt


LINES: dict[str, Callable[[], list[str]]] = {
    "train": lambda: poems("train"),
    "dev": lambda: poems("dev"),
    "test": lambda: poems("test"),
    "train_without_a_word": lambda: [
        without_a_word(poem) for poem in poems("train")
    ],
    "prose": lambda: clauses(load_corpus("soseki", "ja", "ja").dev.tgt),
}


def measure(
    lines: Callable[[], list[str]], seed: int, context: RunContext
) -> Record:
    """Shares of the forms of a group of lines."""
    found = [POND] if context.smoke else lines()
    return {"lines": len(found)} | forms(found)


EXPERIMENT = Experiment(
    name="haiku-forms",
    chapter="16_soseki",
    variants=LINES,
    measure=measure,
    seeds=(SEED,),
    settings=lambda: {"credit": CREDIT},
)
