"""Device selection and random state."""

import platform
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

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


def use_device(name: str = "auto") -> torch.device:
    """Let PyTorch make tensors and layers on a device, from now on.

    On the CPU that is so already, and nothing is installed. Elsewhere random
    numbers are still drawn on the CPU, by its generators, and then moved: a
    seed gives the same weights and samples on every device (but for dropout,
    whose numbers come from the device).

    Args:
        name: ``"auto"`` takes CUDA when there is one, else the CPU: ``mps``
            has no ``float64``, in which some cells compute. Any other name is
            taken as it stands.

    Raises:
        ConfigError: the device named is not on this machine.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = pick_device(name)
    while _installed:
        _installed.pop().__exit__(None, None, None)
    if device.type != "cpu":
        torch.backends.cudnn.allow_tf32 = False  # convolutions, rounded less
        for mode in (device, _AsOnCPU(device)):
            mode.__enter__()
            _installed.append(mode)
    return device


_NEW = "bernoulli multinomial normal rand randint randn randperm"
_LIKE = "rand_like randint_like randn_like"
_OF_TENSOR = "bernoulli bernoulli_ multinomial normal_ random_ uniform_"
_INITIAL = "kaiming_uniform_ normal_ uniform_"
_DRAWING = {
    *(getattr(torch, name) for name in f"{_NEW} {_LIKE}".split()),
    *(getattr(Tensor, name) for name in _OF_TENSOR.split()),
    *(getattr(nn.init, name) for name in _INITIAL.split()),
}


class _AsOnCPU(TorchFunctionMode):
    """Random numbers of the CPU for a device, whose tensors numpy can read."""

    def __init__(self, device: torch.device):
        super().__init__()
        self.device = device

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is Tensor.__array__:
            return function(args[0].cpu(), *args[1:], **kwargs)
        if function in _DRAWING:
            return self._drawn(function, args, dict(kwargs))
        return function(*args, **kwargs)

    def _drawn(self, function, args, kwargs):
        values = [*args, *kwargs.values()]
        tensors = [value for value in values if isinstance(value, Tensor)]
        if self._elsewhere(kwargs, tensors):
            return function(*args, **kwargs)
        learned = kwargs.pop("requires_grad", False)
        if not tensors:
            kwargs["device"] = "cpu"
        drawn = function(
            *map(_on_cpu, args),
            **{name: _on_cpu(value) for name, value in kwargs.items()},
        )
        if function.__name__.endswith("_"):
            tensors[0].detach().copy_(drawn)
            return tensors[0]
        return drawn.to(self.device).requires_grad_(learned)

    def _elsewhere(self, kwargs, tensors) -> bool:
        """Is it for another device, or by a generator of this one?"""
        here = tensors[0].device if tensors else self.device
        device = torch.device(kwargs.get("device") or here)
        generator = kwargs.get("generator")
        drawn_there = generator is not None and generator.device.type != "cpu"
        return device.type != self.device.type or drawn_there


def _on_cpu(value):
    return value.detach().cpu() if isinstance(value, Tensor) else value


_installed: list[torch.device | _AsOnCPU] = []


def moved(batch: Any, device: torch.device | str) -> Any:
    """The tensors of a batch, or its batches, on a device."""
    return type(batch)(*(p if p is None else p.to(device) for p in batch))


def clock(on_cpu: Callable[[], float] = time.process_time) -> float:
    """Seconds since some moment, for differences.

    Args:
        on_cpu: the clock where tensors are on the CPU: by default the
            processor's, as others may be using it. For another device it is
            the clock on the wall, read when all that was begun there is done.
    """
    device = torch.get_default_device()
    if device.type == "cpu":
        return on_cpu()
    getattr(torch, device.type).synchronize()
    return time.perf_counter()


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
