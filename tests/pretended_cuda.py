"""A device ``cuda`` for machines without one, which refuses to mix.

Its tensors say that they are on ``cuda:0``, and the CPU computes them. As on
a GPU, an operation fails that gets tensors of both devices, or a generator of
the other one, and so does ``numpy()`` without ``cpu()``; random numbers are
others than on the CPU. What it cannot show: the speed and the rounding of a
GPU, and functions that CUDA alone has.
"""

from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device
from torch.utils._device import DeviceContext, _device_constructors
from torch.utils._python_dispatch import TorchDispatchMode

CPU, CUDA = torch.device("cpu"), torch.device("cuda:0")
BENEATH = torch.device("lazy:0")  # of the backends without a driver's checks
aten = torch.ops.aten
MOVE = {aten._to_copy.default, aten.copy_.default}
# The lengths of packed sequences, given and returned, are the CPU's.
PACK = {aten._pack_padded_sequence.default, aten._pad_packed_sequence.default}
MOVE |= {aten._pack_padded_sequence_backward.default, *PACK}
# Beside tensors of CUDA these take indices of the CPU, or a single number.
INDEX = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default}
INDEX |= {aten._index_put_impl_.default, aten._unsafe_index.Tensor}
NUMBER = {aten.masked_fill.Tensor, aten.masked_fill_.Tensor, *INDEX}


class PretendedTensor(torch.Tensor):
    """A tensor of the CPU under another device's name."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor):
        """Take the other's shape."""
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=BENEATH,
        )

    def __init__(self, inner: torch.Tensor):
        self.inner = inner

    @property
    def device(self):
        """The device that it pretends."""
        return CUDA

    is_cuda = True
    __torch_function__ = torch._C._disabled_torch_function_impl

    def tolist(self):
        """Read the numbers, which needs no ``cpu()``."""
        return self.cpu().tolist()

    def untyped_storage(self):
        """The memory that it is in."""
        return self.inner.untyped_storage()

    def __repr__(self, **_):
        return repr(self.cpu())

    def __format__(self, spec):
        return format(self.cpu().detach(), spec)

    def __reduce_ex__(self, protocol):
        return self.cpu().__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _compute(func, args, kwargs or {})


GENERATORS = {}  # by address; never freed, so that none comes twice


class PretendedGenerator(torch.Generator):
    """A generator that says on which device it is, and draws its numbers."""

    def __new__(cls, device="cpu"):
        """Draw on the CPU in truth."""
        self = super().__new__(cls, CPU)
        self.place = CUDA if torch.device(device).type == "cuda" else CPU
        GENERATORS[self._cdata] = self
        return self

    @property
    def device(self):
        """The device that it pretends."""
        return self.place

    def manual_seed(self, seed):
        """Begin anew."""
        return super().manual_seed(seed + 1_000_003 * (self.place == CUDA))


OWN = PretendedGenerator("cuda")


class _Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # to skip it takes longer than most operations

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return _compute(func, args, kwargs or {})


class _Names(TorchFunctionMode):
    """Whoever says ``cuda`` means the device beneath."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.device:  # a name as such
            return func(*args, **kwargs)
        if func is torch.tensor and isinstance(args[0], list | tuple):
            args = _each(torch.Tensor.cpu, args[0]), *args[1:]
        named = {name: _beneath(arg) for name, arg in kwargs.items()}
        return func(*map(_beneath, args), **named)


class _Default(DeviceContext):
    """What a default device begins."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = _beneath(self.device)
        return func(*args, **kwargs)


def _beneath(value):
    is_device = isinstance(value, str | torch.device)
    return BENEATH if is_device and str(value)[:4] == "cuda" else value


