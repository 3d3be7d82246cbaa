"""Pairs that are learned beside a corpus: translations that a model wrote.

Sennrich et al. (2016, *Improving Neural Machine Translation Models with
Monolingual Data*) translate text of the target language back; Nguyen et al.
(2020, *Data Diversification*) translate both sides of the training pairs.
"""

import dataclasses

from transformer_course.console import tell
from transformer_course.data import own_text
from transformer_course.data.text import ParallelText, Splits


def added(
    splits: Splits,
    files: tuple[str, str],
    sha256: tuple[str, str] | None = None,
) -> Splits:
    """The same splits with more pairs to learn from; how many is told.

    Nothing that is judged may come in by this way: a pair is left out if its
    source or its target is a sentence of the development set or the test set,
    on either side. So is a pair that stands in the training part already.

    Args:
        splits: of a corpus.
        files: line i of the one translates line i of the other, in the form
            and the direction of ``splits``.
        sha256: what they must have; None where nothing is known of them.

    Raises:
        CorpusError: a file cannot be read, is not UTF-8, is empty or not what
            was learned from; the two are the same or have different numbers
            of lines.
    """
    text = own_text.read(files, sha256, "more_sha256")
    held_out = {
        sentence
        for part in (splits.dev, splits.test)
        for sentence in (*part.src, *part.tgt)
    }
    known, kept, judged = set(splits.train), [], 0
    for pair in text:
        if not held_out.isdisjoint(pair):
            judged += 1
        elif pair not in known:
            known.add(pair)
            kept.append(pair)
    twice = len(text) - judged - len(kept)
    tell(
        f"{' and '.join(files)}: {len(kept):,} more pairs to learn from; "
        f"{judged:,} left out, since dev or test has their sentences, and "
        f"{twice:,} that were there already"
    )
    train = ParallelText(
        [*splits.train.src, *(src for src, _ in kept)],
        [*splits.train.tgt, *(tgt for _, tgt in kept)],
        splits.train.words,
    )
    return dataclasses.replace(splits, train=train)
