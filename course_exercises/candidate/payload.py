"""A learner's code on its way into the process that checks it.

cloudpickle takes a function with all that its code names. Added here is what
it does not see, or cannot take: names that the code looks up as it runs,
functions set on a class of PyTorch's, functions with a cache, locks. What
cannot be taken at all is left out, and the payload says what.
"""

import builtins
import functools
import inspect
import io
import linecache
import pickle
import sys
import threading
import weakref
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import cloudpickle
import torch

from course_exercises.candidate.outcome import (
    INSIDE,
    files_of,
    is_learners,
)

LOOKS_UP = {"globals", "vars", "eval", "exec", "modules", "__main__"}
"""Names in code that may look up any other name as it runs."""
SHELL = {"In", "Out", "get_ipython", "exit", "quit", "open"}
"""What IPython puts among a notebook's names."""
OWNERS = (
    builtins,
    torch,
    torch.Tensor,
    torch.nn,
    torch.nn.Module,
    torch.nn.functional,
)
"""Modules and classes on which learners set functions of their own."""
CACHED = type(functools.cache(len))
REDUCERS = {
    type(make()): lambda _, make=make: (make, ())
    for make in (threading.Lock, threading.RLock)
} | {
    kind: lambda pairs: (type(pairs), (dict(pairs),))
    for kind in (weakref.WeakKeyDictionary, weakref.WeakValueDictionary)
}


class PayloadError(Exception):
    """Something is no code, or cannot be pickled."""


@dataclass(frozen=True)
class Payload:
    """Code, pickled by value."""

    content: bytes
    left_out: dict[str, str] = field(default_factory=dict)
    """What the code may need and could not be taken: the reason, by name."""


class Absent:
    """Stands for what could not be taken."""


def pack(candidate: Any) -> Payload:
    """Pickle code by value, with all that it uses.

    Raises:
        PayloadError: it is no code, or cannot be pickled.
    """
    if not callable(candidate):
        raise PayloadError(
            "Give the function itself, not its name: check(causal_mask)."
        )
    own = own_module(candidate)
    if own is not None:
        cloudpickle.register_pickle_by_value(own)
    try:
        return _pack(candidate, own or sys.modules["__main__"])
    finally:
        if own is not None:
            cloudpickle.unregister_pickle_by_value(own)


def sources_of(candidate: Any) -> dict[str, str]:
    """The source of all notebook cells and the code's files, by file name.

    ``linecache`` keeps cells as files without a modification time.
    """
    cells = {
        name
        for name, entry in list(linecache.cache.items())
        if len(entry) == 4 and entry[1] is None
    }
    return {
        name: "".join(linecache.getlines(name))
        for name in cells | files_of(candidate)
    }


def own_module(candidate: Any) -> ModuleType | None:
    """The learner's own file that the code was imported from, if any."""
    module = inspect.getmodule(candidate)
    path = getattr(module, "__file__", None)
    if module is None or path is None or module.__name__ == "__main__":
        return None
    return module if is_learners(path) else None


def unpack(content: bytes) -> tuple[Any, dict[str, Any]]:
    """The code of a payload; its notebook becomes this process's main module.

    Returns:
        The code, and the global names that it shares with all other code of
        its notebook.

    Raises:
        Exception: it cannot be loaded.
    """
    sys.modules["__main__"] = ModuleType("__main__")
    unpickler = _Unpickler(io.BytesIO(content))
    candidate, anchor, names, settings = unpickler.load()
    anchor.__globals__.update(names)
    name = anchor.__module__
    home = sys.modules.setdefault(name, ModuleType(name))
    vars(home).update(anchor.__globals__)
    for owner, name, value in settings:
        setattr(owner, name, value)
    return candidate, anchor.__globals__


