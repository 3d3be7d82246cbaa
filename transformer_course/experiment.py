"""An experiment in a folder: from a preset to checkpoints and scores.

``outputs/NAME/`` holds ``experiment.json`` (all settings), ``metrics.jsonl``
(a line for each step and each epoch), ``tensorboard/`` and ``checkpoints/``:
``last``, ``best`` by BLEU on the development set, ``epoch-NNN`` for the last
few, ``average`` of these at the end.
"""

import contextlib
import ctypes
import dataclasses
import hashlib
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from transformer_course import checkpoint
from transformer_course.batches import (
    Batch,
    IdPair,
    encode_pairs,
    encode_texts,
    padded_batch,
    sampled_pairs,
)
from transformer_course.buckets import BucketedBatches, ResampledBatches
from transformer_course.config import PRESETS, Experiment
from transformer_course.data.corpora import load_corpus
from transformer_course.data.manifest import cache_dir
from transformer_course.data.text import ParallelText, Splits
from transformer_course.device import pick_device
from transformer_course.errors import CheckpointError, ConfigError, CourseError
from transformer_course.generate import sample
from transformer_course.loss import Score
from transformer_course.score import corpus_bleu, perplexity
from transformer_course.tokenizer import PAD, Tokenizer
from transformer_course.train import (
    Progress,
    evaluate,
    fit,
    make_optimizer,
    restore,
    resume_state,
    set_seed,
)
from transformer_course.translate import draw, translate

SAMPLES = 10
"""Development sentences whose answers are kept at each epoch."""
BEAM_SIZE = 5
"""Of the beam search among these answers."""


FREE = ("epochs", "device", "save_every")
"""Settings that may change when a training goes on."""
CHECKPOINTS = ("average", "best", "last")
"""What a finished run leaves, in the order in which it is preferred."""


class Interrupted(CourseError):
    """The user stopped a training, which has been saved."""


class Prepared(NamedTuple):
    """What a training needs, made from an experiment's settings."""

    tokenizer: Tokenizer
    model: nn.Module
    batches: BucketedBatches | ResampledBatches
    dev_batches: list[Batch]
    splits: Splits


def prepare(
    experiment: Experiment, tokenizer: Tokenizer | None = None
) -> Prepared:
    """Corpus → tokenizer → batches and a model with its first weights.

    The weights are made on the CPU from the seed, so that they are the same
    on every device.

    Args:
        experiment: the settings.
        tokenizer: a trained one; when None that of the checkpoint which the
            training starts from, or one learned from the training text.
    """
    data = experiment.data
    start = _start(experiment)
    splits = load_corpus(data.corpus, src=data.src, tgt=data.tgt)
    if data.train_pairs is not None:
        splits = first_pairs(splits, data.train_pairs)
    if data.both_ways:
        splits = _both_ways(splits)
    if tokenizer is None:
        tokenizer = start.tokenizer if start else _learn(experiment, splits)
    set_seed(experiment.train.seed)
    config = dataclasses.replace(
        experiment.model, vocab_size=tokenizer.vocab_size
    )
    model = checkpoint.build(config)
    if start:
        _begin_with(model, start, experiment.train.start_from)
    return Prepared(
        tokenizer,
        model,
        _batches(experiment, tokenizer, splits.train),
        scored_batches(tokenizer, splits.dev, config),
        splits,
    )


def scored_batches(
    tokenizer: Tokenizer, text: ParallelText, config
) -> list[Batch]:
    """Text to be scored, 50 pairs (or blocks) a batch, in order."""
    pairs = _pairs(tokenizer, text, config)
    return [padded_batch(pairs[i : i + 50]) for i in range(0, len(pairs), 50)]


def _pairs(tokenizer: Tokenizer, text: ParallelText, config) -> list[IdPair]:
    """Sentence pairs as ids; for a decoder-only model the targets alone."""
    if getattr(config, "decoder_only", False):
        return encode_texts(tokenizer, text.tgt, config.max_length)
    return encode_pairs(tokenizer, text, config.max_length)


