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
    if find_chromium() is None:
        return None
    target = page.with_suffix(".pdf")
    open_page(
        page.as_uri(), "--no-pdf-header-footer", f"--print-to-pdf={target}"
    )
    return target


def photograph(
    address: str, target: Path, size: tuple[int, int], scale: int
) -> None:
    """Write a page as it looks in a window of some size, as PNG."""
    width, height = size
    open_page(
        address,
        "--hide-scrollbars",
        f"--force-device-scale-factor={scale}",
        f"--window-size={width},{height}",
        f"--screenshot={target}",
    )


def open_page(address: str, *options: str) -> None:
    """Open a page without a window, and close it.

    Raises:
        FileNotFoundError: there is no browser.
    """
    if (browser := find_chromium()) is None:
        raise FileNotFoundError("this needs Chromium, which is not here")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    subprocess.run(
        [browser, "--headless", "--disable-gpu"]
        + ["--no-sandbox"] * root  # which root cannot have
        + [f"--virtual-time-budget={SETTLE}", *options, address],
        check=True,
        timeout=LIMIT,
        capture_output=True,
    )
