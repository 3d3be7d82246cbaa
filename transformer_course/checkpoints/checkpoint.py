"""Checkpoints: a folder with config.json, model.safetensors, tokenizer.model.

In the place of ``tokenizer.model``, a model with WordPiece has ``vocab.txt``
and ``tokenizer_config.json``, as published ones have. ``resume.safetensors``
and ``resume.json`` beside them hold the state of a training. Nothing is ever
unpickled. A checkpoint is written into a new folder that then takes its place
by renaming, so a killed process leaves a complete one.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NamedTuple

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from transformer_course import files
from transformer_course.checkpoints import int8
from transformer_course.checkpoints.kinds import MODEL_KINDS, model_type_of
from transformer_course.checks import from_dict, require_fits
from transformer_course.console import log
from transformer_course.data.tokenizer import AnyTokenizer, Tokenizer
from transformer_course.data.wordpiece import VOCABULARY, WordPiece
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
)
from transformer_course.models.config import AnyModelConfig, CustomConfig

FORMAT = 3
Build = Callable[[AnyModelConfig], nn.Module]
"""Makes a new model from a config."""
Tensors = dict[str, Tensor]


class Resume(NamedTuple):
    """The state of a training, besides the weights."""

    tensors: Tensors
    """The optimizer's moments and the states of the random generators."""
    values: dict[str, Any]
    """Plain values: steps, epochs, the best score."""


class Checkpoint(NamedTuple):
    """The content of a checkpoint's folder."""

    model: nn.Module
    """In evaluation mode, on the device asked for."""
    tokenizer: AnyTokenizer | None
    details: dict[str, Any]
    """Saved with the model: task, corpus, languages."""
    resume: Resume | None


def build(config: AnyModelConfig) -> nn.Module:
    """A new model of the class that the config belongs to."""
    return resolve_name(MODEL_KINDS[model_type_of(config)][1])(config)


def config_to_dict(config: AnyModelConfig) -> dict[str, Any]:
    """The settings of a model for JSON, its ``model_type`` first.

    Raises:
        ConfigError: its class is not in :data:`~.kinds.MODEL_KINDS`.
    """
    return {"model_type": model_type_of(config), **asdict(config)}


def config_from_dict(values: dict[str, Any]) -> AnyModelConfig:
    """The inverse of :func:`config_to_dict`; settings may be left out.

    Raises:
        ConfigError: ``model_type`` is not in :data:`~.kinds.MODEL_KINDS`, or
            that kind has no such setting, or it cannot have that value.
    """
    settings = dict(values)
    model_type = settings.pop("model_type", None)
    # pyrefly: ignore[invalid-literal], since it is no annotation
    require_fits("model_type", model_type, Literal[tuple(MODEL_KINDS)])
    return from_dict(MODEL_KINDS[model_type][0], settings)


