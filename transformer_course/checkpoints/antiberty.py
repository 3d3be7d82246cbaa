"""Published weights of a masked model of proteins: AntiBERTy (chapter 18).

The package antiberty 0.1.3 carries AntiBERTy (Ruffolo et al. 2021, MIT), a
BERT whose words are the 20 amino acids of antibodies. No code of it is run.
Its file is a pickle, which is opened as tensors alone and written once as
safetensors, into the folder that downloads go to; from there it is read as
any published BERT::

    model, tokenizer = load_published(antiberty_folder())[:2]
"""

import shutil
from pathlib import Path

import safetensors.torch
import torch

from transformer_course import files
from transformer_course.data.download import cache_dir
from transformer_course.errors import CourseError

ANTIBERTY = "antiberty"
"""The package; its version 1.0.0 carries no weights."""
OTHER_HEADS = ("cls.species.", "cls.chain.", "cls.graft.")
"""Beginnings of what stands above the body besides the word head: which
animal, which chain, and whether a stretch was exchanged."""


def antiberty_file() -> Path:
    """Where the package :data:`ANTIBERTY` keeps its weights.

    Raises:
        CourseError: it is not installed, or carries none.
    """
    advice = "'pip install --no-deps antiberty==0.1.3' brings its weights."
    for path in files.of_package(ANTIBERTY, advice):
        if path.name == "pytorch_model.bin":
            return path
    raise CourseError(f"this version of {ANTIBERTY} has no weights: {advice}")


def antiberty_folder() -> Path:
    """A folder with the weights as a published BERT has them.

    Raises:
        CourseError: as for :func:`antiberty_file`.
        OSError: the folder cannot be written.
    """
    folder = cache_dir() / ANTIBERTY
    if (folder / "model.safetensors").exists():
        return folder
    weights = antiberty_file()
    tensors = torch.load(weights, map_location="cpu", weights_only=True)
    kept = {
        name: tensor.clone()  # some share their memory
        for name, tensor in tensors.items()
        if not name.startswith(OTHER_HEADS)
    }
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(weights.with_name("config.json"), folder)
    shutil.copy(weights.parents[1] / "vocab.txt", folder)
    case = folder / "tokenizer_config.json"  # its letters are capitals
    case.write_text('{"do_lower_case": false}\n')
    content = safetensors.torch.save(kept)
    files.write_atomic(folder / "model.safetensors", content)
    return folder
