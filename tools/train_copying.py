"""Train networks to copy, without and with attention: runs/copying.

    python tools/train_copying.py                   all that is missing
    python tools/train_copying.py attention ...     these variants

The network reads a row of random symbols and writes it down again. All of the
row that it can use is in what the encoder hands over, so the accuracy at each
length says how much that holds. What is there already under ``runs/copying/``
is not trained again: delete a file to have it anew.
"""

import dataclasses
import functools
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_course import runs
from transformer_course.config import RecurrentConfig
from transformer_course.device import machine
from transformer_course.generate import greedy_search
from transformer_course.recurrent import RecurrentTranslator
from transformer_course.tokenizer import BOS, EOS, UNK

SEEDS = (0, 1, 2)
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
LOOKS = (1 / 4, 1 / 2, 1)
"""Parts of the training after which the network is tested."""
PEAK_RATE = 3e-3
WARMUP = 100


@dataclasses.dataclass(frozen=True)
class Variant:
    """A network to be trained."""

    about: str
    d_hidden: int
    attention: bool = False
    steps: int = STEPS

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
    "state-32": Variant("a state of 32 numbers", 32),
    "state-64": Variant("a state of 64 numbers", 64),
    "state-128": Variant("a state of 128 numbers", 128),
    "longer": Variant("a state of 64 numbers, 4 × the steps", 64, steps=4800),
    "attention": Variant("a state of 64 numbers, attention", 64, True),
}


def rows_to_copy(
    rows: int, length: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Random symbols: as a source, and as a target that begins with bos."""
    drawn = torch.randint(SYMBOLS, (rows, length), generator=generator)
    src = F.pad(drawn + UNK + 1, (0, 1), value=EOS)
    return src, F.pad(src, (1, 0), value=BOS)


def rate_at(step: int, steps: int) -> float:
    """Up for the warm-up, then down to zero in a straight line."""
    return PEAK_RATE * min(step / WARMUP, (steps - step) / (steps - WARMUP))


@torch.no_grad()
def accuracy_by_length(model: nn.Module, seed: int) -> dict[str, list[float]]:
    """Share of symbols right, and of rows, when it writes by itself."""
    generator = torch.Generator().manual_seed(1000 + seed)
    symbols, rows = [], []
    for length in LENGTHS:
        src, _ = rows_to_copy(TESTED, length, generator)
        written = greedy_search(model, src, max_length=length + 1)
        pairs = list(zip(written, src[:, :-1].tolist(), strict=True))
        right = sum(
            a == b
            for got, row in pairs
            for a, b in zip(got, row, strict=False)
        )
        symbols.append(round(right / (TESTED * length), 4))
        rows.append(sum(got == row for got, row in pairs) / TESTED)
    return {"symbols": symbols, "rows": rows}


def train_once(variant: Variant, seed: int) -> dict:
    """One training: its losses, and what was right at each look."""
    torch.manual_seed(seed)
    model = RecurrentTranslator(variant.config())
    optimizer = torch.optim.Adam(model.parameters())
    generator = torch.Generator().manual_seed(seed)
    losses, looks = [], []
    at = {round(part * variant.steps) for part in LOOKS}
    for step in range(1, variant.steps + 1):
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        src, tgt = rows_to_copy(ROWS, length, generator)
        logits = model(src, tgt[:, :-1]).flatten(0, 1)
        loss = F.cross_entropy(logits, tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = rate_at(step, variant.steps)
        optimizer.step()
        losses.append(round(loss.item(), 4))
        if step in at:
            looks.append({"step": step, **accuracy_by_length(model, seed)})
    return {"seed": seed, "loss": losses, "looks": looks}


def write_settings(folder: Path) -> None:
    """What the curves were made with."""
    runs.write_json(
        folder / "settings.json",
        {
            "command": "python tools/train_copying.py",
            "machine": machine(),
            "seeds": SEEDS,
            "rows": ROWS,
            "symbols": SYMBOLS,
            "longest": LONGEST,
            "lengths": LENGTHS,
            "tested": TESTED,
            "peak_rate": PEAK_RATE,
            "warmup": WARMUP,
            "variants": {
                name: dataclasses.asdict(variant.config())
                | {"steps": variant.steps}
                for name, variant in VARIANTS.items()
            },
        },
    )


def main() -> None:
    """Train what is missing of the variants named, or of all."""
    folder = runs.folder("copying")
    write_settings(folder)
    for name in sys.argv[1:] or VARIANTS:
        variant = VARIANTS[name]
        model = RecurrentTranslator(variant.config())
        about = {
            "about": variant.about,
            "weights": sum(p.numel() for p in model.parameters()),
        }
        for found in runs.add_seeds(
            folder / f"{name}.json",
            about,
            SEEDS,
            functools.partial(train_once, variant),
        ):
            loss, look = found["loss"][-1], found["looks"][-1]
            print(name, found["seed"], loss, look, flush=True)


if __name__ == "__main__":
    main()
