"""Device selection and random state."""

import platform
from typing import Any

import torch
from torch import Tensor

from transformer_course.errors import ConfigError


def pick_device(name: str = "auto") -> torch.device:
    """Select the device to run on.

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
    kind, colon, number = name.partition(":")
    is_there = available.get(kind, False)
    if colon:
        count = torch.cuda.device_count() if kind == "cuda" else 1
        is_there &= number in map(str, range(count))
    if not is_there:
        there = ", ".join(kind for kind, has_it in available.items() if has_it)
        cuda = ", or install a CUDA build of torch" if kind == "cuda" else ""
        raise ConfigError(
            f"device {name!r} was asked for, but this machine has only: "
            f"{there}. Use --device auto{cuda}."
        )
    return torch.device(name)


def random_state(device: torch.device) -> Tensor:
    """The state of a device's own random generator."""
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    if device.type == "mps":
        return torch.mps.get_rng_state()
    return torch.get_rng_state()


def set_random_state(state: Tensor, device: torch.device) -> None:
    """Put back what :func:`random_state` gave, on a device of that kind."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif device.type == "mps":
        torch.mps.set_rng_state(state)
    else:
        torch.set_rng_state(state)


def machine() -> str:
    """The kind of this machine in a few words, without its name."""
    device = "CPU"
    if torch.cuda.is_available():
        device = torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    plural = "" if threads == 1 else "s"
    return (
        f"{device}, {threads} thread{plural}, {platform.system()} "
        f"{platform.machine()}, torch {torch.__version__}"
    )


def joined(before: Any, now: Any) -> Any:
    """A machine, or what else differs between measurements, with those of
    before: "A; then B"; each is named once.

    Args:
        before: what a file says; None or "" where it says nothing yet.
        now: what holds for what is added to it.
    """
    said = [str(one) for one in (before, now) if one not in (None, "")]
    kinds = dict.fromkeys("; then ".join(said).split("; then "))
    return now if [*kinds] == [str(now)] else "; then ".join(kinds)
