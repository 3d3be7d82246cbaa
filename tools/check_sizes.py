"""Fail when a file of the repository is larger than it should be.

A repository that is read and cloned by learners stays small: corpora are
fetched, and weights are trained; only the two translators in ``models/`` come
with it, in eight bits.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 500_000  # bytes
NOTEBOOK_LIMIT = 1_500_000  # its figures are inside it
MODEL_LIMIT = 12_500_000  # twelve million weights, a byte each


def tracked_files() -> list[Path]:
    """Every file under version control that is still there."""
    if not (ROOT / ".git").exists():  # an archive: everything was tracked
        return []
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others"]
        + ["--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = filter(None, listing.stdout.split("\0"))
    return [path for name in names if (path := ROOT / name).is_file()]


def limit_of(path: Path) -> int:
    """How many bytes a file may have."""
    if path.suffix == ".ipynb":
        return NOTEBOOK_LIMIT
    if path.match("models/*/model.safetensors"):
        return MODEL_LIMIT
    return LIMIT


def main() -> int:
    """Print each file over its limit; the exit status is 1 if there is one."""
    too_large = 0
    for path in tracked_files():
        limit = limit_of(path)
        size = path.stat().st_size
        if size > limit:
            too_large += 1
            print(
                f"{path.relative_to(ROOT)}: {size:,} bytes, "
                f"more than the {limit:,} that such a file may have"
            )
    if not too_large:
        print("File sizes: all within their limits")
    return 1 if too_large else 0


if __name__ == "__main__":
    sys.exit(main())
