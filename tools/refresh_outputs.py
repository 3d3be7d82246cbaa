"""Run the notebooks and store their outputs, with the same bytes every time.

    python -m tools.refresh_outputs                  all notebooks of book/
    python -m tools.refresh_outputs NOTEBOOK ...     these

Run twice on one machine it writes the same bytes, but for cells that measure
time: metadata is fixed, nothing records when or where a cell ran, text that
came in pieces is joined, and cells keep their ids.

A notebook whose metadata names a corpus that cannot be had without the network
(``{"transformer_course": {"corpus": "small_parallel_enja"}}``, or a list) is
left as it is, and named. So is one with a cell that says the same in its own
metadata: the stored output of that cell would be lost. ``{"weights":
"minilm"}`` says that a cell needs published weights (:data:`WEIGHTS`).
"""

import argparse
import hashlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from transformer_course import files
from transformer_course.checkpoints.antiberty import ANTIBERTY, antiberty_file
from transformer_course.checkpoints.pretrained import MINILM, minilm_folder
from transformer_course.checkpoints.smollm2 import SMOLLM2, smollm2_file
from transformer_course.data.download import is_available
from transformer_course.errors import CourseError

ROOT = Path(__file__).resolve().parent.parent
CELL_TIMEOUT = 1800  # seconds
FIXED_METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
WEIGHTS = {
    "minilm": (MINILM, minilm_folder),
    "antiberty": (ANTIBERTY, antiberty_file),
    "smollm2": (SMOLLM2, smollm2_file),
}
"""Published weights, as metadata call them: their package, and its finder."""
KEPT_METADATA = ("transformer_course", "mystnb", "title")
DROPPED_CELL_METADATA = (
    "ExecuteTime",
    "collapsed",
    "execution",
    "jupyter",
    "scrolled",
)


def corpora_of(part: NotebookNode) -> list[str]:
    """The corpora that a notebook, or one cell, says it needs.

    What the cells of a notebook need is not among the notebook's own.
    """
    named = part.metadata.get("transformer_course", {}).get("corpus", [])
    return [named] if isinstance(named, str) else list(named)


def missing_for(part: NotebookNode) -> list[str]:
    """What a notebook or cell needs and this machine lacks, by name."""
    missing = [name for name in corpora_of(part) if not is_available(name)]
    needed = part.metadata.get("transformer_course", {}).get("weights")
    if needed:
        name, find = WEIGHTS[needed]
        try:
            find()
        except CourseError:
            missing.append(name)
    return missing


def missing_anywhere(notebook: NotebookNode) -> list[str]:
    """What the notebook or any of its cells lacks, once each."""
    parts = [notebook, *notebook.cells]
    missing = [name for part in parts for name in missing_for(part)]
    return list(dict.fromkeys(missing))


def client_of(notebook: NotebookNode, folder: Path) -> NotebookClient:
    """A client that runs a notebook in an empty kernel of this environment."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    return NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )


def tidy(notebook: NotebookNode) -> None:
    """Leave nothing in a notebook that depends on when or where it ran."""
    kept = {
        key: notebook.metadata[key]
        for key in KEPT_METADATA
        if key in notebook.metadata
    }
    notebook.metadata = nbformat.from_dict({**FIXED_METADATA, **kept})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    seen: set[str] = set()
    for number, cell in enumerate(notebook.cells):
        cell.id = stable_id(cell, number, seen)
        seen.add(cell.id)
        for key in DROPPED_CELL_METADATA:
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.outputs = join_streams(cell.outputs)
            for output in cell.outputs:
                if "metadata" in output:
                    output.metadata = nbformat.from_dict({})


def stable_id(cell: NotebookNode, number: int, seen: set[str]) -> str:
    """The cell's own id; for one that has none, an id made from its text."""
    own = cell.get("id", "")
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", own) and own not in seen:
        return own
    text = f"{number} {cell.source}".encode()
    return hashlib.sha256(text).hexdigest()[:8]


def join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join what a kernel sent in pieces; where it cut depends on timing."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if (
            output.output_type == "stream"
            and last is not None
            and last.output_type == "stream"
            and last.name == output.name
        ):
            last.text += output.text
        else:
            joined.append(output)
    return joined


def write(notebook: NotebookNode, path: Path) -> bool:
    """Replace the file as a whole; whether it changed."""
    nbformat.validate(notebook)
    text = nbformat.writes(notebook)
    text = text if text.endswith("\n") else text + "\n"
    if path.read_text(encoding="utf-8") == text:
        return False
    files.write_atomic(path, text)
    return True


def refresh(path: Path) -> str:
    """Run one notebook and store its outputs; whether they changed."""
    notebook = nbformat.read(path, as_version=4)
    client_of(notebook, path.parent).execute()
    tidy(notebook)
    return "changed" if write(notebook, path) else "same"


def run_each(paths: list[Path], work: Callable[[Path], str]) -> int:
    """Print the result of ``work`` for each notebook; 1 if one failed.

    A notebook whose corpora or weights cannot be had is skipped.
    """
    failed = 0
    for path in paths or find_notebooks():
        print(f"{os.path.relpath(path, ROOT)}: ", end="", flush=True)
        if missing := missing_anywhere(nbformat.read(path, as_version=4)):
            print(
                f"skipped: it needs {', '.join(missing)}, which is not on "
                "this machine; fetch it: "
                + (
                    "make weights antiberty"
                    if missing[0] in dict(WEIGHTS.values())
                    else f"transformer-course data fetch {missing[0]}"
                )
            )
            continue
        try:
            print(work(path), flush=True)
        except CellExecutionError as error:
            failed += 1
            print("failed; the file is left as it was")
            print(error, file=sys.stderr)
    return 1 if failed else 0


def notebook_path(name: str) -> Path:
    """A notebook by its path, or by its chapter's name, ``04_attention``.

    Raises:
        argparse.ArgumentTypeError: there is none.
    """
    path = Path(name)
    if path.is_file() and path.suffix == ".ipynb":
        return path.resolve()
    there = {each.stem: each for each in find_notebooks()[::-1]}
    stem = path.name.removesuffix(".ipynb")
    if stem not in there or path.name != name:
        raise argparse.ArgumentTypeError(
            f"no notebook {name!r}; give a path or a chapter's name: "
            f"{', '.join(sorted(there))}"
        )
    return there[stem]


def find_notebooks() -> list[Path]:
    """Every notebook of the book."""
    return [
        path
        for path in sorted((ROOT / "book").rglob("*.ipynb"))
        if ".ipynb_checkpoints" not in path.parts
    ]


def parser_of(description: str) -> argparse.ArgumentParser:
    """A parser of notebooks' names."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "notebooks",
        nargs="*",
        type=notebook_path,
        help="a path or a chapter's name, such as 04_attention (all)",
    )
    return parser


def check_figures() -> None:
    """Let the kernels of this process refuse illegible figures."""
    tests = str(ROOT / "tests")  # matplotlibrc names a module beside it
    os.environ["MATPLOTLIBRC"] = tests
    known = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (tests, known)))


def main() -> int:
    """Refresh the notebooks that the command line names; 1 if one failed."""
    options = parser_of(__doc__).parse_args()
    check_figures()
    return run_each(options.notebooks, refresh)


if __name__ == "__main__":
    sys.exit(main())
