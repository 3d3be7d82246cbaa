"""What did each change since 2017 give, in a small decoder on Soseki?

One decoder-only language model of Soseki's text, by characters, in which one
thing is changed at a time: each ``changes/NAME`` against ``changes/base``,
which is the decoder of 2017 in pre-norm. All have as many weights as it, but
for the experts and where the output is a matrix of its own. All take as many
steps, at the rate that was best for the base, or for Muon. ``rates`` are the
trainings that chose rates, by the development set and with a seed of their
own. ``whole`` puts the changes together: the decoder and the training of 2017
and of today, each with each and at the rate that was best for the two, at
equal steps and at equal time. ``longer`` trains two decoders five times as
long, and ``sizes`` the package's decoder of today in three sizes. What is
reported is nats per character of a novel that was held out.
"""

import dataclasses
import functools
import itertools
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim import Adam, AdamW, Optimizer

from experiments.decoder_changes import (
    PLAIN,
    MixtureOfExperts,
    SwitchedConfig,
    SwitchedDecoder,
    SwitchedFeedForward,
    balance_of,
)
from experiments.lab import Experiment, Record, RunContext
from transformer_course.batches.pairs import Batch
from transformer_course.data.config import DataConfig
from transformer_course.data.tokenizer import PAD
from transformer_course.fast.optimize import optimize
from transformer_course.models.config import LanguageModelConfig
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.training.config import Experiment as Settings
from transformer_course.training.config import LoopConfig
from transformer_course.training.loop import (
    evaluate,
    fit,
    learning_rate,
    set_seed,
)
from transformer_course.training.loss import LossSums, batch_loss
from transformer_course.training.optimizers import (
    Schedule,
    cosine,
    make_muon,
    warmup_stable_decay,
)
from transformer_course.training.run.prepare import Prepared, prepare
from transformer_course.training.tasks.writing import EVAL_BATCH_SIZE

STEPS, WARMUP = 1000, 100
"""Steps of a training, and of its warm-up."""
RATE, MUON_RATE = 4e-3, 8e-3
"""The best for the base, and for Muon; see RATED."""
TODAY_RATE, TODAY_OLD_RATE, OLD_NEW_RATE = 16e-3, 8e-3, 4e-3
"""The best for today's decoder, by both trainings, and for 2017's by
today's."""
ROTARY_NEW_RATE = 8e-3
"""For 2017's with rotary positions, by today's training."""
RATES = (1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3)
TUNED_ON = 9
"""The seed of the trainings that chose the rates."""
DECAY = 0.1
"""AdamW's: what is taken off a weight at a step, over the rate."""
EXPERTS, BALANCE = 4, 0.01
"""Experts in place of a feed-forward part; weight of their balance loss."""
BLOCKS = 200
"""Passages of 127 characters of each held-out work that are scored."""
EVERY = 50
"""Steps between two points of the stored curve."""
SIZES = {
    "vocab_size": 3000,
    "d_model": 128,
    "n_heads": 4,
    "d_ff": 512,
    "n_layers": 4,
    "max_length": 128,
    "dropout": 0.0,
    "norm_first": True,
}
MODERN = {
    "d_model": 128,
    "n_heads": 4,
    "n_kv_heads": 4,
    "d_ff": 344,
    "n_layers": 4,
    "max_length": 128,
    "global_every": 4,
}
"""The decoder of today, about as large."""
DATA = DataConfig(corpus="soseki", pieces="char", token_budget=768)
"""Characters, so that most of the work is done by the layers."""


@dataclass(frozen=True)
class Decoder:
    """A decoder and its training: 2017's, where nothing else is said."""

    about: str
    model: Mapping[str, Any] = field(default_factory=dict)
    """Settings of a SwitchedConfig beside SIZES and PLAIN."""
    experts: bool = False
    """A mixture in place of each feed-forward part."""
    modern: Mapping[str, Any] | None = None
    """Settings of a ModernConfig beside MODERN: the package's decoder of
    today in place of the switched one; it is trained in fp32."""
    optimizer: str = "adam"
    schedule: str = "paper"
    rate: float = RATE
    steps: int = STEPS

    def config(self) -> SwitchedConfig:
        """The model's settings, without the size of the vocabulary."""
        return SwitchedConfig(**{**SIZES, **PLAIN, **self.model})


OPTIMIZERS: dict[str, Callable[[nn.Module], Optimizer]] = {
    "adam": lambda model: Adam(
        model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True
    ),
    "adamw": lambda model: AdamW(
        model.parameters(),
        betas=(0.9, 0.98),
        eps=1e-9,
        weight_decay=DECAY,
        fused=True,
    ),
    "muon": make_muon,
}


def schedule_of(decoder: Decoder, steps: int) -> Schedule:
    """The paper's, half a cosine, or warm-up, stable, decay."""
    return {
        "paper": learning_rate,
        "cosine": cosine(steps),
        "stable": warmup_stable_decay(steps),
    }[decoder.schedule]