def _batches(
    experiment: Experiment, tokenizer: Tokenizer, text: ParallelText
) -> BucketedBatches | ResampledBatches:
    """The batches that are trained on."""
    data, seed = experiment.data, experiment.train.seed
    limit = experiment.model.max_length
    pairs = _pairs(tokenizer, text, experiment.model)
    if not getattr(experiment.model, "decoder_only", False):
        _warn_cut_off(tokenizer, text, pairs, limit)
    if not data.subword_sampling:
        return BucketedBatches(
            pairs, data.token_budget, seed, max_shapes=data.max_shapes
        )

    def drawn(epoch: int) -> list[IdPair]:
        alpha = data.subword_sampling
        draw = seed * 1_000_003 + epoch
        return sampled_pairs(tokenizer, text, limit, alpha, draw)

    return ResampledBatches(drawn, data.token_budget, seed, data.max_shapes)


def _learn(experiment: Experiment, splits: Splits) -> Tokenizer:
    """A tokenizer from the training text; of running text, line by line."""
    data, text = experiment.data, splits.train
    texts = [*text.src, *text.tgt] if data.translated else text.tgt
    lines = [line for text in texts for line in text.split("\n")]
    return Tokenizer.train(lines, experiment.model.vocab_size, data.pieces)


def _start(experiment: Experiment) -> checkpoint.Checkpoint | None:
    """The checkpoint that the training starts from, if it names one."""
    folder = experiment.train.start_from
    if folder is None:
        return None
    chosen = chosen_checkpoint(Path(folder))
    if chosen is None:
        chosen = _existing_start(folder)
    start = checkpoint.load(chosen)
    if start.tokenizer is None:
        raise CheckpointError(
            f"{folder} has no tokenizer.model: a training that starts from a "
            "checkpoint goes on with its tokenizer."
        )
    return start


def _existing_start(folder: str) -> Path:
    """A folder that is itself a checkpoint.

    Raises:
        CheckpointError: it is none; how to make one is said.
    """
    try:
        return checkpoint.existing(folder)
    except CheckpointError as error:
        name = Path(folder).name
        known = f" (transformer-course train {name})" * (name in PRESETS)
        raise CheckpointError(
            f"{error} The training was to start from there: train that model "
            f"first{known}, name another folder by --train.start-from, or "
            "begin anew with --train.start-from None."
        ) from error


def _begin_with(
    model: nn.Module, start: checkpoint.Checkpoint, folder: str
) -> None:
    """Copy the weights of another training into the model."""
    try:
        model.load_state_dict(start.model.state_dict())
    except RuntimeError as error:
        raise ConfigError(
            f"the weights in {folder} do not fit these settings: its model "
            f"is {start.model.config}. Give the same sizes."
        ) from error


def _warn_cut_off(
    tokenizer: Tokenizer,
    text: ParallelText,
    pairs: list[tuple[list[int], list[int]]],
    max_length: int,
) -> None:
    """Say how many pairs have lost their end to ``max_length``, if any."""
    full = [i for i, ids in enumerate(pairs) if max_length in map(len, ids)]
    cut_off = sum(
        len(tokenizer.encode(src)) > max_length - 1
        or len(tokenizer.encode(tgt)) > max_length - 2
        for src, tgt in text.take(full)
    )
    if cut_off:
        print(
            f"warning: {cut_off:,} of {len(pairs):,} training pairs are "
            f"longer than {max_length} tokens and are cut off there; a "
            "larger --model.max-length keeps them whole.",
            file=sys.stderr,
        )


def first_pairs(splits: Splits, size: int) -> Splits:
    """The same splits with a shorter training part."""
    train = ParallelText(splits.train.src[:size], splits.train.tgt[:size])
    return dataclasses.replace(splits, train=train)


def _both_ways(splits: Splits) -> Splits:
    """The same splits with each training pair in both directions."""
    src, tgt = splits.train.src, splits.train.tgt
    train = ParallelText([*src, *tgt], [*tgt, *src])
    return dataclasses.replace(splits, train=train)


