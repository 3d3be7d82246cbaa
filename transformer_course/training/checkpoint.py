"""A model in a folder: config.json, model.safetensors, tokenizer.model.

Two files more hold what a training needs to go on: ``resume.safetensors`` and
``resume.json``. Nothing is ever unpickled. A folder is written beside its
place and then renamed, so that a kill or a full disk leaves the old one.
``config.json`` holds the sha256 of the other files, so that damage and files
of two checkpoints are noticed.
"""

import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer_course import files
from transformer_course.checks import from_dict
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import (
    CheckpointError,
    ConfigError,
    DivergedError,
)
from transformer_course.models.bert import BertPreTraining, TextClassifier
from transformer_course.models.bert_config import (
    BertConfig,
    RecurrentClassifierConfig,
    TextClassifierConfig,
)
from transformer_course.models.config import (
    AnyModelConfig,
    LanguageModelConfig,
    ModelConfig,
    RecurrentConfig,
)
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.recurrent import (
    RecurrentClassifier,
    RecurrentTranslator,
)
from transformer_course.models.transformer import LanguageModel, Transformer
from transformer_course.models.vit import (
    ConvolutionalNetwork,
    VisionTransformer,
)
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)
from transformer_course.training import int8
from transformer_course.training.checkpoint_files import (
    FILES,
    FORMAT,
    Content,
    no_model,
    parsed,
    previous_of,
    read_all,
    read_header,
    settled,
)
from transformer_course.training.weights import (
    Tensors,
    check_fit,
    fill,
    not_finite,
    pack,
    weights_of,
)

KINDS: dict[str, tuple[type, type]] = {
    "transformer": (ModelConfig, Transformer),
    "language_model": (LanguageModelConfig, LanguageModel),
    "recurrent": (RecurrentConfig, RecurrentTranslator),
    "vision_transformer": (VisionConfig, VisionTransformer),
    "convolutional": (ConvolutionalConfig, ConvolutionalNetwork),
    "bert": (BertConfig, BertPreTraining),
    "text_classifier": (TextClassifierConfig, TextClassifier),
    "recurrent_classifier": (RecurrentClassifierConfig, RecurrentClassifier),
    "modern_language_model": (ModernConfig, ModernLanguageModel),
}
INVALID = (AssertionError, LookupError, RuntimeError, TypeError, ValueError)
"""What classes raise that are built with values of any kind."""


Build = Callable[[AnyModelConfig], nn.Module]
"""From a config to a new model."""


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