def _pack(candidate: Any, home: ModuleType) -> Payload:
    """Try until what cannot be taken has been left out."""
    settings = [
        (owner, name, value)
        for owner in OWNERS
        for name, value in vars(owner).items()
        if isinstance(value, FunctionType) and value.__module__ == "__main__"
    ]
    # has the dictionary of names that all code of the notebook shares
    anchor = FunctionType((lambda: None).__code__, vars(home))
    names: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    absent: dict[int, str] = {}
    while True:
        pickler = _Pickler(absent, home.__name__)
        try:
            pickler.dump((candidate, anchor, names, settings))
        except Exception as error:
            found = dict(_culprits(pickler, names))
            if not found:
                raise PayloadError(
                    "Your code uses something that cannot be brought to "
                    f"the process that checks it ({error}). {INSIDE}"
                ) from error
            for name, (value, reason) in found.items():
                left_out[name] = reason
                absent[id(value)] = name
            continue
        if names or not pickler.resolves_names():
            return Payload(pickler.content(), left_out)
        names = {
            name: value
            for name, value in vars(home).items()
            if not name.startswith("_") and name not in SHELL
        }


def _culprits(
    pickler: "_Pickler", names: dict[str, Any]
) -> Iterator[tuple[str, tuple[Any, str]]]:
    """The names whose values cannot be pickled, with the reasons.

    A function that fails does so by what it uses itself, so other values are
    tried first.
    """
    used = dict(pickler.uses()) | names
    values, code = {}, {}
    for name, value in used.items():
        is_code = isinstance(value, FunctionType | type)
        (code if is_code else values)[name] = value
    for group in (values, code):
        found = False
        for name, value in group.items():
            try:
                pickler.fresh().dump(value)
            except Exception as error:
                found = True
                yield name, (value, f"{error!s:.200}")
        if found:
            return


class _Pickler(cloudpickle.Pickler):
    """Notes the learner's functions that it takes along.

    Args:
        absent: names of what is to be left out, by id.
        home: the module that defines the code.
    """

    def __init__(self, absent: dict[int, str], home: str):
        self._file = io.BytesIO()
        self._absent = absent
        self._home = home
        self._functions: list[FunctionType] = []
        self.dispatch_table = ChainMap(REDUCERS, self.dispatch_table)
        super().__init__(self._file)

    def fresh(self) -> "_Pickler":
        """Another one that leaves out the same."""
        return _Pickler(self._absent, self._home)

    def content(self) -> bytes:
        """What has been pickled."""
        return self._file.getvalue()

    def persistent_id(self, obj: Any) -> str | None:
        """The name of what is left out."""
        return self._absent.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        """Take functions without what cannot be pickled about them."""
        is_own = getattr(obj, "__module__", None) in ("__main__", self._home)
        match obj:
            case FunctionType(_torchdynamo_orig_callable=function):
                return _itself, (function,)
            case torch.jit.ScriptFunction(_torchdynamo_inline=function):
                return _itself, (function,)
            case MethodType(__name__="get_ipython"):
                return _get_ipython, ()
            case CACHED() if is_own:
                return _cached, (obj.__wrapped__, obj.cache_parameters())
            case FunctionType() if is_own:
                self._functions.append(obj)
        return super().reducer_override(obj)

    def uses(self) -> Iterator[tuple[str, Any]]:
        """What the functions name: in the notebook, or around them."""
        for function in self._functions:
            for name in _names_in(function.__code__):
                if name in function.__globals__:
                    yield name, function.__globals__[name]
            cells = function.__closure__ or ()
            for name, cell in zip(
                function.__code__.co_freevars, cells, strict=True
            ):
                if cell != CellType():  # it is filled
                    yield name, cell.cell_contents

    def resolves_names(self) -> bool:
        """Whether a function may look up names as it runs."""
        return any(
            not LOOKS_UP.isdisjoint(_names_in(function.__code__))
            for function in self._functions
        )


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: str) -> Absent:
        return Absent()


def _names_in(code: CodeType) -> Iterator[str]:
    """The names in code and in the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
        elif constant == "__main__":  # to be imported by a function
            yield constant


def _itself(value: Any) -> Any:
    return value


def _cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _get_ipython() -> Any:
    """IPython for the lines with ``!`` and ``%`` in a function."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config({"HistoryManager": {"enabled": False}})
    main = sys.modules["__main__"]
    return InteractiveShell.instance(
        config=config, user_module=main
    ).get_ipython
