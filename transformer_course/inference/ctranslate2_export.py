"""A translator in CTranslate2's form: a folder that needs nothing else.

CTranslate2 (https://opennmt.net/CTranslate2) is an engine that only computes:
compiled layers, in full precision or in eight bits. It knows our layers, so
that a converted model has the same weights, laid out otherwise: projections of
one input are one matrix. Positions that are added become a table, since its
own sinusoidal ones begin at another place.

Beside CTranslate2's files the folder holds the tokenizer, and
``course.json``: our config, what is known of the text, and each file's
sha256.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from transformer_course import files
from transformer_course.checks import from_dict
from transformer_course.console import quoted
from transformer_course.data.tokenizer import BOS, EOS, UNK, Tokenizer
from transformer_course.decoding.search import EXTRA_LENGTH
from transformer_course.errors import CheckpointError, ConfigError
from transformer_course.models.attention import MultiHeadAttention
from transformer_course.models.config import ModelConfig
from transformer_course.models.layers import LayerNorm
from transformer_course.models.positional_encoding import sinusoidal_encoding
from transformer_course.models.transformer import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    Transformer,
)

PACKAGE = "ctranslate2"
Quantization = Literal["float32", "float16", "int8"]
"""How weights are stored. A CPU computes with float16 in float32; with int8
it multiplies whole numbers."""
OWN = "course.json"
FORMAT = 1
FILES = ("config.json", "model.bin", "shared_vocabulary.json")
"""CTranslate2's own."""
TOKENIZER = "tokenizer.model"


class Converted(NamedTuple):
    """What a converted model's folder holds."""

    config: ModelConfig
    tokenizer: Tokenizer
    details: dict[str, Any]
    """What was saved beside the checkpoint: corpus, languages."""
    files: dict[str, bytes]
    """Those that CTranslate2 reads."""


def require_package() -> None:
    """Raise a ConfigError where CTranslate2 is not installed."""
    if not find_spec(PACKAGE):
        raise ConfigError(
            "CTranslate2 is not installed, and this needs it: "
            "pip install ctranslate2."
        )


def save(
    folder: str | Path,
    model: nn.Module,
    tokenizer: Tokenizer | None,
    details: dict[str, Any],
    quantization: Quantization = "float32",
) -> None:
    """Write a translator for CTranslate2; the folder is whole, or not there.

    Args:
        folder: a new one.
        model: an encoder–decoder on the CPU.
        tokenizer: the model's own.
        details: plain values to keep with it.
        quantization: how matrices are stored.

    Raises:
        ConfigError: CTranslate2 is not installed, or cannot compute it.
    """
    require_package()
    check_convertible(model, tokenizer)
    pieces = tokenizer.all_pieces()
    place = Path(folder).absolute()
    fresh = place.parent / f".{place.name}.{secrets.token_hex(8)}.new"
    try:
        fresh.mkdir(parents=True)
        write(fresh, model, pieces, quantization)
        tokenizer.save(fresh / TOKENIZER)
        _describe(fresh, model.config, details, quantization)
        fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def load(folder: str | Path) -> Converted:
    """Read what :func:`save` wrote.

    Raises:
        CheckpointError: there is nothing of the kind, or it is damaged.
    """
    folder = Path(folder)
    if not (folder / OWN).is_file():
        raise CheckpointError(
            f"{folder} holds no model for CTranslate2: write one with "
            f"transformer-course export {quoted(folder)} NEW --to "
            "ctranslate2, and give that folder NEW."
        )
    try:
        header = files.read_json(folder / OWN)
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}, not {FORMAT}")
        for key in ("model", "details", "sha256"):
            if not isinstance(header[key], dict):
                raise TypeError(f"{key} is no object")
        hashes = header["sha256"]
        tokenizer = _checked(folder / TOKENIZER, hashes)
        return Converted(
            from_dict(ModelConfig, header["model"]),
            Tokenizer(tokenizer),
            header["details"],
            {name: _checked(folder / name, hashes) for name in FILES},
        )
    except (ConfigError, OSError, LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"the model in {folder} is damaged or of another version "
            f"({type(error).__name__}: {error}): export it again."
        ) from error


def check_convertible(model: nn.Module, tokenizer: Tokenizer | None) -> None:
    """Raise a ConfigError for a model that CTranslate2 is not given."""
    if type(model) is not Transformer:
        kind = type(model).__name__
        raise ConfigError(
            f"the model is a {kind}, and for CTranslate2 an encoder–decoder "
            "(Transformer) is converted alone: --to int8 takes any model."
        )
    size = None if tokenizer is None else tokenizer.vocab_size
    if size != model.config.vocab_size:
        raise ConfigError(
            f"the model has {model.config.vocab_size} pieces, and its "
            f"tokenizer {size}: CTranslate2 needs a name for each. Save the "
            "model with its own tokenizer."
        )


