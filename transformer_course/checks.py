"""What values must be: checks that say what was given and expected.

Settings come from the command line, or from JSON that somebody may have
changed; either way a wrong one is told in a line.
"""

import math
import sys
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from transformer_course.errors import ConfigError

LARGEST_ALPHA = 10
"""Of the length penalty, which is a power of the length: beyond, it is no
number any more."""
LARGEST = 2**53
"""Of the whole numbers among the settings: JSON keeps all up to there."""
Settings = dict[str, Any]
"""An experiment's settings as JSON holds them: data, model, train, task."""


def require(condition: bool, message: str) -> None:
    """Raise a ConfigError with this message unless the condition holds."""
    if not condition:
        raise ConfigError(message)


def require_positive(config, *names: str) -> None:
    """Raise a ConfigError unless these settings are at least 1."""
    require_bounded(config)
    for name in names:
        value = getattr(config, name)
        require(value >= 1, f"{name} is {value}: it must be at least 1.")


def require_between(
    name: str, value: float | int, low: float | int, high: float | int
) -> None:
    """Raise a ConfigError unless a number is in this range, bounds included;
    what is not a number never is."""
    require(
        low <= value <= high,
        f"{name} is {shown(value)}: it must be from {shown(low)} to "
        f"{shown(high)}.",
    )


def require_alpha(alpha: float) -> None:
    """Raise a ConfigError unless a length penalty can have this exponent."""
    require_between("alpha", alpha, -LARGEST_ALPHA, LARGEST_ALPHA)


def require_seed(seed: int) -> None:
    """Raise a ConfigError unless every random generator takes this seed."""
    require(
        0 <= seed < 2**32,
        f"seed is {shown(seed)}: choose one from 0 to 2^32 - 1.",
    )


def is_text(name: str) -> bool:
    """Whether a name is UTF-8: of a file's, not all need be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Any) -> str:
    """A value as a message has it: no longer than a line."""
    text = str(value)
    return text if len(text) <= 50 else f"{text[:40]}…"


def require_share(config, *names: str) -> None:
    """Raise a ConfigError unless these settings are in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        require(0 <= value < 1, f"{name} is {value}: it must be in [0, 1).")


def require_bounded(config) -> None:
    """See that no number is beyond what tensors can be made with."""
    for name, value in vars(config).items():
        if isinstance(value, float):
            require(
                math.isfinite(value),
                f"{name} is {value}: it must be a finite number.",
            )
        elif isinstance(value, int) and name != "seed":
            require(
                abs(value) <= LARGEST,
                f"{name} is {shown(value)}: it must be at most {LARGEST:,}.",
            )


def require_types(kind: type, values: Settings) -> None:
    """See that values read from JSON have the types of a class's settings;
    what the class does not know is left alone.

    Raises:
        ConfigError: one has not.
    """
    hints = get_type_hints(kind)
    for name, value in from_json(values).items():
        if name in hints and not fits(value, hints[name]):
            require_fits(name, values[name], hints[name])  # as it was given


def from_json(values: Settings) -> Settings:
    """Settings as they were before JSON, which has no tuples."""
    return {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
    }


def from_dict(kind: type, values: Settings):
    """Build a flat config from a dictionary read from JSON.

    Raises:
        ConfigError: a key that the class does not know, or a value of
            another type.
    """
    hints = get_type_hints(kind)
    unknown = sorted(set(values) - set(hints))
    require(
        not unknown,
        f"{kind.__name__} has no setting {', '.join(unknown)}; it knows: "
        f"{', '.join(sorted(hints))}.",
    )
    require_types(kind, values)
    return kind(**from_json(values))


def require_fits(name: str, value: Any, hint: Any) -> None:
    """See that a value is of a setting's type.

    Raises:
        ConfigError: it is not.
    """
    kind = getattr(hint, "__name__", hint)
    require(
        fits(value, hint),
        f"{name} cannot be {shown(repr(value))}: expected {kind}.",
    )


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; a whole number is a float, too."""
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and (
            [type(one) for one in value] == list(get_args(hint))
        )
    if get_args(hint):  # one of several types
        return any(fits(value, one) for one in get_args(hint))
    if hint is NoneType:
        return value is None
    return type(value) is hint or (hint is float and type(value) is int)


def is_whole(value: Any) -> bool:
    """Whether a value read from JSON is a whole number; true is none."""
    return type(value) is int


def is_number(value: Any) -> bool:
    """Whether a value read from JSON is a number that can be reckoned with;
    true is none, and neither is what no float can hold."""
    largest = sys.float_info.max
    return type(value) in (int, float) and abs(value) <= largest
