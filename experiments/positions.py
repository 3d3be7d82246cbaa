"""How should a model be told positions, and what of lengths never trained?

``letters``: an encoder of two layers says at each place which letter stood two
places before; trained on 5 to 16 letters, tested on up to 64. ``sentences``:
small translators, trained on sentences of up to 9 words, tested on longer
ones.
"""

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.lab import Experiment, Record, RunContext
from experiments.translators import BASE, Training, follow
from transformer_course.batches.buckets import BucketedBatches
from transformer_course.batches.pairs import encode_pairs
from transformer_course.data.grammar import (
    AlignedPair,
    grammar_splits,
    parallel_text,
)
from transformer_course.data.text import ParallelText
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding.translate import translate
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.models.config import ModelConfig
from transformer_course.models.layers import TokenEmbedding
from transformer_course.models.masks import causal_mask
from transformer_course.models.positional_encoding import (
    LearnedPosition,
    NoPosition,
    RotaryPosition,
    position_module,
    sinusoidal_encoding,
)
from transformer_course.models.transformer import Encoder, Transformer
from transformer_course.training.run.prepare import Prepared

MANY = 128
"""Positions that learned tables have rows for; most are never trained."""
KINDS = ("sinusoidal", "learned", "rotary", "none")


# --- letters: which stood two places before? ---------------------------------

LETTERS = {
    "letters": 10,
    "back": 2,
    "shortest": 5,
    "longest": 16,
    "tested": 64,
    "shifts": (0, 1, 2, 4, 8, 16, 32, 48, 64, 80, 96),
    "errors_at": 32,
    "steps": 400,
    "batch": 32,
    "rate": 4e-3,
    "warmup": 50,
    "d_model": 32,
    "n_heads": 2,
    "n_layers": 2,
}


class DoubledExponent(nn.Module):
    """The table of a much copied script: column c turns by 10000^(-2c/d).

    With ``paired`` the two columns of a pair turn alike, by the first's speed:
    a true sinusoidal encoding, but of speeds that fall as fast.
    """

    def __init__(self, length: int, d_model: int, paired: bool = False):
        super().__init__()
        column = torch.arange(d_model)
        if paired:
            column = column // 2 * 2
        angle = torch.arange(length)[:, None] / 10_000 ** (
            2 * column / d_model
        )
        even = torch.arange(d_model) % 2 == 0
        table = torch.where(even, angle.sin(), angle.cos())
        self.register_buffer("table", table)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """``x`` plus the rows of its positions."""
        return x + self.table[offset : offset + x.size(1)]


class Beside(nn.Module):
    """Leaves the first columns to the word, the last ones to the position."""

    def __init__(self, length: int, d_model: int, width: int):
        super().__init__()
        self.width = width
        self.register_buffer("table", sinusoidal_encoding(length, width))

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """``x`` with its last columns put in place by the positions."""
        rows = self.table[offset : offset + x.size(1)].expand(len(x), -1, -1)
        return torch.cat([x[..., : -self.width], rows], dim=-1)


class FewHands(nn.Module):
    """Rotary positions of which only the fastest hands turn."""

    def __init__(self, rotary: RotaryPosition, hands: int):
        super().__init__()
        self.rotary, self.width = rotary, 2 * hands

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """``x`` with the pairs of these hands turned."""
        turned = self.rotary(x, offset)
        return torch.cat(
            [turned[..., : self.width], x[..., self.width :]], dim=-1
        )


def small_learned(length: int, d_model: int) -> nn.Module:
    """Learned positions that start as small as BERT's."""
    position = LearnedPosition(length, d_model)
    nn.init.normal_(position.table, std=0.02)
    return position


@dataclass(frozen=True)
class Letters:
    """A way to tell the encoder of letters where they stand."""

    about: str
    kind: str = "none"
    """A kind of the package's."""
    module: Callable[[int, int], nn.Module] | None = None
    """A class in place of the package's."""
    causal: bool = False
    shifted: int = 0
    """Training sequences begin at a random position up to this."""
    longer: int = 1
    """Times the usual number of steps."""
    hands: int = 0
    """Rotary hands that turn; 0: all."""


