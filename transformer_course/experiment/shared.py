"""The few small models that chapters share: trained once, then kept."""

import ast
import dataclasses
import functools
import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch

from transformer_course import checkpoint, files
from transformer_course.config import Experiment
from transformer_course.data.manifest import cache_dir
from transformer_course.device import pick_device
from transformer_course.experiment.prepare import identified
from transformer_course.experiment.training import run

PACKAGE = Path(__file__).parents[1]


def trained(experiment: Experiment) -> checkpoint.Checkpoint:
    """The model of an experiment, trained on first use and then kept.

    It stands in the course's cache, under a key made from the settings, from
    the code that trains it and from torch's version: after a change to any of
    them it is trained anew. Of several processes that want it, one trains and
    the others wait.
    """
    name = f"{experiment.name}-{_key(experiment)}"
    place = cache_dir() / "runs"
    final = place / name
    with files.locked(place / ".locks" / name, wait=True):
        if not final.exists():
            _train_into(final, dataclasses.replace(experiment, name=name))
    return checkpoint.load(final, pick_device(experiment.train.device))


def _train_into(final: Path, experiment: Experiment) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = run(experiment, Path(scratch), quiet=True)
        best = checkpoint.load(folder / "checkpoints" / "best")
        checkpoint.save(
            final, best.model, best.tokenizer, details=best.details
        )


def _key(experiment: Experiment) -> str:
    parts = [
        json.dumps(asdict(identified(experiment)), sort_keys=True),
        type(experiment.model).__name__,
        fingerprint("transformer_course.experiment.training"),
        torch.__version__,
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@functools.cache
def fingerprint(module: str) -> str:
    """A hash of a module's code and of all that it imports of the package.

    Comments, docstrings and layout do not count: they change no result.

    Args:
        module: its full name.
    """
    digest = hashlib.sha256()
    seen, left = set(), [module]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        tree = ast.parse(_path(name).read_text("utf-8"))
        left += sorted(_imported(tree), reverse=True)
        digest.update(f"{name}\n{ast.dump(_bare(tree))}\n".encode())
    return digest.hexdigest()


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
