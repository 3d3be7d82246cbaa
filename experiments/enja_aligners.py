"""Does another aligner find the translator's heads as good, or as bad?

IBM model 2 is one judge of alignments, and has faults of its own; eflomal
(Östling and Tiedemann 2016), which also knows how many words a word makes,
is another. For both, ``experiments/results/enja-aligners/aligners.json`` has

- on the built-in grammar, how far they are from gold: the error rate, the
  share of links that are right, and of gold links that are missed;
- on the test sentences of real text, how often each head looks at the linked
  word, as in ``enja-heads``; and how many links both aligners have.

Of all aligners the links count on which both directions agree; on real text
those between final full stops count for neither. eflomal is
optional (``requirements-eflomal.txt``). It draws at random and
takes no seed, so another time it finds a few other links.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from experiments import store
from experiments.enja_heads import alignments
from experiments.lab import Record, RunContext, made_of
from experiments.translations import analysis_of_heads
from transformer_course.data.grammar import AlignedPair, grammar_splits
from transformer_course.data.text import ParallelText, Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import CourseError
from transformer_course.evaluation.alignment import (
    Links,
    Pair,
    align_both_ways,
    alignment_error_rate,
)

GRAMMAR = {"train": 3000, "dev": 0, "test": 200}
Aligner = Callable[[Sequence[Pair]], list[Links]]


def eflomal_both_ways(pairs: Sequence[Pair]) -> list[Links]:
    """The links on which both directions of eflomal's model 3 agree.

    Raises:
        CourseError: eflomal is not installed.
    """
    if importlib.util.find_spec("eflomal") is None:
        raise CourseError(
            "the aligner eflomal is not installed, and enja-aligners "
            "compares with it: pip install -c constraints.txt -r "
            "requirements-eflomal.txt."
        )
    import eflomal  # optional: tells nothing where it is missing

    with tempfile.TemporaryDirectory() as scratch:
        there, back = (Path(scratch) / name for name in ("there", "back"))
        sides = (
            [" ".join(words) for words in side]
            for side in zip(*pairs, strict=True)
        )
        eflomal.Aligner().align(
            *sides,
            links_filename_fwd=str(there),
            links_filename_rev=str(back),
        )
        return [
            one & other
            for one, other in zip(links_of(there), links_of(back), strict=True)
        ]


def links_of(file: Path) -> list[Links]:
    """Links as aligners write them: ``0-0 2-1``, a line a sentence."""
    return [
        {tuple(map(int, link.split("-"))) for link in line.split()}
        for line in file.read_text("utf-8").splitlines()
    ]


ALIGNERS: dict[str, Aligner] = {
    "IBM model 2": align_both_ways,
    "eflomal": eflomal_both_ways,
}


def words_of(texts: Sequence[ParallelText]) -> list[Pair]:
    """Sentence pairs as words."""
    return [(s.split(), t.split()) for text in texts for s, t in text]


def against_gold(
    aligner: Aligner,
    train: Sequence[AlignedPair],
    test: Sequence[AlignedPair],
) -> Record:
    """Errors of an aligner against the grammar's gold links."""
    words = [(p.src.split(), p.tgt.split()) for p in [*train, *test]]
    found = aligner(words)[-len(test) :]
    gold = [set(pair.alignment) for pair in test]
    return {
        "links": sum(map(len, found)),
        "right": round(shared(found, gold), 4),
        "missed": round(1 - shared(gold, found), 4),
        "error_rate": round(alignment_error_rate(found, gold), 4),
    }


def shared(found: Sequence[Links], others: Sequence[Links]) -> float:
    """The share of found links that the others have, too."""
    both = sum(len(a & b) for a, b in zip(found, others, strict=True))
    return both / max(sum(map(len, found)), 1)


def without_stops(links: Sequence[Links], text: ParallelText) -> list[Links]:
    """The links but those between the words that end both sentences.

    These are full stops nearly always; one judge links them and the other
    leaves them to "no word", and a rule of place finds them all.
    """
    return [
        found - {(len(source.split()) - 1, len(target.split()) - 1)}
        for found, (source, target) in zip(links, text, strict=True)
    ]


def analyse(
    model, tokenizer: Tokenizer, splits: Splits, context: RunContext
) -> Iterator[str]:
    """Ask one checkpoint, and store what either aligner says of its heads."""
    words = words_of([splits.train, splits.test])
    train, _, test = grammar_splits(**GRAMMAR)
    used = dict(ALIGNERS)
    if context.smoke:  # must do without what is optional
        del used["eflomal"]
        train = train[:50]
    stored: Record = {
        **made_of("enja-aligners", context),
        "split": "test",
        "aligners": {},
    }
    links: dict[str, list[Links]] = {}
    for name, aligner in used.items():
        found = aligner(words)[-len(splits.test) :]
        links[name] = without_stops(found, splits.test)
        stored["aligners"][name] = {
            "grammar": against_gold(aligner, train, test),
            "heads": alignments(model, tokenizer, splits.test, links[name]),
        }
        yield f"{name}: {stored['aligners'][name]}"
    stored["shared"] = {
        one: round(shared(links[one], links[other]), 4)
        for one in links
        for other in links
        if one != other
    }
    store.write_json(context.folder / "aligners.json", stored, indent=1)


EXPERIMENT = analysis_of_heads("enja-aligners", analyse)