def save(
    folder: str | Path,
    model: nn.Module,
    tokenizer: AnyTokenizer | None = None,
    details: dict[str, Any] | None = None,
    resume: Resume | None = None,
    eight_bits: bool = False,
) -> None:
    """Write a checkpoint; an older one in the same folder is replaced.

    Args:
        folder: where.
        model: any model of :data:`~.kinds.MODEL_KINDS`.
        tokenizer: its tokenizer.
        details: plain values to keep with it.
        resume: state of the training.
        eight_bits: store matrices by :mod:`~.int8`.

    Raises:
        CheckpointError: it could not be written (disk full, no permission),
            or the folder holds something other than a checkpoint.
        ConfigError: the model has LoRA, which is to be merged before.
        DivergedError: a weight, or a moment of one, is not finite.
    """
    if any(hasattr(part, "merged") for part in model.modules()):
        raise ConfigError(
            "the model has LoRA around its layers, which a checkpoint has no "
            "room for: call merge_lora(model) before saving it."
        )
    weights = weights_of(model)
    _check_finite(weights | (resume.tensors if resume else {}))
    header = {
        "format": FORMAT,
        "model": config_to_dict(model.config),
        "details": details or {},
    }
    place = Path(os.path.abspath(folder))
    fresh = place.with_name(f".{place.name}.new")
    try:
        _check_place(place)
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        _write_json(fresh / "config.json", header)
        stored = int8.packed(weights) if eight_bits else weights
        _write_tensors(fresh / "model.safetensors", stored)
        save_tokenizer(fresh, tokenizer)
        if resume is not None:
            _write_tensors(fresh / "resume.safetensors", resume.tensors)
            _write_json(fresh / "resume.json", resume.values)
        _replace(fresh, place)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"the checkpoint {folder} could not be written ({error}); what "
            "was there before is untouched. Free some space, or name another "
            "folder."
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load(
    folder: str | Path,
    device: str | torch.device | None = None,
    build: Build = build,
) -> Checkpoint:
    """Read a checkpoint that :func:`save` wrote.

    Args:
        folder: where it stands.
        device: of the model; where tensors are made by default, if None.
        build: makes the model, if not :func:`build`.

    Raises:
        CheckpointError: there is none, or it is damaged, or of another
            format.
    """
    folder = existing(folder)
    header = read_config(folder)
    try:
        config = config_from_dict(header["model"])
        if isinstance(config, CustomConfig):
            _say_whose_code(config, folder)
        model = build(config)
    except (ConfigError, RuntimeError, TypeError, ValueError) as error:
        raise no_model(folder / "config.json", error) from error
    fill(model, _finite_weights(folder), folder)
    tokenizer = load_tokenizer(folder)
    resume = None
    if (folder / "resume.json").exists():
        resume = Resume(
            read_tensors(folder / "resume.safetensors"),
            _read_json(folder / "resume.json"),
        )
    model = model.to(device or torch.get_default_device()).eval()
    return Checkpoint(model, tokenizer, header["details"], resume)


def _say_whose_code(config: CustomConfig, folder: Path) -> None:
    """Warn, before it runs, of code that is not the user's file of today."""
    try:
        text = Path(config.file).read_text("utf-8-sig").rstrip()
    except (OSError, UnicodeDecodeError):
        log(
            f"warning: {folder} holds a model with code of its own, which "
            "runs now. If you did not train it, read that code first: it "
            "stands in config.json there."
        )
        return
    if not config.code.startswith(text):  # the course's parts may follow
        log(
            f"{config.file} has changed since {folder} was trained: the copy "
            "that is stored there is used."
        )


def save_tokenizer(folder: Path, tokenizer: AnyTokenizer | None) -> None:
    """Write a tokenizer, if there is one, into a folder."""
    if isinstance(tokenizer, WordPiece):
        tokenizer.save(folder)
    elif tokenizer is not None:
        tokenizer.save(folder / "tokenizer.model")


def load_tokenizer(folder: Path) -> AnyTokenizer | None:
    """The tokenizer in a folder; None where there is none.

    Raises:
        TokenizerError: it is damaged.
    """
    if (folder / VOCABULARY).exists():
        return WordPiece.load(folder)
    path = folder / "tokenizer.model"
    return Tokenizer.load(path) if path.exists() else None


def existing(folder: str | Path) -> Path:
    """The folder, or the old checkpoint that an interrupted ``save`` left.

    Raises:
        CheckpointError: there is no checkpoint.
    """
    place = Path(os.path.abspath(folder))
    for found in (Path(folder), _previous(place)):
        if (found / "config.json").is_file():
            return found
    raise CheckpointError(
        f"there is no checkpoint in {folder}: expected config.json and "
        "model.safetensors there."
    )


def read_config(folder: Path) -> dict[str, Any]:
    """The content of config.json: format, model and details.

    Raises:
        CheckpointError: it is not one of this package and format.
    """
    path = folder / "config.json"
    header = _read_json(path)
    if header.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} is not of a checkpoint of this package (format "
            f"{header.get('format')}, expected {FORMAT}): give a folder that "
            "'transformer-course train' or checkpoint.save has written."
        )
    for key in ("model", "details"):
        if not isinstance(header.get(key), dict):
            raise no_model(path, f"{key} is not an object")
    return header


def is_published(folder: Path) -> bool:
    """Whether a folder is in the form of Hugging Face's library."""
    try:
        return "model_type" in files.read_json(folder / "config.json")
    except (OSError, ValueError):
        return False


