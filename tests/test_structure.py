"""Laws of the package's structure, found by reading its code.

Kinds of models and of training are classes with methods. Who asks which kind
it is has to be changed with every new one, so nobody does.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer_course.checkpoint import KINDS
from transformer_course.tasks.table import TASKS

ROOT = Path(__file__).parents[1] / "transformer_course"
MODULES = {
    path.relative_to(ROOT).as_posix(): path
    for path in sorted(ROOT.rglob("*.py"))
    if "exercises" not in path.parts
}
CLASSES = {
    kind.__name__
    for made in [*KINDS.values(), [type(task) for task in TASKS.values()]]
    for one in made
    for kind in inspect.getmro(one)
    if kind.__module__.startswith("transformer_course")
}
NAMES = {*KINDS, *TASKS, *CLASSES} - {"transformer"}
"""As strings. "transformer" is a word for other things too: a comparison with
it is found, no other use of it."""
OWN = (
    "tasks/",
    "transformer.py",
    "bert.py",
    "recurrent.py",
    "presets.py",
)
"""Modules of kinds of models and of training, and settings that name them."""
ALLOWED = {
    ("config.py", "Experiment"): "a training is a translation by default",
    ("checkpoint.py", ""): "the table of kinds: names for what is stored",
    ("checkpoint.py", "_kind"): "finds the row of that table",
    ("checkpoint_files.py", "_unreadable"): "an error may have no reason",
    (
        "chunked_loss.py",
        "training_score",
    ): "takes apart what ends in one product; others are scored whole",
    (
        "ctranslate2_export.py",
        "check_convertible",
    ): "another program computes one kind, and is given its parts",
    ("pretrained.py", "_config"): "what a published config.json must say",
    ("checks.py", "require_fits"): "how a type hint is called",
    ("checks.py", "fits"): "the type of a plain value",
    ("checks.py", "is_whole"): "the type of a plain value",
    ("checks.py", "is_number"): "the type of a plain value",
    ("data/download.py", "_is_refused"): "an error may have no response",
    ("data/download.py", "_reason"): "the same",
    ("data/manifest.py", "_entry"): "types of plain values from JSON",
    ("experiment/shared.py", "_bare"): "a piece of code may have no body",
    ("speed.py", "use_faster_layers"): "torch's own layers, none of ours",
    ("speed.py", "pack_weights"): "torch's own layers, none of ours",
    ("viz.py", "show_source"): "a module may be a package",
}
"""Where, and why it is no question about the kind of a model or a task."""
LONG = {
    "data/grammar/lexicon.py": "a list of words",
    "viz.py": "figures for the book: nothing of the core reads it",
}
LONGEST = 420
"""Lines of a module."""
SHOP_WINDOWS = {"experiment/__init__.py", "grid/__init__.py"}
"""The packages whose ``__init__`` gives names that other modules own."""


# --- who asks ---------------------------------------------------------------


def questions(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Places that ask which kind of model or task something is.

    Yields:
        The function or class at the top level ("" outside), the line, and
        what is asked.
    """
    for top in tree.body:
        named = (ast.FunctionDef, ast.ClassDef)
        place = top.name if isinstance(top, named) else ""
        for node in ast.walk(top):
            if asked := asks(node):
                yield place, node.lineno, asked


def asks(node: ast.AST) -> str:
    """What a piece of code asks about a kind; "" if nothing."""
    match node:
        case ast.Constant(value=str(text)) if text in NAMES:
            return f"the name {text!r}"
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass")):
            if found := CLASSES & words(node.args[1]):
                return f"isinstance {min(found)}"
        case ast.Call(
            func=ast.Name(id="getattr" | "hasattr"),
            args=[_, ast.Constant(value=str(text)), *_],
        ):
            return f"an attribute {text!r} that may be missing"
        case ast.MatchClass(cls=kind) if CLASSES & words(kind):
            return "a match of its class"
        case ast.Compare():
            sides = [node.left, *node.comparators]
            if any(is_type(side) for side in sides):
                return "a comparison of types"
            if any(is_kind(side) for side in sides):
                return "a comparison of kinds"
    return ""


def words(tree: ast.AST) -> set[str]:
    """All names and attributes in an expression."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return names | {
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)
    }


def is_type(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type")):
            return True
        case ast.Attribute(attr="__class__"):
            return True
        case ast.Attribute(value=inner, attr="__name__"):
            return is_type(inner)
    return False


def is_kind(node: ast.AST) -> bool:
    """The name of a model's kind, or of a task, as a value."""
    match node:
        case ast.Constant(value=str(text)):
            return text in NAMES or text in KINDS
    return False


@pytest.mark.parametrize(
    "name",
    [name for name in MODULES if not name.startswith(OWN)],
)
def test_nobody_asks_which_kind_of_model_or_task_it_is(name):
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    found = [
        f"{name}:{line} asks for {asked} in {place or 'the module'}"
        for place, line, asked in questions(tree)
        if (name, place) not in ALLOWED
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "code",
    [
        "if isinstance(model, LanguageModel): pass",
        "if isinstance(m.config, (int, config.RecurrentConfig)): pass",
        "if issubclass(kind, ModelConfig): pass",
        "if type(model) is LanguageModel: pass",
        "if type(config) in (ModelConfig, RecurrentConfig): pass",
        "if model.__class__ == Transformer: pass",
        "if type(model).__name__ == 'Transformer': pass",
        "if settings.task == 'translation': pass",
        "if task.name in ('next_sentence', 'translation'): pass",
        "write = {'language_modelling': sample}[task.name]",
        "match task.name:\n    case 'translation': pass",
        "match model:\n    case LanguageModel(): pass",
        "if header['kind'] == 'transformer': pass",
        "cross = hasattr(model, 'encoder')",
        "if isinstance(task, Translation): pass",
        "class A:\n    def f(self): return type(self.x) is Translation",
    ],
)
def test_a_question_is_found(code):
    assert list(questions(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "if isinstance(value, float): pass",
        "model = LanguageModel(LanguageModelConfig())",
        "task = find_task(experiment.task)",
        "value = getattr(config, name)",
        "score = task.score(model, batch, 0.1)",
        "if name == 'best': pass",
    ],
)
def test_what_is_no_question_is_left_alone(code):
    assert not list(questions(ast.parse(code)))


def test_what_is_allowed_is_still_there():
    """A place that is gone must not stay on the list."""
    there = {
        (name, getattr(top, "name", ""))
        for name, path in MODULES.items()
        for top in ast.parse(path.read_text("utf-8")).body
    }
    gone = {place for place in ALLOWED if place not in there}
    assert not gone
    assert there >= {(name, "") for name in LONG}


# --- size -------------------------------------------------------------------


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


@pytest.mark.parametrize("name", sorted(set(MODULES) - set(LONG)))
def test_no_module_is_long(name):
    assert lines(MODULES[name]) <= LONGEST


# --- names have one home ----------------------------------------------------


def given_on(tree: ast.Module) -> set[str]:
    """Names that a module imports from the package and does not use."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("transformer_course")
        for alias in node.names
    }
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return imported - used


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MODULES
        if name.endswith("__init__.py") and name not in SHOP_WINDOWS
    ],
)
def test_an_init_gives_no_names_of_other_modules(name):
    assert not given_on(ast.parse(MODULES[name].read_text("utf-8")))


def test_a_name_that_is_given_on_is_found():
    code = "from transformer_course.x.y import one, two\n\nthree = two()\n"
    assert given_on(ast.parse(code)) == {"one"}
