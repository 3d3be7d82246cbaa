"""Validation of settings: types with constraints, checked in one place.

The annotation of a setting says what it may be, as in
``Annotated[int, between(1, 9)]``. A :class:`Config` checks its values when it
is made, whether they come from Python, the command line or JSON.
"""

import math
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from transformer_course.errors import ConfigError

LARGEST_INTEGER = 2**53
"""JSON readers keep all integers up to this one."""
MAX_SHOWN = 50
"""Characters of a value that a message repeats."""
SURROGATE = re.compile("[\ud800-\udfff]")
TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text in UTF-8",
    bool: "True or False",
    NoneType: "None",
}


class Constraint(NamedTuple):
    """A condition on a value, for use in ``Annotated``."""

    holds: Callable[[Any], Any]
    text: str
    """Ends the message "expected a number ..."."""

    def __repr__(self) -> str:
        return self.text


def between(low: int | float, high: int | float) -> Constraint:
    """Constrain a number to a range, bounds included."""
    return Constraint(lambda x: low <= x <= high, f"from {low:,} to {high:,}")


Size = Annotated[
    int, Constraint(lambda n: 1 <= n <= LARGEST_INTEGER, "of at least 1")
]
Count = Annotated[
    int, Constraint(lambda n: 0 <= n <= LARGEST_INTEGER, "of at least 0")
]
Probability = Annotated[float, Constraint(lambda p: 0 <= p < 1, "in [0, 1)")]
Positive = Annotated[float, Constraint(lambda x: 0 < x < math.inf, "above 0")]
NonNegative = Annotated[
    float, Constraint(lambda x: 0 <= x < math.inf, "of at least 0")
]
Seed = Annotated[int, between(0, 2**32 - 1)]
"""Seeds that every random generator accepts."""
Alpha = Annotated[float, between(-10, 10)]
"""Exponents of the length penalty; larger ones overflow."""


@dataclass(frozen=True)
class Config:
    """Base class of all settings.

    Raises:
        ConfigError: a value is not of its type, or breaks a constraint.
    """

    def __post_init__(self):
        for name, hint in type_hints(type(self)).items():
            require_fits(name, getattr(self, name), hint)


@cache
def type_hints(kind: type[Config]) -> dict[str, Any]:
    """The type of each setting of a config, constraints included."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def from_dict(kind: type[Config], values: dict[str, Any]):
    """Build a flat config from a dictionary read from JSON.

    Raises:
        ConfigError: the class has no such setting, or it cannot have that
            value.
    """
    known = type_hints(kind)
    unknown = sorted(values.keys() - known.keys())
    require(
        not unknown,
        f"{kind.__name__} has no setting {', '.join(unknown)}; it has: "
        f"{', '.join(sorted(known))}.",
    )
    tuples = {k: tuple(v) for k, v in values.items() if isinstance(v, list)}
    return kind(**values | tuples)


def changed(config: Config) -> dict[str, Any]:
    """The settings of a flat config that do not have their defaults."""
    return {
        field.name: value
        for field in fields(config)
        if (value := getattr(config, field.name)) != field.default
    }


def require(condition: Any, message: str) -> None:
    """Raise a ConfigError with this message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def require_fits(name: str, value: Any, hint: Any) -> None:
    """Raise a ConfigError unless a value has this type and constraint."""
    text = repr(value)
    if len(text) > MAX_SHOWN:
        text = f"{text[:MAX_SHOWN]}…"
    require(_fits(value, hint), f"{name} is {text}: expected {_named(hint)}.")


def _fits(value: Any, hint: Any) -> bool:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _fits(value, args[0]) and all(
            one.holds(value) for one in _constraints(args)
        )
    if origin is Literal:
        return value in args
    if origin is tuple:
        return isinstance(value, tuple) and all(
            _fits(item, args[0]) for item in value
        )
    if args:  # a union
        return any(_fits(value, one) for one in args)
    if isinstance(value, bool):
        return hint is bool
    if hint is str:  # a byte that is not UTF-8 comes as a lone surrogate
        return isinstance(value, str) and not SURROGATE.search(value)
    return isinstance(value, (int, float) if hint is float else hint)


def _constraints(args: tuple) -> list[Constraint]:
    """Those of an ``Annotated``, which may hold other marks."""
    return [one for one in args if isinstance(one, Constraint)]


def _named(hint: Any) -> str:
    """A type in words."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [one.text for one in _constraints(args)]
        return " ".join([_named(args[0]), *texts]).strip()
    if origin is Literal:
        return " or ".join(args)
    if origin is tuple:
        return ""
    if args:
        return " or ".join(map(_named, args))
    return TYPE_NAMES.get(hint, hint.__name__)
