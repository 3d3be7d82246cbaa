"""How often do counts of neighbours name the character behind [MASK]?

The opponent of the pre-trainings on books. It knows the two characters on the
left of a position and the two on the right, as they stood in the works that
the models learn from. Hidden neighbours are left out of the context. Contexts
back off to shorter ones (Witten-Bell): the outer right neighbour goes first,
then the outer left, the inner right and the inner left. The positions asked
are those that ``pre-trainings`` scores.
"""

from collections.abc import Sequence

import numpy as np

from experiments.lab import Experiment, Record, RunContext
from experiments.pre_trainings import text_for
from transformer_course.batches.masked import (
    encode_works,
    joined,
    passages_of,
)
from transformer_course.data.aozora import Work
from transformer_course.data.tokenizer import PAD, Tokenizer
from transformer_course.training.presets import PRESETS
from transformer_course.training.tasks.pre_training import (
    PreTraining,
    train_tokenizer,
)

PRESET = PRESETS["aozora-bert"]
PLACES = (-1, 1, -2, 2)
"""Of the neighbours, the most telling first: the last is dropped first."""
BITS = 12
"""Of an id: there are at most 4,000 characters."""
Contexts = dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]
"""By neighbours: contexts with the character, in order, and their counts."""


def rows_of(text: list[Work], tokenizer: Tokenizer) -> np.ndarray:
    """All passages in one row, with room for the neighbours between them."""
    works = encode_works(text, tokenizer)
    passages = passages_of(works, PRESET.model.max_length - 2)
    flat: list[int] = [PAD, PAD]
    for work in passages:
        for chapter in work:
            for passage in chapter:
                flat += [*joined(passage)[0], PAD, PAD]
    return np.array(flat, dtype=np.int64)


def context(flat: np.ndarray, at: np.ndarray, places: Sequence[int]):
    """One number for the neighbours at these places of each position."""
    found = np.zeros(len(at), dtype=np.int64)
    for place in places:
        found = (found << BITS) | flat[at + place]
    return found


def counted(flat: np.ndarray, first: int) -> Contexts:
    """Counts in the training text of each character after each context.

    Args:
        flat: from :func:`rows_of`.
        first: the first id that is a character.
    """
    at = (flat >= first).nonzero()[0]
    tables = {}
    for bits in range(1 << len(PLACES)):
        places = tuple(p for i, p in enumerate(PLACES) if bits >> i & 1)
        key = (context(flat, at, places) << BITS) | flat[at]
        tables[places] = np.unique(key, return_counts=True)
    return tables


def guess(flat: np.ndarray, place: int, mask_id: int, tables: Contexts) -> int:
    """The likeliest character at a place of a row with hidden ones."""
    seen = [p for p in PLACES if flat[place + p] != mask_id]
    shares = np.zeros(1 << BITS)
    at = np.array([place])
    for size in range(len(seen) + 1):
        places = tuple(seen[:size])
        keys, counts = tables[places]
        start = int(context(flat, at, places)[0]) << BITS
        low, high = np.searchsorted(keys, [start, start + (1 << BITS)])
        if low == high:
            break  # a longer context is not there either
        found = counts[low:high]
        total, kinds = found.sum(), high - low
        shares *= kinds / (total + kinds)
        shares[keys[low:high] - start] += found / (total + kinds)
    return int(shares.argmax())


def accuracy(
    tables: Contexts, tokenizer: Tokenizer, text: list[Work]
) -> Record:
    """Right guesses at the positions that a pre-training is judged by."""
    hits = []
    batches = PreTraining().eval_batches(PRESET.model, tokenizer, text)
    for batch in batches:
        asked = batch.chosen & (batch.ids == tokenizer.mask_id)
        for row in range(len(batch.ids)):
            flat = np.pad(batch.ids[row].numpy(), 2)
            for i in asked[row].nonzero()[:, 0].tolist():
                right = int(batch.words[row, i])
                hits.append(
                    right == guess(flat, i + 2, tokenizer.mask_id, tables)
                )
    share = float(np.mean(hits))
    error = (share * (1 - share) / len(hits)) ** 0.5
    return {
        "accuracy_at_mask": round(share, 4),
        "standard_error": round(error, 4),
        "asked": len(hits),
    }


def measure(_: None, seed: int, context: RunContext) -> Record:
    """Count, then guess in held-out works."""
    train, dev, test = text_for(context)
    tokenizer = train_tokenizer(PRESET, train)
    flat = rows_of(train, tokenizer)
    tables = counted(flat, tokenizer.mask_id + 1)
    return {
        "characters": int((flat > tokenizer.mask_id).sum()),
        "dev": accuracy(tables, tokenizer, dev),
        "test": accuracy(tables, tokenizer, test),
    }


EXPERIMENT = Experiment(
    name="masked-counts",
    chapter="18_bert",
    variants={"two on each side": None},
    measure=measure,
    seeds=(0,),
)