class _NothingDrawn(TorchFunctionMode):
    """Leaves weights as they are: to draw them on the meta device would make
    torch import its compiler, which takes two seconds."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **kwargs)


def shapes_of(config: AnyModelConfig, build: Build = build) -> nn.Module:
    """The model without its numbers, so that none takes memory.

    Raises:
        ConfigError: it has more numbers than can be counted.
    """
    try:
        with torch.device("meta"), _NothingDrawn():
            return build(config)
    except (OverflowError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(
            f"no model can be made with these sizes ({reason}): choose "
            "smaller ones."
        ) from error


def check_memory(model: nn.Module, copies: int = 1) -> None:
    """See that a model is not larger than the memory that is free.

    Args:
        model: its shapes are enough.
        copies: how often it will be there: with a gradient and two moments of
            Adam, four times.

    Raises:
        ConfigError: it is larger.
    """
    tensors = [*model.parameters(), *model.buffers()]
    needed = copies * sum(tensor.nbytes for tensor in tensors)
    free = psutil.virtual_memory().available
    if needed > free:
        raise ConfigError(
            f"the model takes {needed / 1e9:,.1f} GB of memory, of which "
            f"{free / 1e9:,.1f} are free: choose a smaller one."
        )


def save(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Tokenizer | None = None,
    details: dict[str, Any] | None = None,
    resume: Resume | None = None,
    eight_bits: bool = False,
) -> None:
    """Write a checkpoint; afterwards the folder is whole, or as it was.

    Processes that write into one place do so one after the other.

    Args:
        folder: where it shall stand; a checkpoint there is replaced, behind
            a symbolic link too.
        model: any model that has a ``config``.
        tokenizer: the one that the model's ids come from.
        details: plain values to keep with it.
        resume: state of the training.
        eight_bits: store matrices by :mod:`~.int8`.

    Raises:
        CheckpointError: it could not be written (disk full, no permission),
            or something else than a checkpoint stands there.
        DivergedError: a weight, or a moment of one, is not finite.
    """
    _check_finite(weights_of(model) | (resume.tensors if resume else {}))
    place = Path(os.path.realpath(folder))
    fresh = place.parent / f".{place.name}.{secrets.token_hex(8)}.new"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(place.parent, wait=True):
            _check_place(place)
            _clear(place)
            fresh.mkdir()
            weights = weights_of(model)
            if eight_bits:
                weights = int8.packed(weights)
            _write_tensors(fresh / "model.safetensors", weights)
            _write(fresh, model, tokenizer, details or {}, resume)
            _put_in_place(fresh, place)
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {folder} could not be written ({error}); what "
            "stood there before is untouched. Free some space, or name "
            "another folder."
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load(
    folder: str | Path,
    device: str | torch.device = "cpu",
    build: Build = build,
) -> Checkpoint:
    """Read a checkpoint that :func:`save` wrote.

    Args:
        folder: where it stands.
        device: where the model shall be.
        build: what made the model, where it was not :func:`build`.

    Raises:
        CheckpointError: the folder is missing or damaged, of another format,
            of another tokenizer, or holds a pickle in place of safetensors.
    """
    content = settled(folder, read_all)
    model = _model(content, build)
    tokenizer = None
    if "tokenizer.model" in content.files:
        tokenizer = Tokenizer(content.files["tokenizer.model"])
    return Checkpoint(
        model.to(device).eval(),
        tokenizer,
        content.header["details"],
        _resume(content),
    )


def existing(folder: str | Path) -> Path:
    """The folder, or what an interrupted :func:`save` left of it.

    Raises:
        CheckpointError: no checkpoint there.
    """
    return settled(folder, lambda found: found)


def tokenizer_sha256(folder: str | Path) -> str | None:
    """Of the tokenizer.model that a checkpoint's ids come from, if any.

    Raises:
        CheckpointError: no checkpoint there, or a damaged one.
    """
    return settled(folder, read_header).get("tokenizer_sha256")


def average(folders: list[Path], model: nn.Module) -> None:
    """Set the model's weights to the mean of those in several checkpoints.

    Vaswani et al. 2017, section 6.1, average the last 5 or 20.
    """
    total: dict[str, Tensor] = {}
    for folder in folders:
        found = _weights(settled(folder, read_all))
        check_fit(model, found, folder)
        for name, tensor in found.items():
            total[name] = total.get(name, 0) + tensor.double()
    fill(model, {n: (t / len(folders)).float() for n, t in total.items()})


def _kind(config: AnyModelConfig) -> str:
    for name, (config_class, _) in KINDS.items():
        if type(config) is config_class:
            return name
    raise ConfigError(
        f"no model is made from a {type(config).__name__}: give one of "
        f"{', '.join(c.__name__ for c, _ in KINDS.values())}."
    )


# --- writing ----------------------------------------------------------------


def _check_finite(tensors: Tensors) -> None:
    if name := not_finite(tensors):
        raise DivergedError(
            f"{name} is not finite any more: training has diverged, and "
            "nothing was saved. Lower the peak rate, lengthen the warm-up, "
            "or clip the gradient."
        )


def _check_place(place: Path) -> None:
    """Only a checkpoint is replaced, and one that may be."""
    if not place.exists():
        return
    files.check_permission(place)
    others = sorted(path.name for path in place.iterdir())
    if others and "config.json" not in others:
        raise CheckpointError(
            f"{place} holds {others[0]}, and is no checkpoint: it was left "
            "as it is. Name another folder."
        )


def _clear(place: Path) -> None:
    """Delete what killed processes were writing."""
    for left in place.parent.glob(f".{glob.escape(place.name)}.*.new"):
        shutil.rmtree(left, ignore_errors=True)


def _write(folder, model, tokenizer, details, resume) -> None:
    """All but the weights, and their hashes."""
    if tokenizer is not None:
        files.write_whole(folder / "tokenizer.model", tokenizer.model_proto)
    if resume is not None:
        _write_tensors(folder / "resume.safetensors", resume.tensors)
        _write_json(folder / "resume.json", resume.values)
    hashes = {
        key: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name, key in FILES.items()
        if (folder / name).exists()
    }
    header = {
        "format": FORMAT,
        "kind": _kind(model.config),
        "model": asdict(model.config),
        "details": details,
    }
    _write_json(folder / "config.json", header | hashes)


def _write_tensors(path: Path, tensors: Tensors) -> None:
    files.write_whole(path, pack(tensors))


def _write_json(path: Path, values: dict) -> None:
    text = json.dumps(values, indent=1, ensure_ascii=False)
    files.write_whole(path, text + "\n")


def _put_in_place(fresh: Path, place: Path) -> None:
    """Two renames; between them :func:`existing` finds the old folder."""
    previous = previous_of(place)
    if place.exists():
        shutil.rmtree(previous, ignore_errors=True)
        place.rename(previous)
    fresh.rename(place)
    shutil.rmtree(previous, ignore_errors=True)


# --- from what was read to a model ------------------------------------------


def _weights(content: Content) -> Tensors:
    tensors = content.tensors("model.safetensors")
    if name := not_finite(tensors):
        raise CheckpointError(
            f"the weights in {content.folder} are not finite, first {name}: "
            "its training had diverged. Take another checkpoint."
        )
    return tensors


def _model(content: Content, build: Build) -> nn.Module:
    """Built and filled, once it is known that the weights fit."""
    folder, header = content.folder, content.header
    if header["kind"] not in list(KINDS):
        raise CheckpointError(
            f"{folder} holds a model of kind {header['kind']!r}, but "
            f"only {', '.join(KINDS)} are known: update the package."
        )
    config_class, _ = KINDS[header["kind"]]
    values, tensors = header["model"], _weights(content)
    try:
        config = from_dict(config_class, values)
        _check_depth(values, tensors)
        shapes = shapes_of(config, build)
        check_fit(shapes, tensors, folder)
        check_memory(shapes)
    except INVALID as error:
        raise no_model(folder / "config.json", error) from error
    model = build(config)
    fill(model, tensors)
    return model


def _check_depth(values: dict[str, Any], tensors: Tensors) -> None:
    """Raise a ConfigError for more layers than there are tensors."""
    if values.get("n_layers", 0) > len(tensors):
        raise ConfigError(
            f"n_layers is {values['n_layers']}, but there are only "
            f"{len(tensors)} tensors of weights"
        )


def _resume(content: Content) -> Resume | None:
    if not {"resume.json", "resume.safetensors"} <= set(content.files):
        return None
    path = content.folder / "resume.json"
    values = parsed(content.files["resume.json"], path)
    return Resume(content.tensors("resume.safetensors"), values)
