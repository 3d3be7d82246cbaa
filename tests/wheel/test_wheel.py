"""The wheel in an empty environment: first alone, then with extras.

``make test-wheel`` runs these, in this order.
"""

import os
import subprocess
import venv

import pytest
from built_book import ROOT
from wheel_file import build_wheel

ALONE = {"PYTHONPATH": "", "TRANSFORMER_COURSE_MIRROR": ""}
CHECK = """
import torch
from course_exercises.check import check
from course_exercises.contents import EXERCISES

def causal_mask(length):
    return torch.ones(1, 1, length, length, dtype=torch.bool).{}()

answer = check(causal_mask)
print(answer, answer._repr_markdown_(), len(EXERCISES))
"""
DIALOGUE = ["i like dogs.", "where is the station?"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A folder with an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    venv.create(folder / "env", with_pip=True)
    install(folder, build_wheel(folder))
    return folder


@pytest.fixture(scope="module")
def extended(empty):
    """The same one with two extras; the tests above do without."""
    [wheel] = empty.glob("*.whl")
    install(empty, f"transformer-course[train,exercises] @ {wheel.as_uri()}")
    return empty


def install(folder, what):
    flags = os.environ.get("PIP_FLAGS", "").split()
    locked = ["-c", ROOT / "constraints.txt"]
    program = folder / "env/bin/python"
    pip = [program, "-m", "pip", "install", "-q", "--no-compile"]
    subprocess.run([*pip, *locked, *flags, what], check=True)


def call(folder, program, *args, text=None):
    """Status, output and errors of a program of the environment."""
    done = subprocess.run(
        [folder / "env/bin" / program, *args],
        cwd=folder,
        env=os.environ | ALONE,
        capture_output=True,
        text=True,
        input=text,
    )
    return done.returncode, done.stdout, done.stderr


def course(folder, *args, text=None):
    return call(folder, "transformer-course", *args, text=text)


def test_it_translates_and_writes(empty):
    status, out, err = course(
        empty, "translate", "en-ja", text="\n".join(DIALOGUE)
    )
    assert status == 0, err
    dogs, station = out.splitlines()
    assert "犬" in dogs and "駅" in station
    status, back, err = course(empty, "translate", "ja-en", text=out)
    assert status == 0, err
    assert "dog" in back and "station" in back
    status, out, err = course(empty, "generate", "grammar-lm", "i")
    assert status == 0 and out, err


def test_what_an_extra_would_add_is_named_by_it(empty):
    status, _, err = course(empty, "train", "grammar")
    assert status == 1 and err.count("\n") == 1, err
    assert "pip install 'transformer-course[train]'" in err
    status, _, err = call(empty, "python", "-c", CHECK.format("tril"))
    assert status == 1
    assert "'transformer-course[exercises]'" in err.splitlines()[-1]


def test_it_trains_and_uses_what_it_trained(extended):
    few = ["--data.train-pairs=500", "--train.epochs=1"]
    status, _, err = course(extended, "train", "grammar", *few)
    assert status == 0, err
    run = extended / "outputs/grammar"
    status, out, err = course(extended, "translate", run, text=DIALOGUE[0])
    assert status == 0 and out, err
    assert course(extended, "score", run)[0] == 0


@pytest.mark.parametrize(
    ("method", "answer"),
    [("tril", "correct."), ("triu", "Read again: chapter 06")],
)
def test_a_check_works_without_the_book(extended, method, answer):
    (extended / "answer.py").write_text(CHECK.format(method))
    status, out, err = call(extended, "python", "answer.py")
    assert status == 0, err
    assert answer in out
    assert "../book/en" not in out
