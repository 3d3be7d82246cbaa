"""What a student's code names that no exercise needs.

Such code may still be honest: a lecturer is told, and no mark depends on it.
Who wants to hide something can; plain cases are found.
"""

import ast
from collections.abc import Iterator

from tools.grading.answers import Program

USUAL = set(
    "__future__ abc bisect collections copy dataclasses einops enum fractions "
    "functools heapq itertools jaxtyping math matplotlib numbers numpy "
    "operator random re statistics string time torch typing warnings".split()
)
"""What code may well import."""
UNUSUAL = (
    "torch.hub",
    "torch.library",
    "torch.multiprocessing",
    "torch.ops",
    "torch.utils.cpp_extension",
)
"""Parts of these that it need not."""
COURSE = ("transformer_course.", "course_exercises.")
REACHING = set(
    "__builtins__ __closure__ __code__ __globals__ __import__ __loader__ "
    "__reduce__ __spec__ __subclasses__ _current_frames _getframe eval exec "
    "f_back f_builtins f_globals f_locals gi_frame globals open tb_frame "
    "tb_next".split()
)
"""Names by which code reaches beyond itself."""


def odd_names(program: Program) -> list[str]:
    """Modules and names of a program that a lecturer may want to look at."""
    found: set[str] = set()
    for source in (*program.helpers, program.cell):
        try:
            tree = ast.parse(source)
        except (Exception, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            found.update(filter(_is_odd_module, _modules_in(node)))
            found.update(name for name in _names_in(node) if name in REACHING)
    return sorted(found)


def _modules_in(node: ast.AST) -> Iterator[str]:
    """What is imported, or named in a text as if it were to be."""
    if isinstance(node, ast.ImportFrom):
        yield node.module or "."
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif _is_text(node) and node.value.startswith(COURSE):
        yield node.value


def _is_odd_module(name: str) -> bool:
    return name.startswith(UNUSUAL) or name.partition(".")[0] not in USUAL


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif _is_text(node):
        yield node.value


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