def run(
    experiment: Experiment,
    output_dir: Path = Path("outputs"),
    resume: bool = False,
    quiet: bool = False,
) -> Path:
    """Train an experiment in ``output_dir/NAME``, or go on with it.

    Args:
        experiment: the settings.
        output_dir: the run's folder is made in here.
        resume: go on with a run that was stopped.
        quiet: print nothing.

    Returns:
        The folder.

    Raises:
        ConfigError: the folder holds a run already (without ``resume``), or
            one with other settings (with it).
        CheckpointError: nothing to go on with, or a checkpoint that could
            not be written.
        Interrupted: Ctrl-C; the state has been saved.
    """
    folder = Path(output_dir) / experiment.name
    device = pick_device(experiment.train.device)
    tokenizer = _check_folder(folder, experiment, resume)
    keep_freed_memory()
    if not quiet:
        print(f"{folder}: preparing the text ...", file=sys.stderr)
    prepared = prepare(experiment, tokenizer)
    model = prepared.model.to(device)
    optimizer = make_optimizer(model, experiment.train)
    progress = Progress()
    last = folder / "checkpoints" / "last"
    if resume and _exists(last):
        progress = _restore(last, model, optimizer)
    if not quiet:
        begin = _beginning(folder, experiment, prepared, progress, resume)
        print(begin, flush=True)
    with _writing_in(folder):
        _begin_folder(folder, experiment, prepared.tokenizer)
        with Recorder(
            folder, experiment, prepared, optimizer, progress, quiet
        ) as rec:
            fit(
                model,
                optimizer,
                prepared.batches,
                experiment.train,
                progress,
                rec.on_step,
                rec.on_epoch,
            )
            rec.finish(progress)
    return folder


def _beginning(
    folder: Path,
    experiment: Experiment,
    prepared: Prepared,
    progress: Progress,
    resume: bool,
) -> str:
    """What is trained, and from where on."""
    weights = sum(p.numel() for p in prepared.model.parameters())
    device = next(prepared.model.parameters()).device
    per_epoch = len(prepared.batches)
    epochs = experiment.train.epochs
    text = (
        f"{folder}: {weights:,} weights on {device}, "
        f"{len(prepared.splits.train):,} pairs, "
        f"{epochs} epochs of {per_epoch:,} steps"
    )
    if not resume:
        return text
    if progress.epoch >= epochs:
        return f"{text}; all are done, a larger --train.epochs would go on"
    return f"{text}; going on after step {progress.step:,}"


def trained(experiment: Experiment) -> checkpoint.Checkpoint:
    """The model of an experiment, trained on first use and then kept.

    Chapters share it: it stands in the course's cache, under a key made from
    the settings.
    """
    settings = json.dumps(asdict(experiment), sort_keys=True)
    key = hashlib.sha256(settings.encode()).hexdigest()[:12]
    place = cache_dir() / "runs"
    kept = dataclasses.replace(experiment, name=f"{experiment.name}-{key}")
    final = place / kept.name
    if not final.exists():
        with tempfile.TemporaryDirectory() as scratch:
            folder = run(kept, Path(scratch), quiet=True)
            place.mkdir(parents=True, exist_ok=True)
            best = checkpoint.load(folder / "checkpoints" / "best")
            checkpoint.save(
                final, best.model, best.tokenizer, details=best.details
            )
    return checkpoint.load(final, pick_device(experiment.train.device))


class TextNll(NamedTuple):
    """How surprised a model is by text that it has not learned."""

    nll: float
    """Nats per target token, eos counted."""
    accuracy: float
    """Share of the target tokens that were the likeliest."""
    tokens: int
    """Target tokens, eos counted."""
    characters: int
    """Characters of these tokens."""

    @property
    def nll_per_character(self) -> float:
        """Nats per character: comparable between tokenizers."""
        return self.nll * self.tokens / self.characters


def score_text(
    model: nn.Module, tokenizer: Tokenizer, text: ParallelText
) -> TextNll:
    """Score the target side of a text, given its sources if it has any.

    A pair that is longer than the model's ``max_length`` is scored up to
    there; a decoder-only model reads a long text in blocks, each without the
    ones before it.
    """
    batches = scored_batches(tokenizer, text, model.config)
    means = evaluate(model, batches)
    targets = [row for batch in batches for row in batch.tgt_out.tolist()]
    return TextNll(
        means["nll"],
        means["accuracy"],
        sum(i != PAD for row in targets for i in row),
        sum(len(tokenizer.decode(row)) for row in targets),
    )


