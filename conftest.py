"""What every test run does first, for the package's tests and notebooks."""

import os

# Workers share the cores, and what is tested is small. It is said before torch
# is imported, and a notebook's kernel inherits it.
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or "1"
os.environ["MKL_NUM_THREADS"] = os.environ.get("MKL_NUM_THREADS") or "1"

import pytest
import torch

if os.environ.get("CHECK_TYPES"):  # `make test-types`
    from jaxtyping import install_import_hook

    # Every call is checked against its annotations, shapes included. This
    # has to come before the first import of the package.
    install_import_hook(
        ["transformer_course", "course_exercises"], "beartype.beartype"
    )

from tools import forked_kernels
from tools.refresh_outputs import check_figures, missing_for
from transformer_course.device import pick_device


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all``: run the tests marked ``exhaustive`` as well."""
    parser.addoption(
        "--all",
        action="store_true",
        help="run every test, not only a sample of the exhaustive ones",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Fork kernels that check figures; use the threads that were chosen."""
    check_figures()
    forked_kernels.install()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


def pytest_report_header() -> str:
    """Say what the tests run on."""
    device = pick_device()
    name = (
        f" ({torch.cuda.get_device_name()})" if device.type == "cuda" else ""
    )
    return f"torch {torch.__version__} on {device}{name}"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Choose the tests that run, and skip what needs a missing file."""
    if not config.getoption("--all"):
        _deselect_exhaustive(config, items)
    _skip_what_lacks(items)
    for notebook in {i.parent for i in items if hasattr(i.parent, "nb")}:
        notebook.skip_compare += ("image/svg+xml",)


def _deselect_exhaustive(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out tests marked so, and cells of notebooks tagged so."""
    left_out = {
        item
        for item in items
        if item.get_closest_marker("exhaustive") or "exhaustive" in _tags(item)
    }
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [i for i in items if i not in left_out]


def _tags(item: pytest.Item) -> list[str]:
    """The tags of a notebook's cell; a test has none."""
    return item.cell.metadata.get("tags", []) if hasattr(item, "cell") else []


def _skip_what_lacks(items: list[pytest.Item]) -> None:
    """Skip, by name, the notebooks and cells whose corpus, or published
    weights, are missing."""
    for item in items:
        notebook = getattr(item.parent, "nb", None)
        if notebook is None:
            continue
        for part, name in [(notebook, ""), (item.cell, f", {item.name},")]:
            if missing := missing_for(part):
                reason = (
                    f"{item.path.name}{name} needs {', '.join(missing)}, "
                    "which this machine lacks: fetch it by transformer-course "
                    "data fetch, make weights or make antiberty"
                )
                item.add_marker(pytest.mark.skip(reason))
                break
