"""The index of the stored runs: their makers and readers.

It is ``experiments/results/README.md``; ``python -m experiments --index``
writes it; a test holds that it is as it would be written, and that each run
has one maker and a reader.
"""

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path

from experiments import store
from experiments.lab import Job, like
from transformer_course.errors import CourseError
from transformer_course.training.run.folder import settings_of

ROOT = Path(__file__).parents[1]
TOOLS = {
    "bench": ("21_speed", "`make bench`"),
    "cell-times": ("lecturers", "`python -m tools.time_cells --store`"),
    "soseki-published": ("16_soseki", "copied by hand; the file says whence"),
}
"""Runs that no experiment makes: the page that asks, and who makes them."""
HEAD = """# Stored runs

What long trainings and measurements gave, for the book's cells to read. A \
chapter reads its figures from here, so that none is typed in. Every file \
keeps the command that it was made with; below stands today's.

This page is written by `python -m experiments --index`.

| run | asked in | made by | read in |
|---|---|---|---|
"""
READS = re.compile(r"\bstore\.|\bstored")
"""Pattern of a cell that reads a stored run."""


def makers(experiments: Iterable[Job]) -> dict[str, list[tuple[str, str]]]:
    """Pages and commands of each stored run: who asks, what makes it."""
    found = {name: [maker] for name, maker in TOOLS.items()}
    for one in experiments:
        for run in one.makes:
            typed = f"`{one.command_for(run)}`"
            if is_trained(run):
                typed = f"`{like(run)}`, then {typed}"
            found.setdefault(run, []).append((one.chapter, typed))
    return found


def is_trained(run: str) -> bool:
    """Whether ``transformer-course train`` has made a stored run."""
    try:
        return bool(settings_of(store.folder(run)))
    except CourseError:
        return False


def readers(run: str) -> list[str]:
    """The pages of the book that read a stored run, or tell of its file."""
    quoted = re.compile(rf"[\"']{run}[\"']")
    named = re.compile(rf"results/{run}(?![\w-])|{{time-machine}} {run}\s")
    return [
        page.stem
        for page in sorted((ROOT / "book/en").glob("*.*"))
        if any(
            named.search(text)
            or (is_code and READS.search(text) and quoted.search(text))
            for is_code, text in parts_of(page)
        )
    ]


@functools.cache
def parts_of(page: Path) -> list[tuple[bool, str]]:
    """The cells of a page, each with whether it is code."""
    text = page.read_text("utf-8")
    if page.suffix != ".ipynb":
        return [(False, text)]
    return [
        (cell["cell_type"] == "code", "".join(cell["source"]))
        for cell in json.loads(text)["cells"]
    ]


def additions(run: str, experiments: Iterable[Job]) -> list[str]:
    """Commands that add a file to a run that another makes."""
    return [f"`{one.command}`" for one in experiments if run in one.adds_to]


def text_of(experiments: Iterable[Job]) -> str:
    """The page."""
    experiments = list(experiments)
    lines = []
    for run, found in sorted(makers(experiments).items()):
        for chapter, typed in found:
            made = ", then ".join([typed, *additions(run, experiments)])
            read = ", ".join(readers(run))
            lines.append(f"| `{run}` | {chapter} | {made} | {read} |\n")
    return HEAD + "".join(lines)


def write(experiments: Iterable[Job]) -> None:
    """Write the page."""
    store.write_file(store.folder("README.md"), text_of(experiments))