class Recorder:
    """Writes down what happens in a training: the only one who touches files.

    A context manager: while it is open, Ctrl-C asks it to save and stop.
    """

    def __init__(
        self,
        folder: Path,
        experiment: Experiment,
        prepared: Prepared,
        optimizer,
        progress: Progress,
        quiet: bool = False,
    ):
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.experiment = experiment
        self.prepared = prepared
        self.model = prepared.model
        self.optimizer = optimizer
        self.quiet = quiet
        self.stop_asked = False
        self._started, self._tokens = time.monotonic(), 0
        forget_after(folder / "metrics.jsonl", progress)
        self._metrics = (folder / "metrics.jsonl").open("a", encoding="utf-8")
        self._board = SummaryWriter(
            folder / "tensorboard", purge_step=progress.step + 1
        )
        per_epoch = len(prepared.batches)
        self._bar = tqdm(
            total=experiment.train.epochs * per_epoch,
            initial=progress.step,
            unit="step",
            disable=quiet,
            dynamic_ncols=True,
            mininterval=1.0 if sys.stderr.isatty() else 30.0,
        )

    def __enter__(self) -> "Recorder":
        self._handler = signal.signal(signal.SIGINT, self._ask_to_stop)
        self._terminate = signal.signal(signal.SIGTERM, self._ask_to_stop)
        return self

    def __exit__(self, *error) -> None:
        signal.signal(signal.SIGINT, self._handler)
        signal.signal(signal.SIGTERM, self._terminate)
        self._bar.close()
        self._metrics.close()
        self._board.close()

    def _ask_to_stop(self, *_) -> None:
        if self.stop_asked:
            raise KeyboardInterrupt  # a second Ctrl-C does not wait
        self.stop_asked = True
        self._bar.write("saving; press Ctrl-C again to leave at once")

    def on_step(self, progress: Progress, score: Score, rate: float) -> None:
        """Record a step; save now and then, and when asked to stop."""
        means = score.means()
        tokens = int(score.tokens)
        self._tokens += tokens
        self._write(
            kind="step", step=progress.step, **means, tokens=tokens, lr=rate
        )
        speed = self._tokens / (time.monotonic() - self._started)
        self._bar.set_postfix_str(
            f"epoch {progress.epoch + 1} loss {means['loss']:.3f} "
            f"{speed:,.0f} tokens/s",
            refresh=False,
        )
        self._bar.update()
        if progress.step % 20 == 0:
            self._board.add_scalar("train/loss", means["loss"], progress.step)
            self._board.add_scalar("train/rate", rate, progress.step)
        if progress.step % self.experiment.train.save_every == 0:
            self._save("last", progress)
        if self.stop_asked:
            self._save("last", progress)
            raise Interrupted(
                f"stopped after step {progress.step}, and saved. Go on with "
                "the same command and --resume."
            )

    def on_epoch(self, progress: Progress, train: dict[str, float]) -> None:
        """Validate, show samples, keep the best and the last weights."""
        started = time.monotonic()
        metrics, samples = self._validate()
        record = {
            "kind": "epoch",
            "epoch": progress.epoch,
            "step": progress.step,
            **{f"train_{k}": v for k, v in train.items()},
            **{f"dev_{k}": v for k, v in metrics.items()},
            "padding_share": self.prepared.batches.padding_share,
            "samples": samples,
        }
        self._write(**record)
        self._show(record)
        self._started += time.monotonic() - started  # training time only
        quality = dev_quality(record)
        is_best = progress.best is None or quality > progress.best
        progress.best = quality if is_best else progress.best
        if is_best:
            self._save("best")
        if self.experiment.train.average_last:
            self._save(f"epoch-{progress.epoch:03d}")
            self._drop_old(progress.epoch)
        # at the end: a run that goes on from here does not make the others
        self._save("last", progress)

    def finish(self, progress: Progress) -> None:
        """Average the last epochs, and score the average too."""
        number = min(self.experiment.train.average_last, progress.epoch)
        if number < 2:
            return
        last = range(progress.epoch - number + 1, progress.epoch + 1)
        folders = [self.checkpoints / f"epoch-{n:03d}" for n in last]
        checkpoint.average(folders, self.model)
        metrics, samples = self._validate()
        record = {
            "kind": "average",
            "epochs": list(last),
            "step": progress.step,
            **{f"dev_{k}": v for k, v in metrics.items()},
            "samples": samples,
        }
        self._write(**record)
        self._show(record)
        self._save("average")

    def _validate(self) -> tuple[dict[str, float], list[dict[str, str]]]:
        """Scores on the development set, and samples.

        A translator is judged by BLEU. A next sentence has no one right
        answer, and a language model none at all: these are judged by the nll.
        """
        smoothing = self.experiment.train.label_smoothing
        metrics = evaluate(self.model, self.prepared.dev_batches, smoothing)
        metrics["perplexity"] = perplexity(metrics["nll"])
        if getattr(self.model.config, "decoder_only", False):
            return metrics, self._drawn()
        dev = self.prepared.splits.dev
        if self.experiment.data.translated:
            written = translate(self.model, self.prepared.tokenizer, dev.src)
            metrics["bleu"] = corpus_bleu(written, dev.tgt).value
        answers = answers_of(self.model, self.prepared.tokenizer, dev)
        return metrics, answers

    def _drawn(self) -> list[dict[str, str]]:
        """Texts drawn from a language model, the same draw each time."""
        device = next(self.model.parameters()).device
        self.model.eval()
        drawn = sample(
            self.model,
            prefix=torch.empty(SAMPLES, 0, dtype=torch.long),
            generator=torch.Generator(device).manual_seed(0),
        )
        self.model.train()
        texts = map(self.prepared.tokenizer.decode, drawn)
        return [{"src": "", "tgt": "", "sampled": text} for text in texts]

    def _show(self, record: dict) -> None:
        step = record["step"]
        for name, value in record.items():
            if isinstance(value, float):
                self._board.add_scalar(f"epoch/{name}", value, step)
        lines = [
            f"{s['src']}\n→ {s.get('greedy', s['sampled'])}"
            for s in record["samples"]
        ]
        self._board.add_text("samples", "\n\n".join(lines), step)
        self._board.flush()
        if self.quiet:
            return
        name = f"epoch {record['epoch']}" if "epoch" in record else "average"
        scores = ", ".join(
            f"{key} {record[f'dev_{key}']:.4g}"
            for key in ("nll", "perplexity", "accuracy", "bleu")
            if f"dev_{key}" in record
        )
        self._bar.write(f"{name}: dev {scores}\n" + "\n".join(lines))

    def _write(self, **record) -> None:
        self._metrics.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _save(self, name: str, progress: Progress | None = None) -> None:
        """Write a checkpoint; with ``progress``, one to go on from."""
        self._metrics.flush()
        os.fsync(self._metrics.fileno())
        resume = None
        if progress is not None:
            resume = resume_state(self.model, self.optimizer, progress)
        checkpoint.save(
            self.checkpoints / name,
            self.model,
            self.prepared.tokenizer,
            details=asdict(self.experiment.data),
            resume=resume,
        )

    def _drop_old(self, epoch: int) -> None:
        kept = self.experiment.train.average_last
        old = self.checkpoints / f"epoch-{epoch - kept:03d}"
        shutil.rmtree(old, ignore_errors=True)


