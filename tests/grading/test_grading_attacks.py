"""Students who break marking, with the source of all of it in their hands."""

import sqlite3

import nbformat
import pytest

from course_grading.__main__ import main
from tests.grading.class_of_twenty import NAME, filled, read

TOP = """
import json, os, pathlib, socket, sys, time

# a process that lives on, and changes the gradebook when it is there
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import sqlite3
        while True:
            time.sleep(0.2)
            with sqlite3.connect({book!r}) as book:
                book.execute("update grade set auto_score = 2")
    os._exit(0)
os.wait()

# the marks, the solutions, the machine
for tried in (
    lambda: pathlib.Path({book!r}).read_bytes(),
    lambda: pathlib.Path({secret!r}).read_text(),
    lambda: pathlib.Path({secret!r}).write_text("mine"),
    lambda: pathlib.Path("/proc/1/environ").read_text().index("PATH=/root"),
    lambda: socket.create_connection(("192.0.2.1", 80), 1),
    lambda: __import__("transformer_course.models.masks"),
    lambda: __import__("course_exercises.catalogue.masks.padding_mask"),
    lambda: __import__("course_grading.course"),
):
    try:
        tried()
        print("WORKED", tried.__code__.co_firstlineno)
    except BaseException as error:
        print(type(error).__name__)

# the verdict itself
import course_exercises.candidate.handed as handed

class Forged:
    def _repr_mimebundle_(self, **_):
        right = {{"text": "", "kind": "correct", "exercise": "padding_mask",
                 "mistake": "", "section": ""}}
        return {{"text/plain": "2.0", {mime!r}: right}}
"""
STACK = """
def padding_mask(ids, pad_id=0):
    import gc, sys
    frame = sys._getframe()
    while frame:
        for name, value in frame.f_locals.items():
            if name in ("expected", "wanted", "solution"):
                return value
        frame = frame.f_back
    for one in gc.get_objects():
        if getattr(one, "__name__", "") == "padding_mask":
            if one is not padding_mask:
                return one(ids, pad_id)
    return ids
"""
SOURCE = """
def causal_mask(length):
    import importlib.util, pathlib, sys
    for place in (*sys.path, "/", "/work", "/root", "/home"):
        folder = pathlib.Path(place)
        for path in folder.glob("**/causal_mask.py"):
            names = {}
            exec(path.read_text(), names)
            return names["causal_mask"](length)
        break
"""
PICKLE = """
class masked_softmax:
    def __reduce__(self):
        return exec, (
            "import os; os.system('touch {secret}'); "
            "print('findings', 'correct')",
        )

    def __call__(self, scores, mask):
        return scores

masked_softmax = masked_softmax()
masked_softmax.__name__ = "masked_softmax"
"""
FORGE = """
def padding_mask(ids, pad_id=0):
    import json, os
    found = {"is_class": False, "is_unwritten": False, "signature": "",
             "takes_arguments": True, "unused": [], "parameters": None,
             "outcomes": []}
    line = json.dumps({"findings": json.dumps(found), "printed": ""}) + "\\n"
    for descriptor in range(3, 30):
        try:
            os.write(descriptor, line.encode())
            os.write(descriptor, b'{"done": true}\\n')
        except OSError:
            pass
    os.kill(os.getppid(), 9)
    return ids
"""
BOMB = """
def causal_mask(length):
    import os, time
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(600)
    return length
"""
DISK = """
def masked_softmax(scores, mask):
    with open("/tmp/full", "wb") as file:
        for _ in range(100):
            file.write(bytes(1 << 24))
    return scores
"""
SMUGGLE = """
from course_exercises.catalogue.masks.masked_softmax import masked_softmax

def causal_mask(length):
    import marshal
    for name, other in list(globals().items()):
        if name == "padding_mask" and hasattr(other, "__code__"):
            with open("/tmp/solution", "wb") as file:
                marshal.dump(other.__code__, file)
    return length
"""
USE = """
def padding_mask(ids, pad_id=0):
    import marshal, types
    causal_mask  # so that it is stood in for
    try:
        with open("/tmp/solution", "rb") as file:
            code = marshal.load(file)
        return types.FunctionType(code, globals())(ids, pad_id)
    except OSError:
        return ids
"""
REPLACE = "handed.hand_over = lambda *_: Forged()"


@pytest.fixture(scope="module")
def broken_into(tmp_path_factory):
    """A class of four who attack."""
    folder = tmp_path_factory.mktemp("attacks")
    assert main(["release", NAME, "--to", str(folder / "g")]) == 0
    release = nbformat.read(
        folder / "g" / "release" / NAME / f"{NAME}.ipynb", as_version=4
    )
    secret = folder / "secret"
    secret.write_text("secret")
    top = TOP.format(
        book=str(folder / "g" / "gradebook.db"),
        secret=str(secret),
        mime="application/vnd.transformer-course.verdict+json",
    )
    cells = {
        "mallory": (STACK, SOURCE, PICKLE.replace("{secret}", str(secret))),
        "trudy": (FORGE, BOMB, DISK),
        "oscar": (REPLACE, "", ""),
        "peggy": (USE, SMUGGLE, "masked_softmax = masked_softmax"),
    }
    names = ("padding_mask", "causal_mask", "masked_softmax")
    for student, sources in cells.items():
        notebook = filled(release, dict(zip(names, sources, strict=True)))
        code = next(c for c in notebook.cells if c.cell_type == "code")
        code.source += top
        path = folder / "in" / student / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    assert main(["grade", str(folder / "in"), "--to", str(folder / "g")]) == 0
    return folder


def test_no_attack_earns_a_point(broken_into):
    table = read(broken_into / "g" / "marks.csv")
    tested = [row for row in table if row["verdict"]]
    assert len(tested) == 12
    assert {row["points"] for row in tested} == {"0"}
    assert "correct" not in {row["verdict"] for row in tested}


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


def test_a_limit_is_named(broken_into):
    rows = {
        (row["student"], row["exercise"]): row["mistake"]
        for row in read(broken_into / "g" / "marks.csv")
    }
    assert rows["trudy", "causal_mask"] == "processes"
