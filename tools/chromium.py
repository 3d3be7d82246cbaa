"""The Chromium that a machine has: nothing here downloads one."""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
LIMIT = 60
"""Seconds for a page."""
SETTLE = 10_000
"""Milliseconds of the page's own clock, for its formulas."""


def find_chromium() -> str | None:
    """The browser that ``CHROMIUM`` names, or one on the path."""
    if given := os.environ.get("CHROMIUM"):
        return shutil.which(given)
    return next(filter(None, map(shutil.which, NAMES)), None)


def print_pdf(page: Path) -> Path | None:
    """Print a page beside itself; None where there is no browser."""
    if (browser := find_chromium()) is None:
        return None
    target = page.with_suffix(".pdf")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    subprocess.run(
        [browser, "--headless", "--disable-gpu"]
        + ["--no-sandbox"] * root  # which root cannot have
        + ["--no-pdf-header-footer", f"--virtual-time-budget={SETTLE}"]
        + [f"--print-to-pdf={target}", page.as_uri()],
        check=True,
        timeout=LIMIT,
        capture_output=True,
    )
    return target
