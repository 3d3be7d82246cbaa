"""Small translators of the built-in grammar: what many experiments train.

The preset ``grammar``, half as wide. A :class:`Training` says what is changed:
settings, by their dotted names; or a part of the code, by what stands in its
place. :func:`follow` trains it for so many steps and inspects it on the way.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from experiments import lab
from experiments.lab import Record, RunContext
from transformer_course.batches.pairs import Batch
from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.checkpoint import Build
from transformer_course.decoding.translate import translate
from transformer_course.errors import DivergedError
from transformer_course.evaluation.bleu import corpus_bleu
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.config import AnyModelConfig
from transformer_course.models.masks import causal_mask
from transformer_course.models.transformer import Transformer
from transformer_course.training.config import (
    Experiment,
    LoopConfig,
    SequenceLossConfig,
    changed_experiment,
)
from transformer_course.training.loop import (
    evaluate,
    fit,
    learning_rate,
    make_optimizer,
    set_seed,
)
from transformer_course.training.loss import (
    LossFunction,
    LossSums,
    compute_loss,
)
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import Prepared, prepare, sized
from transformer_course.training.tasks.table import experiment_to_dict

STEPS, EVERY = 250, 50
"""Steps of a training, and between two inspections."""
TRANSLATED = 100
"""Development sentences that are translated at each inspection."""
UNSMOOTHED = SequenceLossConfig(label_smoothing=0.0)
"""The loss's settings in an evaluation."""
PAIRS = 200
"""Training pairs in a smoke test."""
BASE = changed_experiment(
    PRESETS["grammar"],
    {
        "model.d_model": 64,
        "model.d_ff": 256,
        "train.peak_rate": 4e-3,
        "train.epochs": 1000,
    },
)


@dataclass(frozen=True)
class Training:
    """A training in which something is changed."""

    about: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings by their dotted names, ``{"model.n_heads": 1}``."""
    base: Experiment = BASE
    build: Build = checkpoint.build
    """From a config to the model."""
    loss_fn: Callable[..., LossSums] = compute_loss
    """The loss of a model, a batch and the loss's settings."""
    schedule: Callable[[int, int, float], float] = learning_rate
    data: Callable[[Prepared, Experiment], Prepared] = lambda found, _: found
    """From what is usually learned from to what is learned from here."""
    optimizer: Callable[[nn.Module, LoopConfig], Optimizer] = make_optimizer
    write: Callable[..., list[str]] = translate
    """From a model, a tokenizer and sentences to translations."""

    def unsmoothed_loss(self, model: nn.Module, batch: Batch) -> LossSums:
        """The loss in an evaluation."""
        return self.loss_fn(model, batch, UNSMOOTHED)

    def experiment(self, seed: int) -> Experiment:
        """The settings with a seed."""
        changed = changed_experiment(self.base, dict(self.changes))
        return changed_experiment(changed, {"train.seed": seed})


class Snapshot(NamedTuple):
    """A model in the middle of its training, to be inspected."""

    training: Training
    prepared: Prepared
    step: int
    """Updates made."""
    last: bool
    """Whether it was the last one."""
    context: RunContext

    def means(self, loss_fn: LossFunction | None = None) -> Record:
        """nll and accuracy on the development set, as its author sees them."""
        found = evaluate(
            self.prepared.model,
            self.prepared.dev_batches,
            loss_fn or self.training.unsmoothed_loss,
        )
        return {k: round(found[k], 4) for k in ("nll", "accuracy")}

    def written(self) -> Record:
        """BLEU of greedy translations, and the first of them."""
        size = self.context.limit(TRANSLATED)
        dev = self.prepared.splits.dev.take(range(size))
        model, tokenizer = self.prepared.model, self.prepared.tokenizer
        texts = self.training.write(model, tokenizer, dev.src)
        bleu = round(corpus_bleu(texts, dev.tgt).value, 2)
        return {"bleu": bleu, "sample": texts[0]}


Inspect = Callable[[Snapshot], Record]


class Curve(NamedTuple):
    """Losses of each step of a training, and its inspections."""

    steps: list[dict[str, float]]
    """Means of each step: loss, nll, accuracy."""
    inspections: list[Record]
    stopped: str | None
    """Why it diverged, if it did."""
    end: Snapshot

    def rounded(self, key: str, digits: int = 4) -> list[float]:
        """A figure of each step."""
        return [round(means[key], digits) for means in self.steps]


def follow(
    training: Training,
    seed: int,
    context: RunContext,
    inspect: Inspect | None = None,
    steps: int = STEPS,
    every: int = EVERY,
) -> Curve:
    """Train, and inspect the model every so many steps.

    Args:
        training: what is trained.
        seed: of weights and batches.
        context: how much of it.
        inspect: called every so many steps.
        steps: to be made.
        every: steps between two inspections.
    """
    experiment = training.experiment(seed)
    prepared = prepared_for(training, seed, context)
    steps, every = context.limit(steps), context.limit(every)
    means: list[dict[str, float]] = []
    inspections: list[Record] = []

    def snapshot(step: int) -> Snapshot:
        return Snapshot(training, prepared, step, step == steps, context)

    def on_step(progress, sums, rate) -> None:
        means.append(sums.means())
        if inspect and progress.step % every == 0:
            seen = inspect(snapshot(progress.step))
            inspections.append({"step": progress.step, **seen})

    stopped = None
    try:
        fit(
            prepared.model,
            training.optimizer(prepared.model, experiment.train),
            prepared.batches,
            experiment.train,
            on_step=on_step,
            loss_fn=partial(training.loss_fn, config=experiment.loss),
            steps=steps,
            schedule=training.schedule,
        )
    except DivergedError as error:
        stopped = str(error)
    return Curve(means, inspections, stopped, snapshot(len(means)))


