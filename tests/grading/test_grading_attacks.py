"""Students who break marking, with the source of all of it in their hands."""

import re
import sqlite3
from pathlib import Path

import nbformat
import pytest

from course_grading.__main__ import main
from tests.grading.class_of_eight import NAME, filled, read

ATTACKS = dict(
    re.findall(
        r"^## (\w+)\n\n```python\n(.*?)^```",
        Path(__file__).with_name("attacks.md").read_text("utf-8"),
        re.S | re.M,
    )
)
REPLACE = "handed.hand_over = lambda *_: Forged()"


@pytest.fixture(scope="module")
def broken_into(tmp_path_factory, pytestconfig):
    """One who attacks; with ``--all``, four."""
    folder = tmp_path_factory.mktemp("attacks")
    assert main(["release", NAME, "--to", str(folder / "g")]) == 0
    release = nbformat.read(
        folder / "g" / "release" / NAME / f"{NAME}.ipynb", as_version=4
    )
    secret = folder / "secret"
    secret.write_text("secret")
    book = str(folder / "g" / "gradebook.db")
    codes = {
        name: code.replace("BOOK", book).replace("SECRET", str(secret))
        for name, code in ATTACKS.items()
    }
    cells = {
        "mallory": [codes[name] for name in ("stack", "source", "pickle")],
        "trudy": [codes[name] for name in ("forge", "bomb", "disk")],
        "oscar": [REPLACE, "", ""],
        "peggy": [codes["use"], codes["smuggle"], ""],
    }
    names = ("padding_mask", "causal_mask", "masked_softmax")
    if not pytestconfig.getoption("--all"):
        cells = {"mallory": cells["mallory"]}
    for student, sources in cells.items():
        notebook = filled(release, dict(zip(names, sources, strict=True)))
        code = next(c for c in notebook.cells if c.cell_type == "code")
        code.source += f"\n{codes['top']}"
        path = folder / "in" / student / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN", "of whoever grades")
        command = ["grade", str(folder / "in"), "--to", str(folder / "g")]
        assert main(command) == 0
    return folder


def test_no_attack_earns_a_point(broken_into, pytestconfig):
    table = read(broken_into / "g" / "marks.csv")
    tested = [row for row in table if row["verdict"]]
    assert len(tested) == 3 * len([*(broken_into / "in").iterdir()])
    assert {row["points"] for row in tested} == {"0"}
    assert "correct" not in {row["verdict"] for row in tested}
    if pytestconfig.getoption("--all"):  # of trudy's bomb
        assert "processes" in {row["mistake"] for row in tested}


def test_nothing_is_read_written_or_left_behind(broken_into):
    assert (broken_into / "secret").read_text() == "secret"
    for path in broken_into.glob(f"g/autograded/*/{NAME}/*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        code = next(cell for cell in cells if cell.cell_type == "code")
        printed = "".join(output.get("text", "") for output in code.outputs)
        assert printed.count("ModuleNotFoundError") == 3  # the cell did run
        assert "WORKED" not in printed
    with sqlite3.connect(broken_into / "g" / "gradebook.db") as book:
        scores = book.execute("select auto_score from grade").fetchall()
    assert {score for (score,) in scores} <= {0, None}