def answers_of(
    model: nn.Module, tokenizer: Tokenizer, dev: ParallelText
) -> list[dict[str, str]]:
    """What a model says to some fixed sentences: greedy, beam, sampled."""
    text = dev.take(range(0, len(dev), -(-len(dev) // SAMPLES)))
    ways = {
        "src": text.src,
        "tgt": text.tgt,
        "greedy": translate(model, tokenizer, text.src),
        "beam": translate(model, tokenizer, text.src, BEAM_SIZE),
        "sampled": draw(model, tokenizer, text.src, seed=0),
    }
    rows = zip(*ways.values(), strict=True)
    return [dict(zip(ways, row, strict=True)) for row in rows]


def dev_quality(record: dict) -> float:
    """What checkpoints are chosen by, of a record of the metrics: BLEU on
    the development set, for a language model minus the nll; more is better.
    """
    return record.get("dev_bleu", -record["dev_nll"])


def chosen_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of a run that is best by its development set.

    The best epoch and the average of the last ones are compared by what the
    run recorded of them. Where it recorded neither, the average is taken if
    there is one, else the best, else the last; None if there are none.
    """
    quality = recorded_quality(folder / "metrics.jsonl")
    checkpoints = [folder / "checkpoints" / name for name in CHECKPOINTS]
    return max(
        filter(_exists, checkpoints),
        key=lambda path: quality.get(path.name, -math.inf),
        default=None,
    )


def recorded_quality(path: Path) -> dict[str, float]:
    """:func:`dev_quality` of a run's best and average, if they are there."""
    quality: dict[str, float] = {}
    for _, record in _whole_lines(path):
        if record["kind"] == "average":
            quality["average"] = dev_quality(record)
        elif record["kind"] == "epoch":
            so_far = quality.get("best", -math.inf)
            quality["best"] = max(so_far, dev_quality(record))
    return quality


def _whole_lines(path: Path) -> Iterator[tuple[str, dict]]:
    """The lines of a metrics file, up to one that was being written."""
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    for line in text.split("\n"):
        try:
            yield line, json.loads(line)
        except ValueError:
            return


def forget_after(path: Path, progress: Progress) -> None:
    """Drop from a metrics file what a kill left beyond the checkpoint."""
    if not path.exists():
        return
    kept = []
    for line, record in _whole_lines(path):
        done = record["kind"] == "step" and record["step"] <= progress.step
        done = (
            done or record.get("epoch", progress.epoch + 1) <= progress.epoch
        )
        if done:
            kept.append(line + "\n")
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(kept), encoding="utf-8")
    os.replace(fresh, path)


@contextlib.contextmanager
def _writing_in(folder: Path):
    """A full disk or a missing permission is the user's to put right."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"{folder} could not be written ({error}); the last checkpoint "
            "there is whole. Free some space, then go on with --resume."
        ) from error


def keep_freed_memory() -> None:
    """Tell glibc to keep freed blocks in place of giving them back.

    A training step asks for the same blocks again and again; this makes it
    1.2 to 1.6 times faster on a CPU (chapter 21). It holds for the whole
    process, so only a training's entry point calls it. Elsewhere than on
    Linux with glibc it does nothing.
    """
    trim_threshold, mmap_threshold, most = -1, -3, 2**30
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(mmap_threshold, most)
        libc.mallopt(trim_threshold, most)
    except (OSError, AttributeError):
        return


def _exists(folder: Path) -> bool:
    try:
        checkpoint.existing(folder)
    except CheckpointError:
        return False
    return True


def _check_folder(
    folder: Path, experiment: Experiment, resume: bool
) -> Tokenizer | None:
    """Make sure that the run may begin, or go on; its tokenizer, if any."""
    path = folder / "experiment.json"
    if not path.exists():
        if resume:
            raise CheckpointError(
                f"there is no run in {folder} to go on with: leave out "
                "--resume to begin one."
            )
        return None
    change = changed_setting(_settings(path), experiment, FREE)
    if change and resume:
        raise ConfigError(
            f"the run began with {change}: resume with the settings it began "
            "with, or give another --name."
        )
    if change:
        raise ConfigError(
            f"{folder} holds a run already, which began with {change}: give "
            "another --name."
        )
    if not resume:
        raise ConfigError(
            f"{folder} holds a run already: add --resume to go on with it, "
            "or give another --name."
        )
    return Tokenizer.load(folder / "tokenizer.model")


def _settings(path: Path) -> dict:
    try:
        settings = json.loads(path.read_text("utf-8"))
        return {part: settings[part] for part in ("data", "model", "train")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}): begin the run anew under another "
            "name."
        ) from error


def _begin_folder(
    folder: Path, experiment: Experiment, tokenizer: Tokenizer
) -> None:
    """Write settings and tokenizer; experiment.json last, so that a folder
    that has it has both."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(experiment), indent=1, ensure_ascii=False)
    for name, content in (
        ("tokenizer.model", tokenizer.model_proto),
        ("experiment.json", f"{text}\n".encode()),
    ):
        fresh = folder / f".{name}.new"
        fresh.write_bytes(content)
        os.replace(fresh, folder / name)


def changed_setting(old: dict, now: Experiment, free: Collection[str]) -> str:
    """The first setting that has changed, in words; "" if none.

    Args:
        old: what was stored, by part: data, model, train. A setting that is
            younger had its default then.
        now: the settings given.
        free: names that may change.
    """
    for part in ("data", "model", "train"):
        config = getattr(now, part)
        given = asdict(config)
        before = asdict(type(config)()) | old[part]
        for key in sorted(before.keys() | given.keys()):
            was, is_now = before[key], given.get(key)
            if was != is_now and key not in free:
                return f"{part}.{key} {was}, but {is_now} is given now"
    return ""


def _restore(last: Path, model: nn.Module, optimizer) -> Progress:
    try:
        saved = checkpoint.load(last)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error} A training goes on from {last} alone; if that cannot be "
            "put right, begin anew under another --name. The other "
            f"checkpoints in {last.parent} can still be used."
        ) from error
    if saved.resume is None:
        raise CheckpointError(f"{last} holds no state to go on from.")
    model.load_state_dict(saved.model.state_dict())
    return restore(saved.resume, model, optimizer)
