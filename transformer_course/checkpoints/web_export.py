"""Export of a translator to the course's page: scripts that hold its weights.

A page that is opened from a disk may load classic scripts and nothing else.
So ``model.js`` hands over the settings, the pieces and a table of tensors, and
``weights-00.js`` and so on hold the bytes in base64, half a megabyte each:
matrices as ``int8`` rows followed by a ``float32`` scale per row (chapter 21),
vectors as ``float32``. ``book/_static/live/weights.js`` reads them.
"""

import base64
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from transformer_course.checkpoints.int8 import quantized
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import ConfigError
from transformer_course.models.custom import CustomTransformer, as_transformer
from transformer_course.models.transformer import Transformer

BYTES_PER_SCRIPT = 3 * 2**17
"""Half a mebibyte in base64: two seconds of a slow line."""
POSITIONS = ("sinusoidal", "rotary", "none")
PIECES = ("word", "unigram")


def save(
    folder: Path,
    model: nn.Module,
    tokenizer: Tokenizer | None,
    details: dict[str, Any],
) -> None:
    """Write a translator for the page: a complete folder, or none.

    Args:
        folder: a new one; its name is the model's name in the page.
        model: an encoder–decoder.
        tokenizer: of the model.
        details: of the checkpoint; ``pieces`` is the tokenizer's kind.

    Raises:
        ConfigError: the page's code does not support the model.
    """
    if isinstance(model, CustomTransformer):
        model = as_transformer(model)
    _require_supported(model, details)
    table, content = [], b""
    for name, parameter in model.named_parameters():
        row, part = _stored(parameter.detach().cpu())
        table.append([name, *row])
        content += part
    scripts = [
        base64.b64encode(content[at : at + BYTES_PER_SCRIPT]).decode()
        for at in range(0, len(content), BYTES_PER_SCRIPT)
    ]
    manifest = {
        "config": asdict(model.config),
        "tokenizer": {
            "type": details["pieces"],
            "pieces": tokenizer.scored_pieces(),
        },
        "alpha": details.get("alpha"),
        "tensors": table,
        "parts": len(scripts),
        "size": sum(map(len, scripts)),
    }
    name = json.dumps(folder.name)
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"))
    (new / "model.js").write_text(f"course.model({name},{text});\n", "utf-8")
    for i, text in enumerate(scripts):
        script = f'course.chunk({name},{i},"{text}");\n'
        (new / f"weights-{i:02}.js").write_text(script, "utf-8")
    new.rename(folder)


def _require_supported(model: nn.Module, details: dict[str, Any]) -> None:
    if type(model) is not Transformer:
        raise ConfigError(
            f"the model is a {type(model).__name__}, and the page runs only "
            "an encoder–decoder (Transformer): --to int8 takes any model."
        )
    for name, value, known in (
        ("model.position", model.config.position, POSITIONS),
        ("data.pieces", details.get("pieces"), PIECES),
    ):
        if value not in known:
            raise ConfigError(
                f"{name} is {value}, and the page knows only "
                f"{', '.join(known)}: --to int8 takes any model."
            )


def _stored(tensor: Tensor) -> tuple[tuple[int, int, str], bytes]:
    """Rows, columns, type; and the bytes of a tensor."""
    if tensor.ndim < 2:
        return (1, tensor.numel(), "float32"), tensor.numpy().tobytes()
    values, scales = quantized(tensor)
    content = values.numpy().tobytes() + scales.numpy().tobytes()
    return (*tensor.shape, "int8"), content
