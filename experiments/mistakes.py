"""What does a training tell of a Transformer that is built wrongly?

The code that is trained is chapter 10's own build by hand, with the one edit
that its table of mistakes names.
"""

import torch

from experiments.broken_builds import MISTAKES, MyTransformer, broken
from experiments.lab import Experiment, Record, RunContext
from experiments.translators import (
    BASE,
    STEPS,
    TRANSLATED,
    Build,
    Snapshot,
    Training,
    follow,
)
from transformer_course.batches.pairs import pad_rows
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.decoding.translate import encode_source
from transformer_course.models.mode import eval_mode
from transformer_course.training.tasks.table import experiment_to_dict

LONGEST = 40
"""Tokens that are written at the most."""
RIGHT = "nothing"


def built_by(mistake: str) -> Build:
    """Build the chapter's Transformer, with a mistake or without."""

    def build(config):
        right = mistake == RIGHT
        kind = MyTransformer if right else broken(mistake)
        model = kind(
            config.vocab_size,
            config.d_model,
            config.n_heads,
            config.d_ff,
            config.n_layers,
        )
        model.config = config
        return model

    return build


@torch.inference_mode()
def greedy(model, tokenizer, sentences: list[str]) -> list[str]:
    """The likeliest next word, again and again, for all at once."""
    src = pad_rows([encode_source(tokenizer, s) for s in sentences])
    tgt = torch.full((len(sentences), 1), BOS)
    with eval_mode(model):
        for _ in range(LONGEST):
            best = model(src, tgt)[:, -1].argmax(dim=-1, keepdim=True)
            tgt = torch.cat([tgt, best], dim=1)
            if (tgt == EOS).any(dim=1).all():
                break
    written = []
    for row in tgt[:, 1:].tolist():
        end = row.index(EOS) if EOS in row else len(row)
        written.append(tokenizer.decode([i for i in row[:end] if i > 2]))
    return written


VARIANTS = {
    name: Training(name, build=built_by(name), write=greedy)
    for name in (RIGHT, *MISTAKES)
}


def measure(training: Training, seed: int, context: RunContext) -> Record:
    """The curve, and what is written; or the error that it ends with."""
    try:
        curve = follow(training, seed, context, Snapshot.means)
    except RuntimeError as error:  # of shapes, in the first step
        return {"nll": [], "error": str(error)}
    found = {"nll": curve.rounded("nll")}
    if curve.stopped:
        return found | {"error": curve.stopped}
    return {**found, "dev": curve.inspections, **curve.end.written()}


EXPERIMENT = Experiment(
    name="mistakes",
    chapter="10_transformer",
    variants=VARIANTS,
    measure=measure,
    settings=lambda: {
        "steps": STEPS,
        "translated": TRANSLATED,
        "experiment": experiment_to_dict(BASE),
        "edits": MISTAKES,
    },
)
