"""The wheel of the package, built as pip builds it."""

import subprocess
import sys
from pathlib import Path

from built_book import ROOT

BUILD = """
import sys
from setuptools import setup
folder = sys.argv[1]
setup(script_args=["-q", "egg_info", "--egg-base", folder, "build",
    "--build-base", folder, "bdist_wheel", "--dist-dir", folder])
"""
"""Its files go into a folder of their own: setuptools would put what an
earlier build has left in ``build/`` into the next wheel."""


def build_wheel(folder: Path) -> Path:
    """Build it from the sources as they are."""

    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUILD, folder],
        check=True,
        cwd=ROOT,
    )
    [wheel] = folder.glob("*.whl")
    return wheel