class Reader(nn.Module):
    """Letters in, for each place the logits of a letter out."""

    def __init__(self, variant: Letters):
        super().__init__()
        d_model, count = LETTERS["d_model"], LETTERS["letters"] + 1
        config = ModelConfig(
            vocab_size=count,
            d_model=d_model,
            n_heads=LETTERS["n_heads"],
            d_ff=4 * d_model,
            n_layers=LETTERS["n_layers"],
            dropout=0.0,
            position=variant.kind,
        )
        make = variant.module or (
            lambda length, width: position_module(variant.kind, length, width)
        )
        self.embedding = TokenEmbedding(count, d_model)
        self.position = make(MANY, d_model)
        self.encoder = Encoder(config)
        if variant.hands:
            keep_hands(self.encoder, variant.hands)
        self.to_logits = nn.Linear(d_model, count)
        self.causal = variant.causal

    def forward(self, ids: Tensor, shift: int = 0) -> Tensor:
        """Logits, with the first letter at position ``shift``."""
        mask = causal_mask(ids.size(1)) if self.causal else None
        x = self.position(self.embedding(ids), shift)
        return self.to_logits(self.encoder(x, mask))


def keep_hands(encoder: Encoder, hands: int) -> None:
    """Let only so many of the rotary hands turn, in every layer."""
    for part in list(encoder.modules()):
        for name, child in part.named_children():
            if isinstance(child, RotaryPosition):
                setattr(part, name, FewHands(child, hands))


LETTER_VARIANTS = {
    "sinusoidal": Letters("sinusoidal, added", "sinusoidal"),
    "learned": Letters("learned, added", "learned"),
    "rotary": Letters("rotary", "rotary"),
    "rotary-two-hands": Letters(
        "rotary, only the two fastest hands", "rotary", hands=2
    ),
    "none": Letters("none"),
    "none-causal": Letters("none, with a causal mask", causal=True),
    "doubled": Letters("a wrong, much copied table", module=DoubledExponent),
    "doubled-paired": Letters(
        "sinusoidal, speeds falling twice as fast",
        module=lambda length, width: DoubledExponent(length, width, True),
    ),
    "beside-8": Letters(
        "sinusoidal, concatenated: 24 columns for the letter, 8 for it",
        module=lambda length, width: Beside(length, width, 8),
    ),
    "beside-16": Letters(
        "sinusoidal, concatenated: 16 columns for the letter, 16 for it",
        module=lambda length, width: Beside(length, width, 16),
    ),
    "shifted": Letters(
        "sinusoidal, beginning anywhere", "sinusoidal", shifted=48
    ),
    "learned-shifted": Letters(
        "learned, beginning anywhere", "learned", shifted=48
    ),
    "learned-small": Letters(
        "learned, starting from N(0, 0.02²)", module=small_learned
    ),
    "none-causal-longer": Letters(
        "none, with a causal mask, four times the steps",
        causal=True,
        longer=4,
    ),
}


def letters_batch(
    size: int, length: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Random letters (from 1), and those ``back`` before; 0 for none."""
    ids = torch.randint(
        1, LETTERS["letters"] + 1, (size, length), generator=generator
    )
    back = LETTERS["back"]
    return ids, F.pad(ids, (back, 0))[:, :length]


def train_letters(variant: Letters, seed: int, context: RunContext) -> Record:
    """One training, and how often the reader is right, place by place."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Reader(variant)
    for weight in model.encoder.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight)
    optimizer = torch.optim.Adam(model.parameters())
    steps = variant.longer * LETTERS["steps"]
    for step in range(context.limit(steps)):
        up, left = (step + 1) / LETTERS["warmup"], 1 - step / steps
        optimizer.param_groups[0]["lr"] = LETTERS["rate"] * min(up, 1) * left
        length = draw(LETTERS["shortest"], LETTERS["longest"], generator)
        shift = draw(0, variant.shifted, generator)
        ids, asked = letters_batch(LETTERS["batch"], length, generator)
        loss = F.cross_entropy(model(ids, shift).flatten(0, 1), asked.ravel())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return evaluate_letters(model)


def draw(low: int, high: int, generator: torch.Generator) -> int:
    """A random number from low to high, both possible."""
    return int(torch.randint(low, high + 1, (), generator=generator))