def average(folders: list[Path], model: nn.Module) -> None:
    """Set the model's weights to the mean of those in several checkpoints.

    Vaswani et al. 2017, section 6.1, average the last 5 or 20.
    """
    total: Tensors = {}
    for folder in folders:
        found = _finite_weights(existing(folder))
        _check_fit(model, found, folder)
        for name, tensor in found.items():
            total[name] = total.get(name, 0) + tensor.double()
    mean = {n: (t / len(folders)).float() for n, t in total.items()}
    fill(model, mean, folders[0])


# --- tensors ----------------------------------------------------------------


def weights_of(model: nn.Module) -> Tensors:
    """Each parameter once: tied ones by their first name; no buffers."""
    return {name: p.detach() for name, p in model.named_parameters()}


def fill(model: nn.Module, tensors: Tensors, folder: Path) -> None:
    """Copy tensors into the parameters of the same names.

    Raises:
        CheckpointError: names or shapes are not the model's.
    """
    _check_fit(model, tensors, folder)
    for name, parameter in weights_of(model).items():
        parameter.copy_(tensors[name])


def read_tensors(path: Path) -> Tensors:
    """Read a safetensors file; matrices in eight bits become ``float32``.

    Raises:
        CheckpointError: it is missing, damaged, or no safetensors file.
    """
    try:
        return int8.unpacked(safetensors.torch.load_file(path))
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{path} cannot be read as safetensors ({error}): it is missing, "
            "damaged, or a pickle, which is never opened. Copy it again, or "
            "take another checkpoint."
        ) from error


def not_finite(tensors: Tensors) -> str:
    """The name of the first tensor with an inf or nan in it; "" if none."""
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            return name
    return ""


def _finite_weights(folder: Path) -> Tensors:
    tensors = read_tensors(folder / "model.safetensors")
    if name := not_finite(tensors):
        raise CheckpointError(
            f"the weights in {folder} are not finite, first {name}: "
            "its training had diverged. Take another checkpoint."
        )
    return tensors


def _check_finite(tensors: Tensors) -> None:
    if name := not_finite(tensors):
        raise DivergedError(
            f"{name} is not finite any more: training has diverged, and "
            "nothing was saved. Lower the peak rate, lengthen the warm-up, "
            "or clip the gradient."
        )


def _check_fit(model: nn.Module, tensors: Tensors, folder: Path) -> None:
    parameters = weights_of(model)
    wrong = sorted(set(parameters) ^ set(tensors)) or [
        name
        for name, tensor in tensors.items()
        if tensor.shape != parameters[name].shape
    ]
    if wrong:
        raise CheckpointError(
            f"the weights in {folder} do not fit the model, first at "
            f"{wrong[0]}: were files of two checkpoints mixed? If the model "
            "was changed after it was built, give the function that builds "
            "it so: load(folder, build=...)."
        )


def _write_tensors(path: Path, tensors: Tensors) -> None:
    stored = {name: t.cpu().contiguous() for name, t in tensors.items()}
    safetensors.torch.save_file(stored, path)


# --- files ------------------------------------------------------------------


def no_model(path: Path, why: Exception | str) -> CheckpointError:
    """The error for settings from which no model can be made."""
    reason = str(why).strip().partition("\n")[0]
    return CheckpointError(
        f"{path} does not describe a model ({reason}): take another "
        "checkpoint."
    )


def _check_place(place: Path) -> None:
    """Refuse to replace a folder that is not a checkpoint."""
    if place.is_dir() and not (place / "config.json").is_file():
        for other in place.iterdir():
            raise CheckpointError(
                f"{place} holds {other.name}, but no checkpoint: it was left "
                "as it is. Name another folder."
            )


def _previous(place: Path) -> Path:
    return place.with_name(f".{place.name}.old")


def _replace(fresh: Path, place: Path) -> None:
    """Two renames; between them :func:`existing` finds the old folder."""
    previous = _previous(place)
    if place.exists():
        shutil.rmtree(previous, ignore_errors=True)
        place.rename(previous)
    fresh.rename(place)
    shutil.rmtree(previous, ignore_errors=True)


def _write_json(path: Path, values: dict) -> None:
    text = json.dumps(values, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} cannot be read ({error}): take another checkpoint."
        ) from error
