"""A model in a folder: config.json, model.safetensors, tokenizer.model.

Two files more hold what a training needs to go on: ``resume.safetensors`` and
``resume.json``. Nothing is ever unpickled. A folder is written beside its
place and then renamed, so that a kill or a full disk leaves the old one.
"""

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from transformer_course.config import (
    AnyModelConfig,
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
    from_dict,
)
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.recurrent import RecurrentTranslator
from transformer_course.tokenizer import Tokenizer
from transformer_course.transformer import LanguageModel, Transformer

FORMAT = 1
KINDS: dict[str, tuple[type, type]] = {
    "transformer": (ModelConfig, Transformer),
    "language_model": (LanguageModelConfig, LanguageModel),
    "recurrent": (RecurrentConfig, RecurrentTranslator),
}


class Resume(NamedTuple):
    """What a training needs, besides the weights, to go on as it was."""

    tensors: dict[str, Tensor]
    """The optimiser's moments and the random generators' states."""
    values: dict[str, Any]
    """Plain values: steps, epochs, the best score."""


class Checkpoint(NamedTuple):
    """What a folder holds."""

    model: nn.Module
    """In evaluation mode, on the CPU or the device asked for."""
    tokenizer: Tokenizer | None
    details: dict[str, Any]
    """What was saved beside the config: corpus, languages, scores."""
    resume: Resume | None


def build(config: AnyModelConfig) -> nn.Module:
    """A new model of the class that the config belongs to."""
    return KINDS[_kind(config)][1](config)


