"""The Chromium that a machine has: nothing here downloads one."""

import os
import shutil

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def find_chromium() -> str | None:
    """The browser that ``CHROMIUM`` names, or one on the path."""
    if given := os.environ.get("CHROMIUM"):
        return shutil.which(given)
    return next(filter(None, map(shutil.which, NAMES)), None)
