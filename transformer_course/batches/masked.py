"""BERT's training data: texts with masked words, pairs of passages.

A document is a work. A passage is as many whole sentences of one chapter as
fit. A row is ``[CLS] A [SEP]``, or ``[CLS] A [SEP] B [SEP]`` where B follows A
or does not. Masked words are drawn anew in each epoch ("dynamic
masking", Liu et al. 2019, section 4.1). ``[CLS]`` is our bos, ``[SEP]`` our
eos. Chapter 18.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_course.batches.pairs import pad_rows
from transformer_course.data.aozora import Work
from transformer_course.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from transformer_course.device import moved
from transformer_course.errors import ConfigError

MASK_RATE = 0.15
"""Share of the words to predict (Devlin et al. 2019, section 3.1)."""
MASKED, RANDOM = 0.8, 0.1
"""Shares of these that become [MASK] or a random word; the others stay."""
SPECIAL = (PAD, BOS, EOS, UNK)
"""Ids that are never predicted."""
Kind = Literal[0, 1, 2]
"""Kind of a pair: B follows A; is from another work; is from elsewhere in the
same work."""
FOLLOWS, OTHER_WORK, SAME_WORK = 0, 1, 2
Ids = Int[Tensor, "batch length"]
Sentence = list[int]
Chapter = list[Sentence]


class MaskedBatch(NamedTuple):
    """Rows with masked words, and the originals."""

    ids: Ids
    """With [MASK] and other words in it, padded."""
    segments: Ids
    """0 for A and its signs, 1 for B and its [SEP]."""
    chosen: Bool[Tensor, "batch length"]
    """The tokens to predict."""
    words: Ids
    """The original rows."""
    kinds: Int[Tensor, " batch"] | None
    """Kind of each pair; None without pairs."""

    to = moved


def mask_words(
    words: Ids,
    mask_id: int,
    vocab_size: int,
    generator: torch.Generator,
    share: float = MASK_RATE,
) -> tuple[Ids, Bool[Tensor, "batch length"]]:
    """Choose words to predict, and mask most of them.

    Each ordinary token is chosen with probability ``share``. Of the chosen,
    80 % become [MASK], 10 % a word drawn from the vocabulary, and 10 % stay
    as they are, so that the model cannot know which tokens it will be asked
    for (Devlin et al. 2019, section 3.1, task 1, and appendix A.1).

    Args:
        words: ids, padded; special ones are never chosen.
        mask_id: id of [MASK]; what comes after it are ordinary pieces.
        vocab_size: number of pieces.
        generator: decides; the same state gives the same draw.
        share: of the words to choose.

    Returns:
        The rows with masked words, and a mask of the chosen tokens.
    """
    special = torch.isin(words, torch.tensor([*SPECIAL, mask_id]))
    chosen = torch.rand(words.shape, generator=generator) < share
    chosen &= ~special
    fate = torch.rand(words.shape, generator=generator)
    drawn = torch.randint(
        mask_id + 1, vocab_size, words.shape, generator=generator
    )
    masked = torch.where(chosen & (fate < MASKED), mask_id, words)
    swapped = chosen & (fate >= MASKED) & (fate < MASKED + RANDOM)
    return torch.where(swapped, drawn, masked), chosen


def joined(
    first: Sentence, second: Sentence | None = None
) -> tuple[list[int], list[int]]:
    """``[CLS] A [SEP]`` or ``[CLS] A [SEP] B [SEP]``, and the segments.

    Args:
        first: ids of A.
        second: ids of B, if there is one.
    """
    ids, segments = [BOS, *first, EOS], [0] * (len(first) + 2)
    if second is None:
        return ids, segments
    return [*ids, *second, EOS], segments + [1] * (len(second) + 1)


def encode_works(
    works: Sequence[Work], tokenizer: Tokenizer
) -> list[list[Chapter]]:
    """The ids of works: of each its chapters, of each its sentences."""
    return [
        [
            [tokenizer.encode(s) for s in chapter.sentences]
            for chapter in work.chapters
            if chapter.lines
        ]
        for work in works
    ]


def passages_of(
    works: list[list[Chapter]], room: int, skip: int = 0
) -> list[list[list[Sentence]]]:
    """Group sentences into passages of at most ``room`` ids.

    A longer sentence is truncated. No passage crosses chapters.

    Args:
        works: from :func:`encode_works`.
        room: maximum number of ids of a passage.
        skip: sentences at each chapter's start that form a passage of
            their own, which shifts all others.

    Returns:
        For each work, for each chapter, the ids of its passages.
    """
    return [
        [_grouped(chapter, room, skip) for chapter in work] for work in works
    ]


def _grouped(chapter: Chapter, room: int, skip: int) -> list[Sentence]:
    """The passages of one chapter."""
    start = list(chain.from_iterable(chapter[:skip]))[:room]
    groups = [start] if start else []
    current: Sentence = []
    for sentence in chapter[skip:]:
        if current and len(current) + len(sentence) > room:
            groups.append(current)
            current = []
        current = current + sentence[: room - len(current)]
    return [*groups, current] if current else groups


def draw_pairs(
    passages: list[list[list[Sentence]]], draw: random.Random
) -> list[tuple[Sentence, Sentence, Kind]]:
    """Pair each passage with the next one, or with another.

    Half of the B follow their A. A quarter comes from another work, as in the
    paper; a quarter from elsewhere in the same work, so that the topic alone
    does not decide. Where a work has nothing else, B is of another one.

    Args:
        passages: from :func:`passages_of`.
        draw: the random numbers.
    """
    flat = [list(chain.from_iterable(work)) for work in passages]
    pairs: list[tuple[Sentence, Sentence, Kind]] = []
    for number, work in enumerate(passages):
        for chapter in work:
            for a, b in pairwise(chapter):
                if draw.random() < 0.5:
                    pairs.append((a, b, FOLLOWS))
                    continue
                elsewhere = [p for p in flat[number] if p not in (a, b)]
                if draw.random() < 0.5 and elsewhere:
                    pairs.append((a, draw.choice(elsewhere), SAME_WORK))
                    continue
                others = [i for i in range(len(flat)) if i != number]
                other = flat[draw.choice(others)]
                pairs.append((a, draw.choice(other), OTHER_WORK))
    return pairs


class MaskedBatches:
    """Shuffled batches of texts with masked words, drawn anew each epoch.

    Args:
        works: the texts, from :func:`encode_works`; at least two for pairs.
        tokenizer: knows [MASK].
        max_length: maximum number of ids of a row.
        token_budget: maximum of rows times ``max_length``.
        seed: of all random numbers.
        pairs: A and B in each row, and whether B follows; else one passage.

    Raises:
        ConfigError: no room for the signs and a word, or for a row.
    """

    def __init__(
        self,
        works: list[list[Chapter]],
        tokenizer: Tokenizer,
        max_length: int,
        token_budget: int,
        seed: int,
        pairs: bool,
    ):
        self.room = (max_length - 3) // 2 if pairs else max_length - 2
        if self.room < 1 or token_budget < max_length:
            raise ConfigError(
                f"max_length is {max_length} and token_budget {token_budget}: "
                "a row needs at least 5 ids, and a batch a row."
            )
        self.works, self.pairs, self.seed = works, pairs, seed
        self.mask_id = tokenizer.mask_id
        self.vocab_size = tokenizer.vocab_size
        self.rows = token_budget // max_length
        self._steps = -(-len(self._rows(0)) // self.rows)

    def __len__(self) -> int:
        """Batches of the first epoch; others have one or two more or less."""
        return self._steps

    def _rows(
        self, number: int
    ) -> list[tuple[Sentence, Sentence | None, Kind]]:
        """The rows of an epoch, in the order of the text."""
        passages = passages_of(self.works, self.room, number % 4)
        if self.pairs:
            draw = random.Random(self.seed * 1_000_003 + number)
            return draw_pairs(passages, draw)
        flat = (p for work in passages for chapter in work for p in chapter)
        return [(passage, None, FOLLOWS) for passage in flat]

    def epoch(self, number: int) -> Iterator[MaskedBatch]:
        """The batches of one epoch, always the same for one number."""
        rows = self._rows(number)
        generator = torch.Generator().manual_seed(
            self.seed * 1_000_003 + number
        )
        order = torch.randperm(len(rows), generator=generator)
        for places in order.split(self.rows):
            yield self._batch([rows[i] for i in places.tolist()], generator)

    def in_order(self) -> list[MaskedBatch]:
        """Evaluation batches: the first epoch's, in the order of the text."""
        rows, size = self._rows(0), self.rows
        generator = torch.Generator().manual_seed(self.seed)
        starts = range(0, len(rows), size)
        return [self._batch(rows[i : i + size], generator) for i in starts]

    def _batch(
        self,
        pairs: list[tuple[Sentence, Sentence | None, Kind]],
        generator: torch.Generator,
    ) -> MaskedBatch:
        rows = [joined(first, second) for first, second, _ in pairs]
        words = pad_rows([ids for ids, _ in rows])
        ids, chosen = mask_words(
            words, self.mask_id, self.vocab_size, generator
        )
        segments = pad_rows([segments for _, segments in rows])
        kinds = torch.tensor([kind for _, _, kind in pairs])
        return MaskedBatch(
            ids, segments, chosen, words, kinds if self.pairs else None
        )