def prepared_for(
    training: Training, seed: int, context: RunContext
) -> Prepared:
    """The data of a training, and its model with first weights."""
    experiment = training.experiment(seed)
    data = _data(_without_model(experiment), context.smoke)
    prepared = training.data(data, experiment)
    set_seed(seed)
    config = sized(experiment.model, prepared.tokenizer)
    return prepared._replace(model=training.build(config))


def _without_model(experiment: Experiment) -> Experiment:
    """The settings on which the data depend; all else as in the base."""
    model = dataclasses.replace(
        BASE.model,
        vocab_size=experiment.model.vocab_size,
        max_length=experiment.model.max_length,
    )
    train = dataclasses.replace(BASE.train, seed=experiment.train.seed)
    return dataclasses.replace(experiment, model=model, train=train)


@functools.cache
def _data(experiment: Experiment, smoke: bool) -> Prepared:
    """Corpus and batches, which all cells of a seed share.

    Words are learned from all pairs, however few are trained on.
    """
    pairs = PAIRS if smoke else experiment.data.train_pairs
    if pairs is None:
        return prepare(experiment)
    few = changed_experiment(experiment, {"data.train_pairs": pairs})
    if smoke:
        found = prepare(few)
        dev = found.splits.dev.take(range(2))
        return found._replace(
            dev_batches=found.dev_batches[:1],
            splits=dataclasses.replace(found.splits, dev=dev),
        )
    every = changed_experiment(experiment, {"data.train_pairs": None})
    return prepare(few, _data(every, smoke).tokenizer)


# --- what is put in the place of a part --------------------------------------


def with_parts(kind: type[nn.Module], make: Build) -> Build:
    """Build a model in which all parts of a kind are others.

    The others begin with the weights that the parts had, where they have any
    of the same names.

    Args:
        kind: what is replaced, in encoder and decoder alike.
        make: from the model's config to what stands in its place.
    """

    def build(config: AnyModelConfig) -> nn.Module:
        model = checkpoint.build(config)
        with torch.random.fork_rng(devices=[]):
            for name, part in list(model.named_modules()):
                if type(part) is kind:
                    other = make(config)
                    other.load_state_dict(part.state_dict())
                    model.set_submodule(name, other)
        return model

    return build


Remask = Callable[[Tensor, str], Tensor]
"""From a mask, and whose it is (``encoder``, ``own``, ``cross``: the
decoder's), to the mask that is used in its place. True = may attend."""


def with_masks(remask: Remask, kind: Build = Transformer) -> Build:
    """Build a model whose attentions are given other masks.

    Args:
        remask: called with every mask, of shape (rows, 1, query or 1, key).
        kind: what is built.
    """

    def build(config: AnyModelConfig) -> nn.Module:
        model = kind(config)
        for name, part in model.named_modules():
            if isinstance(part, MultiHeadAttention):
                give = functools.partial(_give, remask, _whose(name))
                part.register_forward_pre_hook(give, with_kwargs=True)
        return model

    return build


def _whose(name: str) -> str:
    if name.startswith("encoder"):
        return "encoder"
    return "own" if name.endswith("self_attention") else "cross"


def _give(remask: Remask, whose: str, part, args, kwargs):
    return args, kwargs | {"mask": remask(kwargs["mask"], whose)}


def causal_of(mask: Tensor) -> Tensor:
    """The causal part of a decoder's own mask, in which padding is hidden."""
    queries, keys = mask.shape[-2:]
    return causal_mask(keys, mask.device)[:, :, keys - queries :]


def padding_of(mask: Tensor) -> Tensor:
    """The other part: the last token may attend to all that is real."""
    return mask[..., -1:, :]


# --- what most of them measure -----------------------------------------------


def inspect_dev(snapshot: Snapshot) -> Record:
    """nll and accuracy; after the last step also what is written."""
    if not snapshot.last:
        return snapshot.means()
    model = snapshot.prepared.model
    return {
        **snapshot.means(),
        **snapshot.written(),
        "weights": sum(p.numel() for p in model.parameters()),
    }


def measure_with(
    inspect: Inspect,
) -> Callable[[Training, int, RunContext], Record]:
    """Make a ``measure`` that trains, and gives losses and inspections."""

    def measure(training: Training, seed: int, context: RunContext) -> Record:
        curve = follow(training, seed, context, inspect)
        return {
            "loss": curve.rounded("loss"),
            "accuracy": curve.rounded("accuracy"),
            "dev": curve.inspections,
        }

    return measure


def settings_of(variants: Mapping[str, Training]) -> Record:
    """Settings of the curves."""
    return {
        "steps": STEPS,
        "every": EVERY,
        "translated": TRANSLATED,
        "variants": {
            name: {
                "about": training.about,
                "experiment": experiment_to_dict(training.experiment(0)),
            }
            for name, training in variants.items()
        },
    }


def experiment_of(
    name: str,
    chapter: str,
    variants: Mapping[str, Training],
    inspect: Inspect = inspect_dev,
) -> lab.Experiment:
    """An experiment that stores the curves and inspections of trainings."""
    return lab.Experiment(
        name=name,
        chapter=chapter,
        variants=variants,
        measure=measure_with(inspect),
        settings=lambda: settings_of(variants),
    )
