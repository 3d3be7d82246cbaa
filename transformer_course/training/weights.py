"""Named tensors: to safetensors and back, and into a model.

Nothing is ever unpickled.
"""

from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from transformer_course.errors import CheckpointError

Tensors = dict[str, Tensor]


def weights_of(model: nn.Module) -> Tensors:
    """Each weight once: of tied ones the first name, buffers left out."""
    return {name: p.detach() for name, p in model.named_parameters()}


def pack(tensors: Tensors) -> bytes:
    """Tensors in the format of safetensors."""
    whole = {n: t.cpu().contiguous() for n, t in tensors.items()}
    return safetensors.torch.save(whole)


def unpack(content: bytes, path: Path) -> Tensors:
    """What :func:`pack` made; ``path``, where it stood, is for messages.

    Raises:
        CheckpointError: it is damaged, or a pickle.
    """
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, LookupError, RuntimeError, ValueError) as error:
        raise CheckpointError(
            f"{path} is damaged or cut short ({error}): copy it again, or "
            "take another checkpoint."
        ) from error


def refuse_pickle(content: bytes, path: Path) -> None:
    """Raise a CheckpointError for a pickle in place of safetensors."""
    is_safetensors = content[8:9] == b"{"  # after 8 bytes of header length
    if not is_safetensors and content.startswith((b"PK", b"\x80")):
        raise CheckpointError(
            f"{path} is a pickle, not safetensors. It was not opened, since "
            "a pickle can run any code: ask for the safetensors file."
        )


def not_finite(tensors: Tensors) -> str:
    """The name of the first tensor with an inf or nan in it; "" if none."""
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            return name
    return ""


def check_fit(model: nn.Module, tensors: Tensors, folder: Path) -> None:
    """Raise a CheckpointError where names or shapes are not the model's."""
    parameters = weights_of(model)
    wrong = sorted(set(parameters) ^ set(tensors)) or [
        name
        for name, tensor in tensors.items()
        if tensor.shape != parameters[name].shape
    ]
    if wrong:
        raise CheckpointError(
            f"the weights in {folder} do not fit the model, first at "
            f"{wrong[0]}: were files of two checkpoints mixed?"
        )


def fill(model: nn.Module, tensors: Tensors) -> None:
    """Copy tensors into the parameters of the same names."""
    for name, parameter in weights_of(model).items():
        parameter.copy_(tensors[name])
