"""Small models that a chapter trains: once, then they are stored."""

import ast
import dataclasses
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import torch
from filelock import FileLock

from transformer_course.data.download import cache_dir
from transformer_course.device import pick_device
from transformer_course.training import checkpoint
from transformer_course.training.config import Experiment
from transformer_course.training.run.prepare import complete
from transformer_course.training.run.training import run
from transformer_course.training.tasks.table import experiment_to_dict

PACKAGE = Path(__file__).parents[1]
KEY_LENGTH = 12
FOLDERS = ("batches", "data", "training")
"""Folders of the package whose code is part of every model's key."""
MODELS_IMPORT = re.compile(r"^from transformer_course\.models\.(\w+) ", re.M)


def trained(experiment: Experiment) -> checkpoint.Checkpoint:
    """The model of an experiment, trained on first use and then stored.

    It is in the course's cache, under a key made from the settings, the code
    that makes it and torch's version: after a change to any of them it is
    trained anew. The last two models of each experiment are stored. Of
    several processes that need one, one trains and the others wait.
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
    """Keep the newest model of an experiment and the one before it."""
    key = "[0-9a-f]" * KEY_LENGTH
    there = set(newest.parent.glob(f"{glob.escape(name)}-{key}")) - {newest}
    for folder in sorted(there, key=os.path.getmtime)[:-1]:
        shutil.rmtree(folder, ignore_errors=True)


def _key(experiment: Experiment) -> str:
    """A hash of the settings, of torch's version and of the code.

    That is the code of :data:`FOLDERS` and of the model's module, with the
    modules of ``models`` that it imports: other architectures are left out.
    """
    model = dict(checkpoint.KINDS.values())[type(experiment.model)]
    own, left = set(), {model.__module__.rpartition(".")[2]}
    while left:
        own |= left
        imported = [MODELS_IMPORT.findall(_source(_model(m))) for m in left]
        left = {name for names in imported for name in names} - own
    paths = [p for f in FOLDERS for p in sorted((PACKAGE / f).rglob("*.py"))]
    paths += [_model(name) for name in sorted(own)]
    parts = [
        json.dumps(experiment_to_dict(complete(experiment))),
        *(_code(_source(path)) for path in paths),
        torch.__version__,
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return digest[:KEY_LENGTH]


def _model(name: str) -> Path:
    return PACKAGE / "models" / f"{name}.py"


def _source(path: Path) -> str:
    return path.read_text("utf-8")


@functools.cache
def _code(source: str) -> str:
    """The code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list):
            node.body = [n for n in node.body if not _is_text(n)]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