def write(
    folder: Path,
    model: Transformer,
    pieces: Sequence[str],
    quantization: Quantization,
) -> None:
    """Write CTranslate2's own files into a folder that is there.

    Args:
        folder: where.
        model: on the CPU.
        pieces: a name for each id, by which CTranslate2 is told ids.
        quantization: how matrices are stored.
    """
    whole = specify(model, pieces)
    whole.validate()
    whole.optimize(quantization)
    whole.save(str(folder))


def specify(model: Transformer, pieces: Sequence[str]):
    """The model as CTranslate2's ``TransformerSpec``, with the vocabulary."""
    from ctranslate2 import specs

    config = model.config
    layers = {
        "num_layers": config.n_layers,
        "num_heads": config.n_heads,
        "pre_norm": config.norm_first,
        "activation": specs.common_spec.Activation[config.activation.upper()],
        # 0 turns all of a head; pairs are neighbours, as in the paper
        "rotary_dim": 0 if config.position == "rotary" else None,
    }
    encoder = specs.TransformerEncoderSpec(**layers)
    decoder = specs.TransformerDecoderSpec(**layers)
    encoder.embeddings[0].weight = _array(model.src_embedding.weight)
    decoder.embeddings.weight = _array(model.tgt_embedding.weight)
    _set_positions(encoder, config, model.src_position)
    _set_positions(decoder, config, model.tgt_position)
    _set_stack(encoder, model.encoder)
    _set_stack(decoder, model.decoder)
    _set_linear(decoder.projection, model.to_logits)
    whole = specs.TransformerSpec(encoder, decoder)
    whole.register_source_vocabulary(pieces)
    whole.register_target_vocabulary(pieces)
    whole.config.bos_token = whole.config.decoder_start_token = pieces[BOS]
    whole.config.eos_token, whole.config.unk_token = pieces[EOS], pieces[UNK]
    whole.config.layer_norm_epsilon = LayerNorm(1).epsilon
    return whole


# --- from our parts to theirs ------------------------------------------------


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().numpy()


def _set_positions(spec, config: ModelConfig, position: nn.Module) -> None:
    """A table of all positions that a sentence or its translation can have;
    rotary ones are made inside attention."""
    longest = config.max_length + EXTRA_LENGTH
    if config.position == "rotary":
        return
    if config.position == "learned":
        table = position.table
    elif config.position == "sinusoidal":
        table = sinusoidal_encoding(longest, config.d_model)
    else:
        table = torch.zeros(longest, config.d_model)
    spec.position_encodings.encodings = _array(table)


def _set_stack(spec, stack: Encoder | Decoder) -> None:
    if isinstance(stack.norm, LayerNorm):
        _set_norm(spec.layer_norm, stack.norm)
    for theirs, ours in zip(spec.layer, stack.layers, strict=True):
        _set_layer(theirs, ours)


def _set_layer(spec, layer: EncoderLayer | DecoderLayer) -> None:
    """Their sub-layers have each its norm, whether before or behind."""
    norms = [layer.add_norm_1.norm, layer.add_norm_2.norm]
    own = layer.self_attention
    _set_attention(spec.self_attention, own, norms[0], shared_input=True)
    if isinstance(layer, DecoderLayer):
        _set_attention(spec.attention, layer.cross_attention, norms[1])
        norms.append(layer.add_norm_3.norm)
    _set_norm(spec.ffn.layer_norm, norms[-1])
    _set_linear(spec.ffn.linear_0, layer.feed_forward.widen)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.narrow)


def _set_attention(
    spec,
    attention: MultiHeadAttention,
    norm: LayerNorm,
    shared_input: bool = False,
) -> None:
    """Projections of one input as one matrix: all three, or keys and values
    of the memory."""
    _set_norm(spec.layer_norm, norm)
    query, key = attention.to_query, attention.to_key
    *inputs, output = spec.linear
    if shared_input:
        _set_linear(inputs[0], query, key, attention.to_value)
    else:
        _set_linear(inputs[0], query)
        _set_linear(inputs[1], key, attention.to_value)
    _set_linear(output, attention.to_output)


def _set_linear(spec, *maps: nn.Linear) -> None:
    spec.weight = _array(torch.cat([part.weight for part in maps]))
    if maps[0].bias is not None:
        spec.bias = _array(torch.cat([part.bias for part in maps]))


def _set_norm(spec, norm: LayerNorm) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


# --- the folder --------------------------------------------------------------


def _describe(
    folder: Path,
    config: ModelConfig,
    details: dict[str, Any],
    quantization: Quantization,
) -> None:
    """Write what CTranslate2 does not know, last of all."""
    header = {
        "format": FORMAT,
        "model": asdict(config),
        "details": details,
        "quantization": quantization,
        "sha256": {
            name: _sha256((folder / name).read_bytes())
            for name in (*FILES, TOKENIZER)
        },
    }
    text = json.dumps(header, indent=1, ensure_ascii=False)
    files.write_atomic(folder / OWN, text + "\n")


def _checked(path: Path, hashes: dict[str, str]) -> bytes:
    content, expected = path.read_bytes(), hashes[path.name]
    if (got := _sha256(content)) != expected:
        raise ValueError(
            f"{path.name} has sha256 {got[:12]}…, expected {expected[:12]}…"
        )
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
