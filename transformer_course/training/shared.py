"""The few small models that chapters share: trained once, then kept."""

import ast
import dataclasses
import functools
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import torch
from filelock import FileLock

from transformer_course.data.corpora import Corpus
from transformer_course.data.download import cache_dir
from transformer_course.device import pick_device
from transformer_course.training import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.run.prepare import with_digests
from transformer_course.training.run.training import run
from transformer_course.training.tasks.table import find_task
from transformer_course.training.tasks.task import corpus_of

PACKAGE = Path(__file__).parents[1]
KEY_LENGTH = 12
LEFT_OUT = (
    # tables of everything there is: the entry in use is followed by itself
    "training.checkpoint",
    "data.corpora",
    "training.tasks.table",
    # where files are, and what is told
    "console",
    "data.download",
    "errors",
    "training.run.folder",
    "files",
    # what is written between epochs, and its score
    "decoding.generate",
    "evaluation.bleu",
    "decoding.search",
    "decoding.translate",
)
"""Modules that no model is trained anew for."""


def trained(experiment: Experiment) -> checkpoint.Checkpoint:
    """The model of an experiment, trained on first use and then kept.

    It stands in the course's cache, under a key made from the settings, from
    the code that makes it (:func:`modules_of`) and from torch's version:
    after a change to any of them it is trained anew. Of each experiment the
    last two models are kept. Of several processes that want one, one trains
    and the others wait.
    """
    name = f"{experiment.name}-{_key(experiment)}"
    place = cache_dir() / "runs"
    final = place / name
    place.mkdir(parents=True, exist_ok=True)
    with FileLock(place / f".{name}.lock"):
        if not final.exists():
            _train_into(final, dataclasses.replace(experiment, name=name))
            _remove_older(final, experiment.name)
    return checkpoint.load(final, pick_device(experiment.train.device))


def _train_into(final: Path, experiment: Experiment) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = run(experiment, Path(scratch), quiet=True)
        best = checkpoint.load(folder / "checkpoints" / "best")
        checkpoint.save(
            final, best.model, best.tokenizer, details=best.details
        )


def _remove_older(newest: Path, name: str) -> None:
    """Of an experiment, keep the newest model and the one before it."""
    key = "[0-9a-f]" * KEY_LENGTH
    there = set(newest.parent.glob(f"{glob.escape(name)}-{key}")) - {newest}
    for folder in sorted(there, key=os.path.getmtime)[:-1]:
        shutil.rmtree(folder, ignore_errors=True)


def _key(experiment: Experiment) -> str:
    parts = [
        json.dumps(asdict(with_digests(experiment)), sort_keys=True),
        type(experiment.model).__name__,
        *(f"{name}\n{_read(name).code}" for name in modules_of(experiment)),
        torch.__version__,
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return digest[:KEY_LENGTH]


# --- the code that makes a model ---------------------------------------------


def modules_of(experiment: Experiment) -> list[str]:
    """The modules whose code decides what an experiment's model becomes.

    They are the model's own module, the task's, the corpus' loader,
    ``run.prepare`` and ``.checkpoints``, ``loop``, and what these
    import of the package. Other architectures are not among them, nor is
    what changes no weights: :data:`LEFT_OUT`.
    """
    models = dict(checkpoint.KINDS.values())
    model = models[type(experiment.model)].__module__
    others = {kind.__module__ for kind in models.values()}
    training = {
        f"{PACKAGE.name}.training.run.prepare",
        f"{PACKAGE.name}.training.run.checkpoints",
        f"{PACKAGE.name}.training.loop",
        type(find_task(experiment.task)).__module__,
        *_loaders(corpus_of(experiment.data)),
    }
    left_out = {f"{PACKAGE.name}.{name}" for name in LEFT_OUT}
    found = _closure({model}, left_out) | _closure(training, left_out | others)
    return sorted(found)


def _loaders(corpus: Corpus) -> Iterator[str]:
    """The modules that load a corpus of the table.

    A reader's own files are loaded by what ``run.prepare`` imports.
    """
    if corpus.images:
        yield f"{PACKAGE.name}.data.images"
    for load in (corpus.pairs, corpus.texts, corpus.labelled, corpus.works):
        if load and load.__module__.startswith(f"{PACKAGE.name}."):
            yield load.__module__


def _closure(modules: set[str], left_out: set[str]) -> set[str]:
    """Modules, and all that they import of the package."""
    seen, left = set(), modules - left_out
    while left:
        seen |= left
        imported = {name for one in left for name in _read(one).imports}
        left = imported - seen - left_out
    return seen


class Source(NamedTuple):
    """A module as it is hashed."""

    code: str
    """Without comments, docstrings and layout, which change no result."""
    imports: frozenset[str]
    """Other modules of the package."""


@functools.cache
def _read(module: str) -> Source:
    return _source(_path(module).read_text("utf-8"))


def _source(text: str) -> Source:
    tree = ast.parse(text)
    imports = frozenset(_imported(tree))
    return Source(ast.dump(_bare(tree)), imports)


def _path(module: str) -> Path:
    """Where a module of the package stands."""
    base = PACKAGE.joinpath(*module.split(".")[1:])
    package = base / "__init__.py"
    return package if package.exists() else base.with_suffix(".py")


def _imported(tree: ast.Module) -> Iterator[str]:
    """The package's modules that a module imports, at whatever place."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        for name in (node.module, *names):
            if name.startswith(f"{PACKAGE.name}.") and _path(name).exists():
                yield name


def _bare(tree: ast.Module) -> ast.Module:
    """The same code without docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not _is_text(n)]
    return tree


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
