"""How long a text fits into a recurrent network's state?

The network reads a row of random symbols and writes it down again. All of the
row that it can use is in what the encoder hands over, so the accuracy at each
length says how much that holds. With attention it can look back.
"""

import dataclasses
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from transformer_course.data.tokenizer import BOS, EOS, UNK
from transformer_course.decoding.generate import greedy_search
from transformer_course.models.config import RecurrentConfig
from transformer_course.models.recurrent import RecurrentTranslator

STEPS = 1200
ROWS = 64
"""Rows in a batch; all rows of a batch have one length."""
SYMBOLS = 16
LONGEST = 16
"""Rows in training have 1 to so many symbols."""
LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32)
"""Lengths that are tested, some longer than any in training."""
TESTED = 100
"""Rows tested at each length."""
INSPECTED_AT = (1 / 4, 1 / 2, 1)
"""Parts of the training after which the network is tested."""
PEAK_RATE = 3e-3
WARMUP = 100
SHOWN = 4
"""Rows whose copies are stored, at each length that is tested."""


@dataclass(frozen=True)
class Network:
    """A network to be trained."""

    about: str
    d_hidden: int
    attention: bool = False
    steps: int = STEPS
    copies: bool = False
    """Whether its copies of some rows are stored, and not its accuracy."""

    def config(self) -> RecurrentConfig:
        """Its sizes: 4 special ids and the symbols."""
        return RecurrentConfig(
            vocab_size=UNK + 1 + SYMBOLS,
            d_model=32,
            d_hidden=self.d_hidden,
            dropout=0.0,
            attention=self.attention,
        )


VARIANTS = {
    "state-32": Network("a state of 32 numbers", 32),
    "state-64": Network("a state of 64 numbers", 64),
    "state-128": Network("a state of 128 numbers", 128),
    "longer": Network("a state of 64 numbers, 4 × the steps", 64, steps=4800),
    "attention": Network("a state of 64 numbers, attention", 64, True),
}
VARIANTS |= {
    f"copies/{name}": dataclasses.replace(network, copies=True)
    for name, network in VARIANTS.items()
    if network.steps == STEPS
}


def rows_to_copy(
    rows: int, length: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Random symbols: as a source, and as a target that begins with bos."""
    drawn = torch.randint(SYMBOLS, (rows, length), generator=generator)
    src = F.pad(drawn + UNK + 1, (0, 1), value=EOS)
    return src, F.pad(src, (1, 0), value=BOS)


def text_of(ids: list[int]) -> str:
    """A row of symbols as letters."""
    return "".join(
        chr(ord("a") + i - UNK - 1) if i > UNK else "?" for i in ids
    )


def rows_shown() -> Tensor:
    """Rows of the longest length; a shorter one is where they begin."""
    generator = torch.Generator().manual_seed(0)
    return rows_to_copy(SHOWN, LENGTHS[-1], generator)[0][:, :-1]


@torch.no_grad()
def copies(model: nn.Module, context: RunContext) -> list[list[str]]:
    """What it writes of each row shown, cut to each length."""
    rows, found = rows_shown(), []
    for length in LENGTHS[: context.limit(len(LENGTHS))]:
        src = F.pad(rows[:, :length], (0, 1), value=EOS)
        written = greedy_search(model, src, max_length=length + 1)
        found.append([text_of(row) for row in written])
    return [list(row) for row in zip(*found, strict=True)]


def rate_at(step: int, steps: int) -> float:
    """Up for the warm-up, then down to zero in a straight line."""
    return PEAK_RATE * min(step / WARMUP, (steps - step) / (steps - WARMUP))


@torch.no_grad()
def accuracy_by_length(
    model: nn.Module, seed: int, context: RunContext
) -> dict[str, list[float]]:
    """Share of symbols right, and of rows, when it writes by itself."""
    generator = torch.Generator().manual_seed(1000 + seed)
    symbols, rows = [], []
    tested = context.limit(TESTED)
    for length in LENGTHS[: context.limit(len(LENGTHS))]:
        src, _ = rows_to_copy(tested, length, generator)
        written = greedy_search(model, src, max_length=length + 1)
        pairs = list(zip(written, src[:, :-1].tolist(), strict=True))
        right = sum(
            a == b
            for got, row in pairs
            for a, b in zip(got, row, strict=False)
        )
        symbols.append(round(right / (tested * length), 4))
        rows.append(sum(got == row for got, row in pairs) / tested)
    return {"symbols": symbols, "rows": rows}


def measure(network: Network, seed: int, context: RunContext) -> Record:
    """One training: what was right at each look; or its copies."""
    torch.manual_seed(seed)
    model = RecurrentTranslator(network.config())
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(seed)
    looks = []
    last = context.limit(network.steps)
    inspected_at = () if network.copies else INSPECTED_AT
    at = {round(part * last) for part in inspected_at}
    for step in range(1, last + 1):
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        src, tgt = rows_to_copy(ROWS, length, generator)
        logits = model(src, tgt[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate_at(step, network.steps)
        optimizer.step()
        if step in at:
            found = accuracy_by_length(model, seed, context)
            looks.append({"step": step, **found})
    weights = sum(p.numel() for p in model.parameters())
    if network.copies:
        return {"weights": weights, "copies": copies(model, context)}
    return {"weights": weights, "looks": looks}


def settings() -> Record:
    """Settings of the curves."""
    return {
        "rows": ROWS,
        "symbols": SYMBOLS,
        "longest": LONGEST,
        "lengths": LENGTHS,
        "tested": TESTED,
        "peak_rate": PEAK_RATE,
        "warmup": WARMUP,
        "shown": [text_of(row) for row in rows_shown().tolist()],
        "variants": {
            name: dataclasses.asdict(network.config())
            | {"about": network.about, "steps": network.steps}
            for name, network in VARIANTS.items()
        },
    }


EXPERIMENT = Experiment(
    name="copying",
    chapter="01_sequence_to_sequence",
    variants=VARIANTS,
    measure=measure,
    seeds_of={"copies": (0,)},
    settings=settings,
)
