"""Additional training pairs beside a corpus: translations by a model.

Sennrich et al. (2016, *Improving Neural Machine Translation Models with
Monolingual Data*) translate text of the target language back; Nguyen et al.
(2020, *Data Diversification*) translate both sides of the training pairs.
"""

import dataclasses

from transformer_course.console import log
from transformer_course.data import own_text
from transformer_course.data.text import ParallelText, Splits


def added(
    splits: Splits,
    files: tuple[str, ...],
    sha256: tuple[str, ...] | None = None,
) -> Splits:
    """Add pairs to the training part, and log how many.

    A pair is left out if its source or its target is a sentence of the
    development set or the test set, on either side, or if the training part
    has it already.

    Args:
        splits: of a corpus.
        files: line i of the one translates line i of the other, in the form
            and the direction of ``splits``.
        sha256: expected digests; None accepts any content.

    Raises:
        CorpusError: as :func:`~.own_text.read`.
    """
    text = own_text.read(files, sha256, "more_sha256")
    held_out = {
        sentence
        for part in (splits.dev, splits.test)
        for sentence in (*part.src, *part.tgt)
    }
    fresh = [pair for pair in text if held_out.isdisjoint(pair)]
    known = dict.fromkeys(splits.train)
    pairs = list(known | dict.fromkeys(fresh))[len(known) :]
    log(
        f"{' and '.join(files)}: {len(pairs):,} more pairs to learn from; "
        f"{len(text) - len(fresh):,} left out, since dev or test has their "
        f"sentences, and {len(fresh) - len(pairs):,} that were there already"
    )
    train = ParallelText(
        [*splits.train.src, *(src for src, _ in pairs)],
        [*splits.train.tgt, *(tgt for _, tgt in pairs)],
        splits.train.tokenize,
    )
    return dataclasses.replace(splits, train=train)
