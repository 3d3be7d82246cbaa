"""Train the broken builds of chapter 10, to see what a training tells.

    python tools/train_mistakes.py                     all that is missing
    python tools/train_mistakes.py "no positions" ...  these mistakes

The code that is trained is the chapter's own: the cells of the notebook that
build the Transformer by hand, with the one edit that its table names.
Corpus, seeds, steps, sizes and learning rate are those of
``train_failures.py`` (post-norm). What is there already under
``runs/mistakes/`` is not trained again.
"""

import contextlib
import dataclasses
import json
import re
import sys
from pathlib import Path

import nbformat
import torch
from torch import nn
from train_failures import (
    EVERY,
    SEEDS,
    STEPS,
    TRANSLATED,
    Enough,
    Variant,
    experiment_of,
)

from transformer_course import runs
from transformer_course.attention import MultiHeadAttention
from transformer_course.batches import pad_rows
from transformer_course.device import machine
from transformer_course.errors import CourseError
from transformer_course.experiment import keep_freed_memory, prepare
from transformer_course.layers import AddNorm, FeedForward, TokenEmbedding
from transformer_course.masks import causal_mask, padding_mask
from transformer_course.objective import evaluate
from transformer_course.positional_encoding import sinusoidal_encoding
from transformer_course.score import corpus_bleu
from transformer_course.tokenizer import BOS, EOS
from transformer_course.train import fit, make_optimizer
from transformer_course.translate import encode_source

NOTEBOOK = Path(__file__).parents[1] / "book/en/10_transformer.ipynb"
BUILT_IN = ("encoder-layer", "decoder-layer", "stack", "whole")
LONGEST = 40
"""Tokens that are written at the most."""


def chapter() -> dict:
    """The chapter's names: its build, as text, and its mistakes."""
    cells = {c.id: c.source for c in nbformat.read(NOTEBOOK, 4).cells}
    parts = (
        AddNorm,
        FeedForward,
        MultiHeadAttention,
        TokenEmbedding,
        causal_mask,
        padding_mask,
        sinusoidal_encoding,
    )
    names = {"nn": nn, **{part.__name__: part for part in parts}}
    names["text"] = "\n\n".join(cells[name] for name in BUILT_IN)
    exec(names["text"], names)
    exec(cells["mistakes"], names)
    return names


def greedy(model, tokenizer, sentences: list[str]) -> list[str]:
    """The likeliest next word, again and again, for all at once."""
    src = pad_rows([encode_source(tokenizer, s) for s in sentences])
    tgt = torch.full((len(sentences), 1), BOS)
    with torch.inference_mode():
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


def train_once(kind, seed: int) -> dict:
    """The curve of one training; where it ends, or the error it ends with."""
    experiment = experiment_of(Variant(""), seed)
    prepared = prepare(experiment)
    config = prepared.model.config
    torch.manual_seed(seed)
    model = kind(
        config.vocab_size,
        config.d_model,
        config.n_heads,
        config.d_ff,
        config.n_layers,
    )
    model.config = config
    losses, looks = [], []

    def on_step(progress, score, rate):
        losses.append(round(score.means()["nll"], 4))
        if progress.step % EVERY == 0:
            means = evaluate(model, prepared.dev_batches)
            kept = {k: round(means[k], 4) for k in ("nll", "accuracy")}
            looks.append({"step": progress.step, **kept})
        if progress.step >= STEPS:
            raise Enough

    optimizer = make_optimizer(model, experiment.train)
    try:
        with contextlib.suppress(Enough):
            fit(
                model,
                optimizer,
                prepared.batches,
                experiment.train,
                on_step=on_step,
            )
        dev = prepared.splits.dev.take(range(TRANSLATED))
        written = greedy(model.eval(), prepared.tokenizer, dev.src)
    except (RuntimeError, CourseError) as error:
        return {"seed": seed, "nll": losses, "error": str(error)}
    bleu = round(corpus_bleu(written, dev.tgt).value, 2)
    return {
        "seed": seed,
        "nll": losses,
        "dev": looks,
        "bleu": bleu,
        "sample": written[0],
    }


def main() -> None:
    """Train what is missing of the mistakes named, or of all."""
    folder = runs.folder("mistakes")
    names = chapter()
    runs.write_json(
        folder / "settings.json",
        {
            "command": "python tools/train_mistakes.py",
            "machine": machine(),
            "seeds": SEEDS,
            "steps": STEPS,
            "translated": TRANSLATED,
            "experiment": dataclasses.asdict(
                experiment_of(Variant(""), SEEDS[0])
            ),
            "edits": names["MISTAKES"],
        },
    )
    keep_freed_memory()
    wanted = sys.argv[1:] or ["nothing", *names["MISTAKES"]]
    for seed in SEEDS:
        for name in wanted:
            path = folder / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.json"
            stored = {"about": name, "seeds": []}
            if path.exists():
                stored = json.loads(path.read_text("utf-8"))
            if len(stored["seeds"]) > seed:
                continue
            right = name == "nothing"
            kind = names["MyTransformer"] if right else names["broken"](name)
            stored["seeds"].append(train_once(kind, seed))
            runs.write_json(path, stored)
            last = stored["seeds"][-1]
            print(
                name,
                seed,
                last["nll"][-1:],
                last.get("bleu", last.get("error")),
                flush=True,
            )


if __name__ == "__main__":
    main()
