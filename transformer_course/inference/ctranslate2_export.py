"""Export of a translator to CTranslate2: a folder that needs nothing else.

CTranslate2 (https://opennmt.net/CTranslate2) is an inference engine: compiled
layers, in full precision or in eight bits. It has our layers, so a converted
model has the same weights in another layout: projections of one input are one
matrix. Additive positions become a table, since CTranslate2's own sinusoidal
ones start at another position.

Beside CTranslate2's files the folder holds the tokenizer and ``course.json``:
our config and the details of the checkpoint.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from transformer_course.data.tokenizer import BOS, EOS, UNK, Tokenizer
from transformer_course.decoding.search import EXTRA_LENGTH
from transformer_course.errors import ConfigError
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
"""How weights are stored. A CPU computes float16 in float32, and int8 in
integers."""
HEADER = "course.json"
TOKENIZER = "tokenizer.model"


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
    """Write a translator for CTranslate2: a complete folder, or none.

    Args:
        folder: a new one.
        model: an encoder–decoder on the CPU.
        tokenizer: of the model.
        details: values in JSON to store with it.
        quantization: how matrices are stored.

    Raises:
        ConfigError: CTranslate2 is not installed, or does not support the
            model.
    """
    require_package()
    if type(model) is not Transformer:
        raise ConfigError(
            f"the model is a {type(model).__name__}, and only an "
            "encoder–decoder (Transformer) is converted for CTranslate2: "
            "--to int8 takes any model."
        )
    size = None if tokenizer is None else tokenizer.vocab_size
    if size != model.config.vocab_size:
        raise ConfigError(
            f"the model has {model.config.vocab_size} pieces, and its "
            f"tokenizer {size}: CTranslate2 needs a name for each. Save the "
            "model with its own tokenizer."
        )
    place = Path(folder)
    new = place.with_name(f".{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    write(new, model, tokenizer.all_pieces(), quantization)
    tokenizer.save(new / TOKENIZER)
    header = {"model": asdict(model.config), "details": details}
    text = json.dumps(header, indent=1, ensure_ascii=False)
    (new / HEADER).write_text(text + "\n", encoding="utf-8")
    new.rename(place)


def write(
    folder: Path,
    model: Transformer,
    pieces: Sequence[str],
    quantization: Quantization,
) -> None:
    """Write CTranslate2's own files into an existing folder.

    Args:
        folder: the destination.
        model: on the CPU.
        pieces: CTranslate2's name of each id.
        quantization: how matrices are stored.
    """
    spec = specify(model, pieces)
    spec.validate()
    spec.optimize(quantization)
    spec.save(str(folder))


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
    spec = specs.TransformerSpec(encoder, decoder)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token = spec.config.decoder_start_token = pieces[BOS]
    spec.config.eos_token, spec.config.unk_token = pieces[EOS], pieces[UNK]
    spec.config.layer_norm_epsilon = LayerNorm(1).epsilon
    return spec


# --- from our parts to theirs ------------------------------------------------


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().numpy()


def _set_positions(spec, config: ModelConfig, position: nn.Module) -> None:
    """Set a table of positions; rotary ones are computed in attention."""
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
    """Copy a layer; in theirs each sub-layer has its norm, pre or post."""
    norms = [layer.add_norm_1.norm, layer.add_norm_2.norm]
    own = layer.self_attention
    _set_attention(spec.self_attention, own, norms[0], shared_input=True)
    if isinstance(layer, DecoderLayer):
        _set_attention(spec.attention, layer.cross_attention, norms[1])
        norms.append(layer.add_norm_3.norm)
    _set_norm(spec.ffn.layer_norm, norms[-1])
    _set_linear(spec.ffn.linear_0, layer.feed_forward.up_proj)
    _set_linear(spec.ffn.linear_1, layer.feed_forward.down_proj)


def _set_attention(
    spec,
    attention: MultiHeadAttention,
    norm: LayerNorm,
    shared_input: bool = False,
) -> None:
    """Concatenate the projections of one input: query, key and value, or key
    and value of the memory."""
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
