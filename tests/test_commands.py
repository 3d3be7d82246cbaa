"""Every command that the book and the READMEs tell can be typed.

Each is handed to the parser that would read it: the package's own, that of
the experiments, and make.
"""

import functools
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tyro

from experiments.__main__ import find, main
from experiments.lab import Bench, Experiment
from transformer_course import runs
from transformer_course.cli.commands import parsed
from transformer_course.errors import CourseError

ROOT = Path(__file__).parents[1]
PAGES = [
    *sorted((ROOT / "book/en").glob("*.*")),
    *(ROOT / name for name in ("README.md", "README.ja.md")),
    *(ROOT / name for name in ("CONTRIBUTING.md", "runs/README.md")),
]
BLOCK = re.compile(r"```(?:bash|console|sh)\n(.*?)```", re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
BEGINS = re.compile(
    r"(transformer-course|python -m (experiments|tools\.)|python tools/|make)"
    r"\b"
)
TORCHRUN = re.compile(r"torchrun .*-m transformer_course\.cli")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)
VARIABLES = re.findall(r"\$\(([A-Z_]+)\)|^ifdef (\w+)", MAKEFILE, re.M)


def texts_of(page: Path) -> list[str]:
    """What a page says: of a notebook its prose."""
    text = page.read_text("utf-8")
    if page.suffix != ".ipynb":
        return [text]
    return [
        "".join(cell["source"])
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "markdown"
    ]


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


TEXTS = [text for page in PAGES for text in texts_of(page)]
TOLD = sorted({typed for text in TEXTS for typed in commands_in(text)})


def parse(command: str) -> None:
    """Read a command as it would be read, and do nothing."""
    for place, example in (("/NAME", "/enja"), ("NAME", "norms")):
        command = command.replace(place, example)
    match shlex.split(command):
        case ["transformer-course", *args]:
            parsed(args)
        case ["python", "-m", "experiments", *args]:
            parse_experiment(args)
        case ["python", "-m", module, *_]:
            parse_tool(module.replace(".", "/"))
        case ["python", path, *_]:
            parse_tool(path.removesuffix(".py"))
        case ["make", *words]:
            parse_make(words)


def parse_experiment(args: list[str]) -> None:
    """Its name, its variants, its options."""

    @functools.wraps(main)
    def kept(name="", inputs=(), **options):
        return name, inputs, options

    name, inputs, options = tyro.cli(kept, args=args)
    if name:
        one = find(name)
        bench = Bench(runs.folder(name), options.get("only", ()), (), inputs)
        if isinstance(one, Experiment):
            one.cells(bench)


def parse_tool(path: str) -> None:
    """There is such a module."""
    places = [ROOT / f"{path}.py", ROOT / path / "__main__.py"]
    assert any(place.is_file() for place in places), path


def parse_make(words: list[str]) -> None:
    """There are such targets and variables."""
    known = {name for pair in VARIABLES for name in pair}
    for word in words:
        variable, given, _ = word.partition("=")
        assert variable in (known if given else TARGETS), word


@pytest.mark.parametrize("command", TOLD)
def test_what_is_told_can_be_typed(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    parse(command)


def test_makes_targets_are_those_of_make():
    """A dry run of all of them."""
    done = subprocess.run(
        ["make", "-n", *dict.fromkeys(TARGETS), "SUBMISSIONS=x"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "transformer-course trian grammar",
        "transformer-course train grammar --train.epoch 3",
        "transformer-course train --like runs/nowhere",
        "transformer-course train enja-longer",
        "python -m experiments nrms",
        "python -m experiments norms --onyl parts",
        "python -m experiments norms --only prats",
        "python -m tools.nothing",
        "python tools/train_failures.py",
        "make tset",
        "make test WORKRES=4",
    ],
)
def test_what_cannot_be_typed_is_found(command):
    assert list(commands_in(f"type `{command}`")) == [command]
    with pytest.raises((AssertionError, CourseError, SystemExit)):
        parse(command)


def test_commands_are_found_in_blocks_and_sentences():
    text = """Type `make book`, or

```bash
echo "a | b" | transformer-course translate outputs/enja  # what you type
.venv/bin/transformer-course data list
.venv/bin/torchrun --nproc-per-node 2 -m transformer_course.cli train enja
python -m experiments norms \\
    --only parts
```
in the folder `transformer-course`, and not `makes`."""
    assert sorted(commands_in(text)) == [
        "make book",
        "python -m experiments norms      --only parts",
        "transformer-course data list",
        "transformer-course train enja",
        "transformer-course translate outputs/enja",
    ]