@torch.inference_mode()
def evaluate_letters(model: Reader) -> dict:
    """Share of right answers at each place, at several lengths and shifts.

    Places that have no letter ``back`` before them are left out. ``errors``
    says for each place of a longer sequence which letter the wrong answers
    name: how far ahead it stands that most of them equal (behind: below 0),
    and the share of them that do; None where fewer than ten are wrong.
    """
    model.eval()

    def answers(length: int, shift: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(1000 + length)
        ids, asked = letters_batch(500, length, generator)
        return ids, asked, model(ids, shift).argmax(dim=-1)

    def right(length: int, shift: int = 0) -> list[float]:
        _, asked, named = answers(length, shift)
        hits = (named == asked)[:, LETTERS["back"] :]
        return [round(x, 3) for x in hits.float().mean(dim=0).tolist()]

    def errors(length: int) -> list[tuple[int, float] | None]:
        ids, asked, named = answers(length)
        found = []
        for place in range(LETTERS["back"], length):
            wrong = named[:, place] != asked[:, place]
            same = ids[wrong] == named[wrong, place, None]
            share, where = same.float().mean(dim=0).max(dim=-1)
            pair = (int(where) - place, round(float(share), 3))
            found.append(pair if wrong.sum() >= 10 else None)
        return found

    longest = LETTERS["longest"]
    lengths = (longest, 20, 24, 32, LETTERS["tested"])
    shifted = {s: right(longest, s) for s in LETTERS["shifts"]}
    return {
        "by_length": {n: right(n) for n in lengths},
        "by_shift": {s: round(fmean(x), 3) for s, x in shifted.items()},
        "errors": errors(LETTERS["errors_at"]),
    }


# --- sentences: short ones learned, long ones asked --------------------------

SENTENCES = {
    "short": 9,
    "long": 12,
    "tested": 300,
    "steps": 400,
    "shift": 9,
}


def length_of(pair: AlignedPair) -> int:
    """Words of the longer side."""
    return max(len(pair.src.split()), len(pair.tgt.split()))


def words_of(pair: AlignedPair) -> list[str]:
    """The words of both sides."""
    return [*pair.src.split(), *pair.tgt.split()]


def either_way(pair: AlignedPair) -> bool:
    """Whether it compares two whose English shows nothing but the order."""
    words = pair.src.split()
    marked = {"i", "me", "he", "him", "she", "her", "we", "us", "they", "them"}
    return "than" in words and not marked & set(words)


@functools.cache
def corpora() -> dict[str, ParallelText]:
    """Sentences to learn from and to ask: short and long ones.

    The long ones hold only words that the short ones have taught; ``than``
    are those short ones that compare two, where only order says which is
    more.
    """
    train, _, test = grammar_splits(20_000, 500, 3000)
    short = [p for p in train if length_of(p) <= SENTENCES["short"]]
    seen = Counter(word for pair in short for word in words_of(pair))
    known = [p for p in test if min(seen[w] for w in words_of(p)) >= 3]
    asked = {
        "short": [p for p in known if length_of(p) <= SENTENCES["short"]],
        "long": [p for p in known if length_of(p) >= SENTENCES["long"]],
    }
    asked["than"] = [p for p in asked["short"] if either_way(p)]
    asked = {name: part[: SENTENCES["tested"]] for name, part in asked.items()}
    parts = {"train": short, "train-all": train[: len(short)], **asked}
    return {name: parallel_text(pairs) for name, pairs in parts.items()}


ASKED = ("short", "long", "than")


class Further(nn.Module):
    """Positions that begin further on."""

    def __init__(self, position: nn.Module, shift: int):
        super().__init__()
        self.position, self.shift = position, shift

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add positions, beginning ``shift`` later."""
        return self.position(x, offset + self.shift)


def without(side: str) -> Callable[[ModelConfig], Transformer]:
    """Build a model that is told no positions on one side, src or tgt."""

    def build(config: ModelConfig) -> Transformer:
        model = Transformer(config)
        setattr(model, f"{side}_position", NoPosition())
        return model

    return build


def learning_from(part: str) -> Callable[..., Prepared]:
    """A part of the corpora in the place of all; words of the short ones."""

    def data(prepared: Prepared, experiment) -> Prepared:
        parts = corpora()
        text = [*parts["train"].src, *parts["train"].tgt]
        size = experiment.model.vocab_size
        tokenizer = Tokenizer.train(text, size, "word")
        batches = BucketedBatches(
            encode_pairs(tokenizer, parts[part], MANY),
            experiment.data.token_budget,
            seed=experiment.train.seed,
        )
        return prepared._replace(tokenizer=tokenizer, batches=batches)

    return data


def translator(
    about: str, kind: str = "sinusoidal", part: str = "train", **seams
) -> Training:
    """A training of short sentences; ``seams`` are those of Training."""
    changes = {"model.position": kind, "model.max_length": MANY}
    return Training(about, changes, data=learning_from(part), **seams)


SENTENCE_VARIANTS = {
    **{kind: translator(kind, kind) for kind in KINDS},
    "decoder-only": translator(
        "sinusoidal, in the decoder only", build=without("src")
    ),
    "encoder-only": translator(
        "sinusoidal, in the encoder only", build=without("tgt")
    ),
    "all-lengths": translator(
        "sinusoidal, trained on all lengths", part="train-all"
    ),
}


def train_sentences(
    training: Training, seed: int, context: RunContext
) -> Record:
    """One training, and how well it translates short and long sentences."""
    steps = SENTENCES["steps"]
    prepared = follow(training, seed, context, steps=steps).end.prepared
    return evaluate_sentences(prepared.model, prepared.tokenizer, context)


def evaluate_sentences(
    model: Transformer, tokenizer: Tokenizer, context: RunContext
) -> dict:
    """Greedy translations judged; of short sentences also further on."""
    parts = corpora()
    texts = {name: parts[name] for name in ASKED}
    texts = {
        name: text.take(range(context.limit(len(text))))
        for name, text in texts.items()
    }
    seen = {
        name: translation_scores(model, tokenizer, texts[name])
        for name in ASKED
    }
    if model.config.position in ("sinusoidal", "learned"):
        for side in ("src_position", "tgt_position"):
            inner = getattr(model, side)
            if not isinstance(inner, NoPosition):
                setattr(model, side, Further(inner, SENTENCES["shift"]))
        seen["shifted"] = translation_scores(model, tokenizer, texts["short"])
    return seen


def translation_scores(
    model: Transformer, tokenizer: Tokenizer, text: ParallelText
) -> dict:
    """BLEU, and the share of translations without a fault."""
    written = translate(model, tokenizer, text.src)
    same = [w == t for w, t in zip(written, text.tgt, strict=True)]
    return {
        "bleu": round(corpus_bleu(written, text.tgt).value, 2),
        "exact": round(fmean(same), 4),
        "samples": [
            list(x) for x in zip(text.src, text.tgt, written, strict=True)
        ][:3],
    }


# --- both --------------------------------------------------------------------


def measure(
    variant: Letters | Training, seed: int, context: RunContext
) -> Record:
    """One training of either task."""
    if isinstance(variant, Letters):
        return train_letters(variant, seed, context)
    return train_sentences(variant, seed, context)


def settings() -> Record:
    """Settings of both tasks."""
    sizes = {key: getattr(BASE.model, key) for key in ("d_model", "d_ff")}
    tasks = {
        "letters": (LETTERS, LETTER_VARIANTS),
        "sentences": (
            SENTENCES
            | {"peak_rate": BASE.train.peak_rate, "model": sizes}
            | {"pairs": {name: len(text) for name, text in corpora().items()}},
            SENTENCE_VARIANTS,
        ),
    }
    return {
        task: {**found, "variants": {n: v.about for n, v in variants.items()}}
        for task, (found, variants) in tasks.items()
    }


EXPERIMENT = Experiment(
    name="positions",
    chapter="03_positional_encoding",
    variants={f"letters/{n}": v for n, v in LETTER_VARIANTS.items()}
    | {f"sentences/{n}": v for n, v in SENTENCE_VARIANTS.items()},
    measure=measure,
    seeds=(0, 1, 2, 3, 4),
    seeds_of={"sentences": (0, 1, 2)},
    settings=settings,
    smoke_variants=(
        "letters/rotary-two-hands",
        "letters/beside-8",
        "letters/doubled-paired",
        "letters/learned-small",
        "sentences/all-lengths",
        "sentences/encoder-only",
    ),
)
