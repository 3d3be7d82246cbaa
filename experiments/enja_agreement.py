"""Does a head of the encoder look for the word that a verb agrees with?

From ``is`` to its subject and from ``these`` to its noun, as patterns find
them (``experiments/agreeing.py``), and from there to the first.
``experiments/results/enja-agreement/agreement.json`` has, for each of these
four, how often each head gives its largest weight to that word: on training
sentences, where a head is to be chosen, and on development and test sentences,
where it is to be judged. Beside it stands the fixed offset that does best on
the training sentences. Once more, the same of those finds alone in which that
offset is wrong (``elsewhere``): a head that does well on all finds may do no
more than the offset does. There another offset does best.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from experiments import store
from experiments.agreeing import KINDS, Finder
from experiments.enja_attention import by_words, word_starts
from experiments.enja_heads import ids_of, rounded
from experiments.lab import Record, RunContext, made_of
from experiments.translations import analysis_of_heads
from transformer_course.data.text import Splits
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.interpretation.attribution import by_kind
from transformer_course.interpretation.hooks import attention_maps

CHOSEN_ON = 3000
"""Training sentences that patterns are looked for in."""


class Find(NamedTuple):
    """Hits of all heads at one find."""

    offset: int
    """From the word that asks to the one that it agrees with."""
    hits: Tensor
    """(layer, head): whether the largest weight lies there."""
    equal: float
    """The weight of a word if all had the same."""


def find_hits(
    model, tokenizer: Tokenizer, sentences: Sequence[str], find: Finder
) -> list[Find]:
    """Find where the encoder's heads look, in these sentences."""
    found = []
    for sentence in sentences:
        words = sentence.split()
        pieces = tokenizer.pieces(sentence)
        if not (here := find(words)) or len(words) + 1 != len(
            word_starts(pieces)
        ):
            continue  # nothing found, or a word that is no piece by itself
        src, nothing_read, _ = ids_of(tokenizer, (sentence, ""))
        maps = attention_maps(model, src, nothing_read)
        weights = by_words(by_kind(maps)["encoder"][0], pieces, pieces)
        best = torch.from_numpy(weights.argmax(axis=-1))  # eos included
        for asks, answers in here:
            hits = best[..., asks] == answers
            found.append(
                Find(answers - asks, hits, 1 / (len(words) + 1)),
            )
    return found


def summed(found: Sequence[Find], offset: int) -> Record:
    """Shares of right words, by head and by one offset."""
    count = len(found)
    hits = torch.stack([find.hits for find in found]).double().mean(dim=0)
    by_offset = sum(find.offset == offset for find in found)
    return {
        "found": count,
        "by_offset": round(by_offset / count, 4),
        "equal": round(sum(find.equal for find in found) / count, 4),
        "heads": rounded(hits),
    }


def compare_with_offset(
    chosen_on: Sequence[Find], held_out: Sequence[Find]
) -> Record:
    """The two counts, and the same where the offset fails.

    ``elsewhere`` is left out where the offset never fails.
    """
    offset = most_common(chosen_on)
    found: Record = {
        "offset": offset,
        "chosen_on": summed(chosen_on, offset),
        "held_out": summed(held_out, offset),
    }
    left, held_out_left = (
        [find for find in part if find.offset != offset]
        for part in (chosen_on, held_out)
    )
    if left and held_out_left:
        found["elsewhere"] = {
            "offset": (second := most_common(left)),
            "chosen_on": summed(left, second),
            "held_out": summed(held_out_left, second),
        }
    return found


def most_common(found: Sequence[Find]) -> int:
    """The offset that names the right word most often."""
    return Counter(find.offset for find in found).most_common(1)[0][0]


def analyse(
    model, tokenizer: Tokenizer, splits: Splits, context: RunContext
) -> Iterator[str]:
    """Ask one checkpoint, and store what its encoder's heads do."""
    train = list(splits.train.src)[:CHOSEN_ON]
    held_out = [*splits.dev.src, *splits.test.src]
    if context.smoke:  # which has too few sentences for any to agree
        train = held_out = ["these women are kind ."]
    stored: Record = {
        **made_of("enja-agreement", context),
        "sentences": {"chosen_on": len(train), "held_out": len(held_out)},
        "kinds": {},
    }
    for name, find in KINDS.items():
        stored["kinds"][name] = compare_with_offset(
            find_hits(model, tokenizer, train, find),
            find_hits(model, tokenizer, held_out, find),
        )
        yield f"{name}: {stored['kinds'][name]['held_out']}"
    store.write_json(context.folder / "agreement.json", stored, indent=1)


EXPERIMENT = analysis_of_heads("enja-agreement", analyse)
