"""Where tensors live: the one place that chooses a device."""

import torch

from transformer_course.errors import ConfigError


def pick_device(name: str = "auto") -> torch.device:
    """The device to run on.

    Args:
        name: ``"auto"`` takes CUDA when there is one, else Apple's ``mps``,
            else the CPU. Any other name is taken as it stands.

    Raises:
        ConfigError: the device named is not on this machine.
    """
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, there in available.items() if there)
    kind, _, number = name.partition(":")
    is_there = available.get(kind, False)
    if number:
        count = torch.cuda.device_count() if kind == "cuda" else 1
        is_there &= number.isdecimal() and int(number) < count
    if not is_there:
        there = ", ".join(kind for kind, has_it in available.items() if has_it)
        cuda = ", or install a CUDA build of torch" if kind == "cuda" else ""
        raise ConfigError(
            f"device {name!r} was asked for, but this machine has only: "
            f"{there}. Use --device auto{cuda}."
        )
    return torch.device(name)
