"""What does a small encoder learn, by which words it is asked for?

Short sentences of the grammar corpus, and three ways to learn from a row:
each word from those before it (``left``), each word from the whole row
(``seen``), hidden words from the whole row (``hidden``). Judged by one missing
word at a time in held-out sentences; the last way also fills a few gaps. Their
opponent counts, in the same sentences, what stood between two neighbours.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.grammar import grammar_corpus
from transformer_course.models.bert import BertPreTraining
from transformer_course.models.bert_config import BertConfig
from transformer_course.models.masks import causal_mask, padding_mask

SIGNS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
CLS, SEP, MASK = 1, 2, 4
WORDS = 6
"""Words of the longest sentence."""
WAYS = ("left", "seen", "hidden")
STEPS, BATCH, RATE, WARMUP = 600, 128, 3e-3, 50
GAPS = (
    "[MASK] friend ate these apples .",
    "[MASK] friends ate these apples .",
    "[MASK] is kind .",
    "[MASK] are kind .",
)


class Sentences:
    """Rows of ids to learn from, held-out ones, and names of the ids."""

    def __init__(self) -> None:
        splits = grammar_corpus()
        train, test = (
            [line.split() for line in part.src if len(line.split()) <= WORDS]
            for part in (splits.train, splits.test)
        )
        self.names = [*SIGNS, *sorted({word for row in train for word in row})]
        self.number = {name: i for i, name in enumerate(self.names)}
        self.train, self.test = self.rows(train), self.rows(test)

    def rows(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """[CLS], the words and [SEP], padded."""
        return pad_rows(
            [[CLS, *(self.number[w] for w in s), SEP] for s in sentences]
        )


class Guesser(nn.Module):
    """Two layers of an encoder under the word head; causal for ``left``."""

    def __init__(self, words: int, causal: bool):
        super().__init__()
        config = BertConfig(
            vocab_size=words,
            d_model=64,
            n_heads=2,
            d_ff=128,
            n_layers=2,
            max_length=16,
            dropout=0.0,
        )
        self.parts, self.causal = BertPreTraining(config), causal

    def forward(self, ids: Tensor, asked: Tensor) -> Tensor:
        """Logits over words at the positions that are asked."""
        bert = self.parts.bert
        mask = padding_mask(ids)
        if self.causal:
            mask = mask & causal_mask(ids.size(1))
        x = bert.encoder(bert.embeddings(ids), mask)[asked]
        return self.parts.masked_words(x, bert.embeddings.words.weight)


def ask(
    way: str, words: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """What is read, the positions that are asked, and the right words."""
    if way == "left":  # each position is asked for the next word
        return words[:, :-1], words[:, 1:] > MASK, words[:, 1:]
    if way == "seen":
        return words, words > MASK, words
    chosen = torch.rand(words.shape, generator=generator) < 0.15
    chosen &= words > MASK
    return words.masked_fill(chosen, MASK), chosen, words


def learn(
    way: str, data: Sentences, steps: int = STEPS, seed: int = 0
) -> tuple[Guesser, float]:
    """A trained network, and its last loss."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Guesser(len(data.names), causal=way == "left")
    optimizer = torch.optim.Adam(
        model.parameters(), betas=(0.9, 0.98), fused=True
    )
    for step in range(steps):
        for group in optimizer.param_groups:  # a warm-up, then a decline
            share = min(1, (step + 1) / WARMUP) * (1 - step / steps)
            group["lr"] = RATE * share
        some = torch.randint(len(data.train), (BATCH,), generator=generator)
        ids, asked, answers = ask(way, data.train[some], generator)
        loss = F.cross_entropy(model(ids, asked), answers[asked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


class Neighbours:
    """Counts of what stands between two neighbours.

    Both neighbours back off to the left one, and that to none (Witten and
    Bell 1991, method C).

    Args:
        rows: what to learn from; nothing is counted where a neighbour or the
            middle is ``unknown``.
        unknown: a hidden word.
    """

    def __init__(
        self, rows: Iterable[Sequence[Hashable]], unknown: Hashable = None
    ):
        self._counts: dict[tuple, Counter] = defaultdict(Counter)
        for row in rows:
            for left, word, right in zip(row, row[1:], row[2:], strict=False):
                if unknown not in (left, word, right):
                    for seen in ((), (left,), (left, right)):
                        self._counts[seen][word] += 1

    def guess(self, left: Hashable, right: Hashable) -> Hashable:
        """The likeliest word between two others."""
        shares: dict[Hashable, float] = defaultdict(float)
        for seen in ((), (left,), (left, right)):
            found = self._counts.get(seen, Counter())
            if total := found.total() + len(found):
                for word in {*shares, *found}:
                    rest = len(found) * shares[word]
                    shares[word] = (found[word] + rest) / total
        return max(shares, key=lambda word: shares[word])


def counts_accuracy(data: Sentences) -> float:
    """Right words of the same gaps, by counts of neighbours."""
    counts = Neighbours(data.train.tolist())
    hits = [
        counts.guess(left, right) == word
        for row in data.test.tolist()
        for left, word, right in zip(row, row[1:], row[2:], strict=False)
        if min(word, right) > MASK
    ]
    return sum(hits) / len(hits)


@torch.no_grad()
def gap_accuracy(model: Guesser, rows: Tensor) -> float:
    """Right words, with one word at a time taken out of each row.

    The sign at the end of a sentence is never asked for. A causal model reads
    what stands before the gap, the others the row with [MASK] in the gap.
    """
    right = count = 0
    for position in range(1, rows.size(1) - 1):
        words = rows[rows[:, position + 1] > MASK]
        hidden = words.clone()
        hidden[:, position] = MASK
        asked = torch.zeros_like(words, dtype=torch.bool)
        asked[:, position - model.causal] = True
        read = words if model.causal else hidden
        guess = model(read, asked).argmax(dim=-1)
        right += (guess == words[:, position]).sum().item()
        count += len(words)
    return right / count


@torch.no_grad()
def fill(model: Guesser, data: Sentences, text: str) -> dict[str, float]:
    """The likeliest four words in a gap."""
    ids = data.rows([text.split()])
    best = model(ids, ids == MASK)[0].softmax(dim=-1).topk(4)
    return {
        data.names[i]: round(share.item(), 2)
        for share, i in zip(*best, strict=True)
    }


def measure(way: str, seed: int, context: RunContext) -> Record:
    """Train one way, and take words away."""
    data = Sentences()
    if way == "counts":
        return {"right": round(counts_accuracy(data), 4)}
    model, loss = learn(way, data, context.limit(STEPS), seed)
    found: Record = {
        "loss": round(loss, 2),
        "right": round(gap_accuracy(model, data.test), 4),
    }
    if way == "hidden":
        found["filled"] = {text: fill(model, data, text) for text in GAPS}
    return found


EXPERIMENT = Experiment(
    name="one-side",
    chapter="18_bert",
    variants={way: way for way in (*WAYS, "counts")},
    measure=measure,
    seeds_of={"counts": (0,)},
    settings=lambda: {"steps": STEPS, "batch": BATCH, "rate": RATE},
)
