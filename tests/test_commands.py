"""Every command in the book and the READMEs parses.

Each is handed to the parser that would read it: the package's own, that of
the experiments, and make.
"""

import functools
import re
import shlex
import subprocess
from collections.abc import Iterator

import tyro
from built_book import BOOK, ROOT, markdown_of

from experiments import store
from transformer_course.cli.commands import COMMANDS

PAGES = [
    *sorted(BOOK.glob("en/*.md")),
    *sorted(BOOK.glob("en/*.ipynb")),
    *sorted(ROOT.glob("README*.md")),
    ROOT / "CONTRIBUTING.md",
    ROOT / "experiments/results/README.md",
]
UNITS = BOOK / "en/units.yml"
BLOCK = re.compile(r"```(?:bash|console|sh)\n(.*?)```", re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PYTHON = r"python -m (experiments|tools\.)|python tools/"
BEGINS = re.compile(rf"(transformer-course|{PYTHON}|make)\b")
TORCHRUN = re.compile(r"torchrun .*-m transformer_course\.cli")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE)
VARIABLES = re.findall(r"(?:\$\(|^ifdef )([A-Z_]+)\b", MAKEFILE, re.M)


def commands_in(text: str) -> Iterator[str]:
    """What is to be typed, in blocks and in the midst of a sentence."""
    blocks = "".join(BLOCK.findall(text)).replace("\\\n", " ")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for line in [*blocks.splitlines(), *SPAN.findall(prose)]:
        for part in line.partition(" #")[0].split("|"):
            typed = part.strip().removeprefix(".venv/bin/")
            typed = TORCHRUN.sub("transformer-course", typed)
            if BEGINS.match(typed) and typed != "transformer-course":
                yield typed


def parse(command: str) -> None:
    """Read a command as it would be read, and do nothing."""
    for place, example in (("/NAME", "/enja"), ("NAME", "norms")):
        command = command.replace(place, example)
    match shlex.split(command):
        case ["transformer-course", *args]:
            parse_course(args)
        case ["python", "-m", "experiments", *args]:
            parse_experiment(args)
        case ["python", "-m", module, *_]:
            parse_tool(module.replace(".", "/"))
        case ["python", path, *_]:
            parse_tool(path.removesuffix(".py"))
        case ["make", *words]:
            parse_make(words)


def parse_course(args: list[str]) -> None:
    """A command of the package and its options."""
    if {"--like", "--from", "--version"} & {*args} or (
        args[0] == "train" and "--model" in args
    ):
        return
    unused = {
        name: functools.wraps(command)(lambda *args, **options: None)
        for name, command in COMMANDS.items()
    }
    tyro.extras.subcommand_cli_from_dict(unused, args=args)


def parse_experiment(args: list[str]) -> None:
    """Its name, its variants, its options."""
    # here, since they import every experiment
    from experiments.__main__ import find, main
    from experiments.lab import Experiment, RunContext

    @functools.wraps(main)
    def kept(name="", inputs=(), **options):
        return name, inputs, options

    name, inputs, options = tyro.cli(kept, args=args)
    if name:
        one = find(name)
        context = RunContext(
            store.folder(name), options.get("only", ()), (), inputs
        )
        if isinstance(one, Experiment):
            one.cells(context)


def parse_tool(path: str) -> None:
    """There is such a module."""
    places = [ROOT / f"{path}.py", ROOT / path / "__main__.py"]
    assert any(place.is_file() for place in places), path


def parse_make(words: list[str]) -> None:
    """There are such targets and variables."""
    for word in words:
        variable, given, _ = word.partition("=")
        assert variable in (VARIABLES if given else TARGETS), word


def test_each_command_parses(monkeypatch):
    monkeypatch.chdir(ROOT)
    texts = [markdown_of(page) for page in PAGES] + [UNITS.read_text("utf-8")]
    commands = sorted({typed for text in texts for typed in commands_in(text)})
    assert len(commands) > 100
    wrong = []
    for command in commands:
        try:
            parse(command)
        except (Exception, SystemExit) as error:
            wrong.append(f"{command}: {error}")
    assert not wrong


def test_makes_targets_are_those_of_make():
    """A dry run of all of them."""
    done = subprocess.run(
        ["make", "-n", *dict.fromkeys(TARGETS), "SUBMISSIONS=x"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
