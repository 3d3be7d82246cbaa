"""What does a model learn that only drafts for a larger one?

The draft model of speculative decoding has to predict what the large model
writes, right or wrong. So it learns from the translations that ``en-ja``
writes greedily, with its tokenizer, and never sees what people wrote:
sequence-level distillation (Kim & Rush 2016). The sources are the first
20,000 of those that ``en-ja`` learned from. The model, in eight bits, goes
into ``outputs/en-ja-draft/model``; the course ships a copy of it.
"""

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

from experiments import store
from experiments.lab import Analysis, Record, RunContext, made_of, splits_for
from experiments.translations import smoke_inputs, written
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.find import find
from transformer_course.data.config import DataConfig
from transformer_course.data.text import ParallelText
from transformer_course.fast.chunked_loss import chunked_loss
from transformer_course.fast.optimize import optimize
from transformer_course.models.config import ModelConfig
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    SequenceLossConfig,
)
from transformer_course.training.loop import (
    evaluate,
    fit,
    make_optimizer,
    set_seed,
)
from transformer_course.training.tasks.writing import (
    pair_batches,
    pair_eval_batches,
)

SETTINGS = Experiment(
    "en-ja-draft",
    DataConfig("small_parallel_enja", token_budget=1536),
    ModelConfig(
        d_model=128,
        d_ff=512,
        n_layers=1,
        dropout=0.1,
        norm_first=True,
        position="rotary",
        tied=True,
    ),
    LoopConfig(
        epochs=6,
        peak_rate=3e-3,
        warmup=300,
        cooldown=3,
    ),
    loss=SequenceLossConfig(label_smoothing=0.0),
)
SOURCES = 20_000
"""Training sentences that are translated."""


def analyse(context: RunContext) -> Iterator[str]:
    """Translate, train, save the model; store how it learned."""
    [folder] = context.inputs
    large = checkpoint.load(find(folder))
    splits = splits_for(large.details, context)
    outputs = context.outputs / SETTINGS.name
    train, dev = (
        ParallelText(
            src,
            written(large.model, large.tokenizer, src, outputs / f"{name}.ja"),
        )
        for name, src in (
            ("train", splits.train.src[:SOURCES]),
            ("dev", splits.dev.src),
        )
    )
    yield f"{len(train):,} sentences translated"
    set_seed(SETTINGS.train.seed)
    sizes = asdict(SETTINGS.model) | {"vocab_size": large.tokenizer.vocab_size}
    config = ModelConfig(**sizes)
    model = optimize(Transformer(config))
    batches = pair_batches(SETTINGS, large.tokenizer, train)
    unseen = pair_eval_batches(config, large.tokenizer, dev)
    epochs: list[Record] = []

    def on_epoch(progress, means: Record) -> None:
        found = evaluate(model, unseen)
        epochs.append({"train_loss": means["loss"], **found})
        context.log(f"draft: epoch {progress.epoch}: {epochs[-1]}")

    optimizer = make_optimizer(model, SETTINGS.train)
    fit(
        model,
        optimizer,
        batches,
        SETTINGS.train,
        on_epoch=on_epoch,
        loss_fn=partial(chunked_loss, config=SETTINGS.loss),
    )
    checkpoint.save(
        outputs / "model",
        model,
        large.tokenizer,
        large.details | {"more": None, "more_sha256": None},
        eight_bits=True,
    )
    results = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "epochs": epochs,
    }
    settings = asdict(SETTINGS) | {"model": checkpoint.config_to_dict(config)}
    about = {
        **made_of("draft", context),
        "settings": settings,
        "results": store.rounded(results),
    }
    store.write_json(context.folder / "run.json", about, indent=1)
    yield f"{results['parameters']:,} weights in {outputs / 'model'}"


EXPERIMENT = Analysis(
    name="draft",
    chapter="21_speed",
    analyse=analyse,
    inputs=("transformer_course/shipped/en-ja",),
    smoke_inputs=smoke_inputs,
)
