"""Does a mixture collapse onto a few experts without its bias?

A small decoder of today learns Soseki's text by characters, with two of eight
experts for each token in each layer. The bias that balances the experts moves
after each step as it does in all trainings of the course; in the other
training it is set back to zero. Stored is the share of the busiest expert of
each layer, of the choices in each step's batch.
"""

import statistics

from experiments.lab import Experiment, Record, RunContext
from experiments.since_2017 import OPTIMIZERS, data_of, train_config
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.modern_parts import mixtures
from transformer_course.training.loop import fit, set_seed
from transformer_course.training.loss import batch_loss

STEPS, EVERY = 600, 20
"""Steps of a training, and between two points of the stored curve."""
RATE = 4e-3
SIZES = {
    "d_model": 64,
    "n_heads": 4,
    "n_kv_heads": 4,
    "n_layers": 2,
    "max_length": 128,
    "n_experts": 8,
    "n_active": 2,
    "d_expert": 64,
}


def measure(balanced: bool, seed: int, context: RunContext) -> Record:
    """Train, and note which experts are busy."""
    prepared = data_of(seed, context.smoke)
    set_seed(seed)
    vocab_size = prepared.tokenizer.vocab_size
    model = ModernLanguageModel(ModernConfig(vocab_size=vocab_size, **SIZES))
    found = mixtures(model)
    busiest, losses = [], []

    def on_step(progress, sums, rate) -> None:
        loads = [mixture.load / mixture.load.sum() for mixture in found]
        busiest.append([float(load.max()) for load in loads])
        losses.append(sums.means()["nll"])
        for mixture in found:
            mixture.bias.mul_(balanced)

    steps = context.limit(STEPS)
    fit(
        model,
        OPTIMIZERS["adam"](model),
        prepared.batches,
        train_config(seed, RATE, bf16=False),
        on_step=on_step,
        loss_fn=batch_loss,
        steps=steps,
    )
    parts = [busiest[i : i + EVERY] for i in range(0, steps, EVERY)]
    return {
        "busiest": [
            [round(statistics.fmean(x), 4) for x in zip(*part, strict=True)]
            for part in parts
        ],
        "nll": round(statistics.fmean(losses[-50:]), 4),
        "load": [
            [round(x, 3) for x in (m.load / m.load.sum()).tolist()]
            for m in found
        ],
    }


EXPERIMENT = Experiment(
    name="experts",
    chapter="22_since_2017",
    variants={"bias": True, "no-bias": False},
    measure=measure,
    seeds=(0, 1, 2),
    settings=lambda: {"steps": STEPS, "every": EVERY, "rate": RATE, **SIZES},
)
