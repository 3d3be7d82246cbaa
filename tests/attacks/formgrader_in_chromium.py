"""Answers in words, shown by Formgrader, in a browser.

    python -m tests.attacks.formgrader_in_chromium [--chromium PATH]

Hands in the answers of ``tests/test_grading_attacked_class.py``, starts
nbgrader's server, opens each submission in headless Chromium, and looks
whether a script of the answer has run: it would have changed the page's
title. A submission that is not fenced is shown too, to see that it would be
noticed.

Result, November 2026, with nbgrader 0.9.6 and Chromium 150: all 17 answers
were shown as text; of the one that is not fenced the script ran.
"""

import argparse
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.api import Gradebook

from tests.grading_class import NAME, QUESTION, filled
from tests.test_grading_attacked_class import ANSWERS, SCRIPT
from tools.grading.answers import answers_in, restored
from tools.grading.assignment import find_assignments
from tools.grading.gradebook import COURSE, Course
from tools.grading.notebooks import cells_of
from tools.refresh_outputs import ROOT

UNFENCED = "not fenced"


def build(folder: Path) -> dict[str, str]:
    """Note a submission for each answer; nbgrader's numbers of them."""
    course = Course(folder)
    course.write_settings(ROOT)
    (assignment,) = find_assignments([NAME])
    given = course.release(assignment)
    for name, answer in (ANSWERS | {UNFENCED: SCRIPT}).items():
        written = filled(given.notebook, {}, answer or SCRIPT)
        made = restored(given, answers_in(cells_of(written), given))
        for cell in made.cells:
            if name == UNFENCED and cell.id == QUESTION:
                cell.source = answer
        course.mark(NAME, name, made, ())
    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}", COURSE) as book:
        found = book.notebook_submissions(NAME, NAME)
        return {one.student.id: one.id for one in found}


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Jupyter's server with Formgrader, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", f"--port={port}", "--allow-root"]
    options += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", *options],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(60):
            try:
                urllib.request.urlopen(f"{address}/formgrader/gradebook")
                break
            except OSError:
                time.sleep(1)
        yield address
    finally:
        process.kill()
        process.wait()


def shown(chromium: str, address: str) -> str:
    """The page as it is when its scripts have run."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [
                chromium,
                *options,
                f"--user-data-dir={profile}",
                "--virtual-time-budget=5000",
                address,
            ],
            capture_output=True,
            check=True,
            text=True,
            timeout=120,
        ).stdout


def main() -> int:
    """Show each, and say what happened; 1 if a script has run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium", default="chromium")
    chromium = parser.parse_args().chromium
    ran = []
    with tempfile.TemporaryDirectory() as folder:
        numbers = build(Path(folder))
        with server(Path(folder)) as address:
            for name, number in numbers.items():
                page = shown(
                    chromium, f"{address}/formgrader/submissions/{number}/"
                )
                if "Student's answer" not in page:
                    print(f"{name}: Formgrader did not show it")
                    return 2
                title = re.search("<title>(.*?)</title>", page)
                bad = title[1] == "run" or 'href="javascript' in page
                print(f"{name}: {'a script has run' if bad else 'text'}")
                ran += [name] * bad
    return int(ran != [UNFENCED])


if __name__ == "__main__":
    sys.exit(main())
