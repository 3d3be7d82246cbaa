"""Old addresses of what has moved, so that readers' own copies still run.

A chapter that somebody has copied and changed goes on importing names from
where they were. :data:`MOVED` says where they are now: a module that is gone
comes back as one that looks its names up there, and one that lost only some
of its names asks :func:`names`. Nothing in the package itself uses them.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_DATA = "transformer_course.data"
MOVED = {
    "transformer_course.config": (
        "transformer_course.checks",
        "transformer_course.presets",
        "transformer_course.earlier_settings",
    ),
    "transformer_course.generate": ("transformer_course.search",),
    "transformer_course.train": ("transformer_course.objective",),
    f"{_DATA}.aozora": (f"{_DATA}.aozora.markup",),
    f"{_DATA}.batches": (
        "transformer_course.batches",
        "transformer_course.buckets",
    ),
    f"{_DATA}.corpus": (f"{_DATA}.text", f"{_DATA}.corpora"),
    f"{_DATA}.haiku": (f"{_DATA}.aozora.haiku",),
    f"{_DATA}.inflection": (f"{_DATA}.grammar.inflection",),
    f"{_DATA}.lexicon": (f"{_DATA}.grammar.lexicon",),
    f"{_DATA}.manifest": (f"{_DATA}.download",),
    f"{_DATA}.morae": (f"{_DATA}.aozora.morae",),
    f"{_DATA}.phrases": (
        f"{_DATA}.grammar.draws",
        f"{_DATA}.grammar.noun_phrases",
        f"{_DATA}.grammar.predicates",
    ),
    f"{_DATA}.soseki": (f"{_DATA}.aozora.prose",),
}
"""Modules as they were, and those that hold their names now.

:meta hide-value:
"""


def names(old: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``: its names that are elsewhere now.

    Args:
        old: the module, a key of :data:`MOVED`.
    """

    def look_up(name: str) -> Any:
        """The object of that name.

        Raises:
            AttributeError: it is in none of the new modules; they are named.
        """
        if not name.startswith("__"):
            for new in map(import_module, MOVED[old]):
                if name in vars(new):
                    return vars(new)[name]
        raise AttributeError(
            f"{old} has no {name!r}; what was there is in "
            f"{' and '.join(MOVED[old])} now."
        )

    return look_up


class Finder:
    """Finds the modules of :data:`MOVED` that are there no more.

    Put at the end of ``sys.meta_path``, it is asked for what nobody else
    finds.
    """

    @staticmethod
    def find_spec(
        name: str, path: Any = None, target: Any = None
    ) -> ModuleSpec | None:
        """How to load a module that has moved; None for any other."""
        return ModuleSpec(name, Finder) if name in MOVED else None

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """The usual empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Let it look its names up where they are now."""
        module.__getattr__ = names(module.__name__)
