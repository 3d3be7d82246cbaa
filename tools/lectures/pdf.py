"""Pages as PDF, by the Chromium that there is."""

import os
import subprocess
from pathlib import Path

from tools.chromium import find_chromium

LIMIT = 60  # seconds for a page
SETTLE = 10_000  # milliseconds of the page's own clock, for its formulas


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