def build(decoder: Decoder, vocab_size: int) -> nn.Module:
    """The model of a decoder, with its first weights."""
    if decoder.modern is not None:
        settings = {**MODERN, **decoder.modern, "vocab_size": vocab_size}
        return ModernLanguageModel(ModernConfig(**settings))
    config = dataclasses.replace(decoder.config(), vocab_size=vocab_size)
    model = SwitchedDecoder(config)
    if decoder.experts:
        for name, part in list(model.named_modules()):
            if isinstance(part, SwitchedFeedForward):
                other = MixtureOfExperts(config.d_model, config.d_ff, EXPERTS)
                for matrix in other.parameters():  # drawn as all others are
                    nn.init.xavier_uniform_(matrix)
                model.set_submodule(name, other)
    return model


def loss_with_balance(model: nn.Module, batch: Batch) -> LossSums:
    """The cross entropy, and what keeps the experts busy alike."""
    sums = batch_loss(model, batch)
    balance = BALANCE * balance_of(model) * sums.tokens
    return sums._replace(loss=sums.loss + balance)


@functools.cache
def data_of(seed: int, smoke: bool) -> Prepared:
    """The text, its characters, and the batches of a seed."""
    experiment = Settings(
        data=DATA,
        model=LanguageModelConfig(**SIZES),
        train=train_config(seed),
        task="language_modelling",
    )
    if smoke:
        data = dataclasses.replace(DATA, corpus="grammar")
        experiment = dataclasses.replace(experiment, data=data)
    known = None if seed == 0 else data_of(0, smoke).tokenizer
    return prepare(experiment, known)


def train_config(
    seed: int, rate: float = RATE, bf16: bool = True
) -> LoopConfig:
    """Settings of chapter 16's language model, without smoothing."""
    return LoopConfig(
        epochs=1000,
        seed=seed,
        warmup=WARMUP,
        peak_rate=rate,
        bf16=bf16,
    )