def _each(change, value):
    """Change each tensor of a call's arguments or results."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)([_each(change, one) for one in value])
    return value


def _compute(func, args, kwargs):
    """Compute on the CPU, and say where it was."""
    if func is aten._fused_sdp_choice.default:
        return 0  # plain: the other kernels are CUDA's own
    if torch.is_inference_mode_enabled() and func._can_decompose():
        with _Mode():  # of its parts, as it comes outside inference mode
            return func.decompose(*args, **kwargs)
    places, others = set(), []

    def inner(tensor):
        places.add(tensor.device.type)
        if isinstance(tensor, PretendedTensor):
            return tensor.inner
        if tensor.device == CPU:
            others.append(tensor)
        return tensor

    plain = [_each(inner, arg) for arg in args]
    named = {name: _each(inner, arg) for name, arg in kwargs.items()}
    if "cuda" in places and others and func not in MOVE:
        _refuse_to_mix(func, args, others)
    device = kwargs.get("device")
    on_cuda = "cuda" in places if device is None else device == BENEATH
    if on_cuda and device is not None:
        named["device"] = CPU
    draws = torch.Tag.nondeterministic_seeded in func.tags
    found = (
        _drawn(func, plain, named, on_cuda) if draws else func(*plain, **named)
    )
    outs, in_place, is_view, changes_shape = _kind(func)
    if on_cuda and changes_shape:
        args[0].data = PretendedTensor(args[0].inner)  # of the new shape
    if in_place or outs:
        given = [kwargs[name] for name in outs] or [args[0]]
        return given[0] if len(given) == 1 else tuple(given)
    if on_cuda and func in PACK:
        return PretendedTensor(found[0]), found[1]
    if not on_cuda:
        return found
    # what is seen of an ordinary tensor is one, also in inference mode
    ordinary = is_view and not args[0].is_inference()
    with torch.inference_mode(False) if ordinary else nullcontext():
        return _each(PretendedTensor, found)


def _refuse_to_mix(func, args, others):
    if func in INDEX and isinstance(args[0], PretendedTensor):
        others = [t for t in others if any(t is one for one in args[2:3])]
    takes_number = func in NUMBER or torch.Tag.pointwise in func.tags
    if any(t.dim() or t is args[0] or not takes_number for t in others):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at "
            f"least two devices, cuda:0 and cpu! (in {func})"
        )


def _drawn(func, plain, named, on_cuda):
    """Draw from the generator that is given, or the device's own."""
    if generator := named.get("generator"):
        known = GENERATORS.get(generator._cdata)
        if on_cuda != (known is not None and known.place == CUDA):
            raise RuntimeError(f"generator of the other device (in {func})")
    if generator or not on_cuda:
        return func(*plain, **named)
    kept = torch.get_rng_state()
    torch.set_rng_state(OWN.get_state())
    found = func(*plain, **named)
    OWN.set_state(torch.get_rng_state())
    torch.set_rng_state(kept)
    return found


@cache
def _kind(func):
    """The names of results that are given (out=...); and whether the first
    argument is changed, is looked into, or takes another shape."""
    schema = func._schema
    outs = [argument.name for argument in schema.arguments if argument.is_out]
    in_place = schema.name.endswith("_") and bool(schema.returns)
    is_view = not schema.is_mutable and any(
        result.alias_info for result in schema.returns
    )
    return outs, in_place, is_view, torch.Tag.inplace_view in func.tags


def _apply(module, *args, _plain=torch.nn.Module._apply, **kwargs):
    """Move a module; its parameters stay the same objects, as they do."""
    asked = "get_swap_module_params_on_conversion"
    with patch.object(torch.__future__, asked, lambda: True):
        return _plain(module, *args, **kwargs)


def _no(*_):
    return False


def cuda():
    """The machine's own CUDA device; a pretended one if it has none."""
    return nullcontext() if torch.cuda.is_available() else pretended_cuda()


@contextmanager
def pretended_cuda():
    """Within it there seems to be one CUDA device."""
    says = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: "pretended",
        "is_bf16_supported": lambda *_: True,
        "synchronize": lambda *_: None,
        "is_current_stream_capturing": lambda: False,
        "manual_seed_all": OWN.manual_seed,
        "get_rng_state": lambda *_: OWN.get_state(),
        "set_rng_state": lambda state, *_: OWN.set_state(state),
    }
    lifts = torch._C._only_lift_cpu_tensors()
    patches = [
        patch.multiple(torch.cuda, **says),
        patch.object(torch.accelerator, "is_available", _no),  # real streams
        patch.object(torch.backends.cudnn, "is_acceptable", _no),
        patch.object(torch, "Generator", PretendedGenerator),
        patch.object(_device, "DeviceContext", _Default),
        patch.object(torch.nn.Module, "_apply", _apply),
    ]
    with ExitStack() as stack:
        stack.callback(torch._C._set_only_lift_cpu_tensors, lifts)
        torch._C._set_only_lift_cpu_tensors(True)
        for one in (*patches, _Mode(), _Names()):
            stack.enter_context(one)
        yield