def save(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Tokenizer | None = None,
    details: dict[str, Any] | None = None,
    resume: Resume | None = None,
) -> None:
    """Write a checkpoint; afterwards the folder is whole, or as it was.

    Args:
        folder: where it shall stand; replaced when it is there.
        model: any model that has a ``config``.
        tokenizer: the one that the model's ids come from.
        details: plain values to keep with it.
        resume: state of the training.

    Raises:
        CheckpointError: it could not be written (disk full, no permission).
    """
    folder = Path(folder)
    fresh = folder.with_name(f".{folder.name}.new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        _write(fresh, model, tokenizer, details or {}, resume)
        _put_in_place(fresh, folder)
    except (OSError, safetensors.SafetensorError) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise CheckpointError(
            f"the checkpoint {folder} could not be written ({error}); what "
            "stood there before is untouched. Free some space, or name "
            "another folder."
        ) from error


def load(folder: str | Path, device: str | torch.device = "cpu") -> Checkpoint:
    """Read a checkpoint that :func:`save` wrote.

    Raises:
        CheckpointError: the folder is missing or damaged, of a newer format,
            of another tokenizer, or holds a pickle in place of safetensors.
    """
    folder = existing(folder)
    header = _read_json(folder / "config.json")
    _check_format(folder, header)
    model = _load_model(folder, header)
    tokenizer = _load_tokenizer(folder, header, model.config.vocab_size)
    return Checkpoint(
        model.to(device).eval(),
        tokenizer,
        header.get("details", {}),
        _load_resume(folder),
    )


def existing(folder: str | Path) -> Path:
    """The folder, or what an interrupted :func:`save` left of it.

    Raises:
        CheckpointError: no checkpoint there.
    """
    folder = Path(folder)
    previous = _previous(folder)
    if not folder.exists() and previous.exists():
        return previous
    if not (folder / "config.json").is_file():
        hint = ""
        if (folder / "last").is_dir() or (folder / "best").is_dir():
            hint = f" Did you mean {folder / 'best'}?"
        raise CheckpointError(
            f"there is no checkpoint in {folder}: expected config.json and "
            f"model.safetensors there.{hint}"
        )
    return folder


def average(folders: list[Path], model: nn.Module) -> None:
    """Set the model's weights to the mean of those in several checkpoints.

    Vaswani et al. 2017, section 6.1, average the last 5 or 20.
    """
    total: dict[str, Tensor] = {}
    for folder in folders:
        path = existing(folder) / "model.safetensors"
        for name, tensor in _read_tensors(path).items():
            total[name] = total.get(name, 0) + tensor.double()
    mean = {n: (t / len(folders)).float() for n, t in total.items()}
    _fill(model, mean, folders[-1])


def _kind(config: AnyModelConfig) -> str:
    for name, (config_class, _) in KINDS.items():
        if type(config) is config_class:
            return name
    raise ConfigError(
        f"no model is made from a {type(config).__name__}: give one of "
        f"{', '.join(c.__name__ for c, _ in KINDS.values())}."
    )


def _write(folder, model, tokenizer, details, resume) -> None:
    header = {
        "format": FORMAT,
        "kind": _kind(model.config),
        "model": asdict(model.config),
        "details": details,
    }
    if tokenizer is not None:
        proto = tokenizer.model_proto
        header["tokenizer_sha256"] = hashlib.sha256(proto).hexdigest()
        tokenizer.save(folder / "tokenizer.model")
    _write_tensors(folder / "model.safetensors", _weights(model))
    if resume is not None:
        _write_tensors(folder / "resume.safetensors", resume.tensors)
        _write_json(folder / "resume.json", resume.values)
    _write_json(folder / "config.json", header)
    for path in folder.iterdir():
        _to_disk(path)


def _weights(model: nn.Module) -> dict[str, Tensor]:
    """Each weight once: of tied ones the first name, buffers left out."""
    return {name: p.detach() for name, p in model.named_parameters()}


def _write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    whole = {n: t.cpu().contiguous() for n, t in tensors.items()}
    safetensors.torch.save_file(whole, path)


def _write_json(path: Path, values: dict) -> None:
    text = json.dumps(values, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _put_in_place(fresh: Path, folder: Path) -> None:
    """Two renames; between them :func:`existing` finds the old folder."""
    previous = _previous(folder)
    if folder.exists():
        shutil.rmtree(previous, ignore_errors=True)
        folder.rename(previous)
    fresh.rename(folder)
    shutil.rmtree(previous, ignore_errors=True)


def _read_json(path: Path) -> dict:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{path} is damaged ({error}): take another checkpoint."
        ) from error
    return values


def _check_format(folder: Path, header: dict) -> None:
    if not {"format", "kind", "model"} <= set(header):
        raise CheckpointError(
            f"{folder / 'config.json'} is not of a checkpoint of this "
            "package: give a folder that 'transformer-course train' or "
            "checkpoint.save has written."
        )
    number = header["format"]
    if not isinstance(number, int) or number > FORMAT:
        raise CheckpointError(
            f"{folder} has format {number}, but this version of the package "
            f"reads up to {FORMAT}: update the package."
        )
    if header["kind"] not in KINDS:
        raise CheckpointError(
            f"{folder} holds a model of kind {header['kind']!r}, but "
            f"only {', '.join(KINDS)} are known: update the package."
        )


def _load_model(folder: Path, header: dict) -> nn.Module:
    config_class, model_class = KINDS[header["kind"]]
    try:
        model = model_class(from_dict(config_class, header["model"]))
    except (ConfigError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise CheckpointError(
            f"{folder / 'config.json'} does not describe a model ({reason}): "
            "take another checkpoint."
        ) from error
    tensors = _read_tensors(folder / "model.safetensors")
    _fill(model, tensors, folder)
    return model


def _fill(model: nn.Module, tensors: dict[str, Tensor], folder) -> None:
    """Copy tensors into the parameters of the same names."""
    parameters = dict(model.named_parameters())
    wrong = sorted(set(parameters) ^ set(tensors)) or [
        name
        for name, tensor in tensors.items()
        if tensor.shape != parameters[name].shape
    ]
    if wrong:
        raise CheckpointError(
            f"the weights in {folder} do not fit its config.json, first at "
            f"{wrong[0]}: were files of two checkpoints mixed?"
        )
    with torch.no_grad():
        for name, tensor in tensors.items():
            parameters[name].copy_(tensor)


def _read_tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        pickled = sorted(path.parent.glob("*.pt")) + sorted(
            path.parent.glob("*.bin")
        )
        found = f" {pickled[0].name} is not read" if pickled else ""
        raise CheckpointError(
            f"{path} is missing.{found}: weights are read from safetensors "
            "only, since a pickle can run any code."
        )
    with path.open("rb") as file:
        start = file.read(9)
    is_safetensors = start[8:] == b"{"  # after 8 bytes of header length
    if not is_safetensors and start.startswith((b"PK", b"\x80")):
        raise CheckpointError(
            f"{path} is a pickle, not safetensors. It was not opened, since "
            "a pickle can run any code: ask for the safetensors file."
        )
    try:
        return safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path} is damaged or cut short ({error}): copy it again, or "
            "take another checkpoint."
        ) from error


def _load_tokenizer(
    folder: Path, header: dict, vocab_size: int
) -> Tokenizer | None:
    expected = header.get("tokenizer_sha256")
    if expected is None:
        return None
    path = folder / "tokenizer.model"
    if not path.is_file():
        raise CheckpointError(
            f"there is no tokenizer at {path}: {_right_one(folder)}"
        )
    tokenizer = Tokenizer.load(path)
    got = hashlib.sha256(tokenizer.model_proto).hexdigest()
    if got != expected:
        raise CheckpointError(
            f"{path} is not the tokenizer this model was trained with "
            f"(sha256 {got[:12]}…, expected {expected[:12]}…; vocabulary "
            f"{tokenizer.vocab_size}, the model's {vocab_size}): "
            f"{_right_one(folder)}"
        )
    return tokenizer


def _right_one(folder: Path) -> str:
    """Where the tokenizer is to be had: a run keeps a copy of its own."""
    copy = folder.absolute().parent.parent / "tokenizer.model"
    if copy.is_file():
        return f"put back the run's own, {copy}."
    return "put back the one that was saved with the model."


def _load_resume(folder: Path) -> Resume | None:
    if not (folder / "resume.json").is_file():
        return None
    tensors = _read_tensors(folder / "resume.safetensors")
    return Resume(tensors, _read_json(folder / "resume.json"))