def held_out(prepared: Prepared, part: str) -> list[Batch]:
    """The first blocks of a work that was not learned from."""
    config = LanguageModelConfig(**SIZES)
    text = getattr(prepared.splits, part)
    found = prepared.task.eval_batches(config, prepared.tokenizer, text)
    return found[: BLOCKS // EVAL_BATCH_SIZE]


def measure(decoder: Decoder, seed: int, context: RunContext) -> Record:
    """Train, and score on text of another work."""
    prepared = data_of(seed, context.smoke)
    steps = context.limit(decoder.steps)
    set_seed(seed)
    model = optimize(build(decoder, prepared.tokenizer.vocab_size))
    losses: list[float] = []
    clock = [time.process_time()]

    def on_step(progress, sums, rate) -> None:
        losses.append(sums.means()["nll"])
        clock.append(time.process_time())

    fit(
        model,
        OPTIMIZERS[decoder.optimizer](model),
        prepared.batches,
        train_config(seed, decoder.rate, bf16=decoder.modern is None),
        on_step=on_step,
        loss_fn=loss_with_balance if decoder.experts else batch_loss,
        steps=steps,
        schedule=schedule_of(decoder, steps),
    )
    took = [b - a for a, b in itertools.pairwise(clock)]
    found = {
        "steps": steps,
        "rate": decoder.rate,
        "weights": sum(p.numel() for p in model.parameters()),
        "loss": [
            round(statistics.fmean(losses[i : i + EVERY]), 4)
            for i in range(0, steps, EVERY)
        ],
        "cpu_seconds_a_step": round(statistics.median(took), 4),
    }
    part = "dev" if seed == TUNED_ON else "test"
    batches = held_out(prepared, part)
    found[part] = round(evaluate(model, batches)["nll"], 4)
    if decoder.experts:
        found["load"] = loads(model, batches[0])
    return found


@torch.no_grad()
def loads(model: nn.Module, batch: Batch) -> list[list[float]]:
    """Each layer's experts' shares of the real tokens of a batch."""
    real = batch.take((batch.tgt_out != PAD).all(dim=1).nonzero().flatten())
    model.eval()(*(real if len(real.tgt) else batch).inputs)
    parts = [m for m in model.modules() if isinstance(m, MixtureOfExperts)]
    return [[round(x, 3) for x in part.load.tolist()] for part in parts]


CHANGES = {
    "base": Decoder("the decoder of 2017, in pre-norm"),
    "rms-norm": Decoder("RMSNorm", {"norm": "rms"}),
    "gelu": Decoder("GELU", {"activation": "gelu"}),
    "squared-relu": Decoder("squared ReLU", {"activation": "squared_relu"}),
    "swiglu": Decoder(
        "SwiGLU, d_ff 341 in place of 512",
        {"activation": "silu", "gated": True, "d_ff": 341},
    ),
    "rotary": Decoder("rotary positions", {"position": "rotary"}),
    "alibi": Decoder("ALiBi", {"position": "alibi"}),
    "grouped": Decoder(
        "2 heads of keys and values for 4 of queries, d_ff 576",
        {"n_kv_heads": 2, "d_ff": 576},
    ),
    "qk-norm": Decoder("queries and keys normalised", {"qk_norm": True}),
    "value-residual": Decoder(
        "the first layer's values, mixed in", {"value_residual": True}
    ),
    "window": Decoder("a window of 32 in 3 of 4 layers", {"window": 32}),
    "soft-cap": Decoder("logits within ±15", {"soft_cap": 15.0}),
    "zero-start": Decoder("sub-layers begin at zero", {"zero_start": True}),
    "untied": Decoder("an output of its own", {"tied": False}),
    "untied-zero-start": Decoder(
        "an output of its own, and sub-layers begin at zero",
        {"tied": False, "zero_start": True},
    ),
    "experts": Decoder("4 experts, one for each token", experts=True),
    "adamw": Decoder("AdamW, decay .1", optimizer="adamw"),
    "cosine": Decoder("half a cosine", schedule="cosine"),
    "stable-decay": Decoder("warm-up, stable, decay", schedule="stable"),
    "muon": Decoder("Muon for matrices", optimizer="muon", rate=MUON_RATE),
}
TODAY = {
    "norm": "rms",
    "activation": "squared_relu",
    "position": "rotary",
    "n_kv_heads": 2,
    "d_ff": 576,
    "qk_norm": True,
    "value_residual": True,
    "window": 32,
    "soft_cap": 15.0,
    "zero_start": True,
}
"""A model of today: nanochat's parts, with grouped queries."""
NEW = {"optimizer": "muon", "schedule": "stable"}
"""A training of today."""
COST = 1.7
"""A step of today's, in steps of 2017's: of ``cpu_seconds_a_step``."""
EQUAL_TIME = round(COST * STEPS)
WHOLE = {
    "old-new": Decoder(
        "the decoder of 2017, trained as today", rate=OLD_NEW_RATE, **NEW
    ),
    "today-old": Decoder(
        "the decoder of today, trained as in 2017", TODAY, rate=TODAY_OLD_RATE
    ),
    "today": Decoder(
        "decoder and training of today", TODAY, rate=TODAY_RATE, **NEW
    ),
    "old-longer": Decoder(
        "the decoder of 2017, for the time that today's takes",
        steps=EQUAL_TIME,
    ),
    "rotary-new": Decoder(
        "the decoder of 2017 with rotary positions, trained as today",
        {"position": "rotary"},
        rate=ROTARY_NEW_RATE,
        **NEW,
    ),
    "today-untied": Decoder(
        "decoder and training of today, with an output of its own",
        TODAY | {"tied": False},
        rate=TODAY_RATE,
        **NEW,
    ),
}
LONGER = {
    name: dataclasses.replace(decoder, steps=5 * STEPS)
    for name, decoder in (("base", CHANGES["base"]), ("today", WHOLE["today"]))
}
WIDTHS = {
    str(width): Decoder(
        f"the decoder of today, {width} wide",
        modern={"d_model": width, "d_ff": 8 * width // 3},
        rate=rate,
    )
    for width, rate in ((64, 4e-3), (128, 4e-3), (256, 2e-3))
}
RATED = {
    "base": (CHANGES["base"], RATES),
    "muon": (CHANGES["muon"], RATES[2:]),
    "today": (WHOLE["today"], RATES[2:]),
    "today-old": (WHOLE["today-old"], RATES[2:5]),
    "old-new": (WHOLE["old-new"], RATES[1:5]),
    "rotary-new": (WHOLE["rotary-new"], RATES[2:5]),
    "cosine": (CHANGES["cosine"], RATES[1:4]),
    "stable-decay": (CHANGES["stable-decay"], RATES[1:4]),
    "size-64": (WIDTHS["64"], RATES[1:4]),
    "size-128": (WIDTHS["128"], RATES[1:4]),
    "size-256": (WIDTHS["256"], RATES[:3]),
}
"""Decoders for which rates were tried, and these rates."""

VARIANTS = {
    **{
        f"rates/{name}-{rate:g}": dataclasses.replace(decoder, rate=rate)
        for name, (decoder, rates) in RATED.items()
        for rate in rates
    },
    **{f"changes/{name}": decoder for name, decoder in CHANGES.items()},
    **{f"whole/{name}": decoder for name, decoder in WHOLE.items()},
    **{f"sizes/{name}": decoder for name, decoder in WIDTHS.items()},
    **{f"longer/{name}": decoder for name, decoder in LONGER.items()},
}
GROUPS = ("changes", "whole", "sizes", "longer")

EXPERIMENT = Experiment(
    name="since-2017",
    chapter="22_since_2017",
    variants=VARIANTS,
    measure=measure,
    seeds=(0, 1, 2, TUNED_ON),
    seeds_of={
        "rates": (TUNED_ON,),
        **dict.fromkeys(GROUPS, (0, 1, 2)),
    },
    settings=lambda: {
        "steps": STEPS,
        "warmup": WARMUP,
        "tuned_on": TUNED_ON,
        "sizes": SIZES,
        "data": dataclasses.asdict(DATA),
        "experts": EXPERTS,
        "balance": BALANCE,
        "every": EVERY,
        "about": {name: v.about for name, v in VARIANTS.items()},
    },
    smoke_variants=(
        "changes/experts",
        "whole/today",
        "sizes/64",
    ),
)
