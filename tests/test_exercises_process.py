"""The process of a check: what it withstands, says, and leaves behind.

A process imports torch, which takes seconds; so each test tries much at once.
"""

import ctypes
import importlib
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest
import torch

from course_exercises import check as notebook
from course_exercises.candidate.payload import pack
from course_exercises.check import check
from course_exercises.contents import EXERCISES
from course_exercises.process import Child, Limits
from transformer_course.models import masks

posix = pytest.mark.skipif(os.name == "nt", reason="signals are other there")
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


def right(length):
    return torch.ones(length, length).tril().bool()[None, None]


def endless(length):
    while length:
        pass


def grows(length):
    kept = []
    while length:
        kept.append(torch.ones(1 << 24))


def crashes(length):
    ctypes.string_at(0)


def asks(length):
    return input("how many? ")


def inverted_and_loud(length):
    import matplotlib.pyplot as plt

    plt.plot([1, 2])
    plt.show()
    display(torch.eye(2))
    print(random.random())
    for _ in range(1000):
        print("a" * 1000)
    os.system("echo from below")
    os.write(1, bytes(1 << 20))
    os.write(2, bytes(1 << 20))
    return torch.ones(length, length).triu(1).bool()[None, None]


def called(function, name="causal_mask"):
    """The same code under the name that the exercise asks for."""
    function.__name__ = name
    return function


@pytest.fixture
def answer(monkeypatch, tmp_path):
    """The answer of a cell with ``check(...)``."""
    monkeypatch.chdir(tmp_path)

    def ask(function, seconds=60.0):
        monkeypatch.setattr(notebook, "LIMITS", Limits(seconds, 1 << 28))
        return check(called(function))

    return ask


def test_right_code_brings_what_it_uses_and_is_noted(
    answer, tmp_path, monkeypatch
):
    """From files of the learner's own, and from a notebook's variables."""
    monkeypatch.syspath_prepend("")
    Path("my_parts.py").write_text("def part(mask):\n    return mask.tril()\n")
    Path("my_masks.py").write_text(
        "import torch\n"
        "from my_parts import part\n"
        "ONE = torch.ones(1, 1, 1, 1)\n"
        "def causal_mask(length):\n"
        "    return part(ONE.expand(1, 1, length, length)).bool()\n"
    )
    module = importlib.import_module("my_masks")
    assert answer(module.causal_mask).is_correct
    assert "causal_mask" in (tmp_path / "progress.json").read_text()


def test_a_mistake_is_named_and_printed_text_is_shown(answer, tmp_path):
    """Shortened, its columns in line; the same in each check."""
    verdict = answer(inverted_and_loud)
    assert verdict.mistake == "causal_inverted"
    before, printed = verdict.text.split("Your code printed")
    assert "[[1" not in before and "from below" not in verdict.text
    assert len(printed) < 1500
    lines = printed.splitlines()
    row = next(n for n, line in enumerate(lines) if "tensor([[" in line)
    assert lines[row].index("[1.") == lines[row + 1].index("[0.")
    assert f"| {random.Random(0).random()}" in printed
    assert not (tmp_path / "progress.json").exists()


@pytest.mark.parametrize(("second", "exceeds"), [(5, False), (20, True)])
def test_pages_that_count_twice_for_a_moment_exceed_nothing(
    monkeypatch, second, exceeds
):
    """As those of a child between fork and exec."""
    child, used = object.__new__(Child), iter((20, second))
    monkeypatch.setattr(child, "memory", lambda: next(used))
    assert child.exceeds(10) is exceeds


def test_an_error_is_shown_with_its_line_and_there_is_no_input(
    answer,
):
    verdict = answer(asks)
    assert verdict.mistake == "EOFError"
    assert 'return input("how many? ")' in verdict.text


# --- what goes too far, and what it leaves -----------------------------------


def leaving(notes, then):
    """Code that notes the process and the folder that it leaves behind."""

    def causal_mask(length):
        left = subprocess.Popen(SLEEP)
        Path(notes, "folder").write_text(tempfile.mkdtemp())
        Path(notes, "process").write_text(str(left.pid))
        Path("file").write_text("here")
        time.sleep(0.5)
        return then(length)

    return causal_mask


def nothing_is_left(notes):
    process = int(Path(notes, "process").read_text())
    return not is_alive(process) and not os.path.exists(
        Path(notes, "folder").read_text()
    )


def is_alive(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (endless, "time"),
        (grows, "memory"),
        (crashes, "crash"),
    ],
)
def test_code_that_goes_too_far_is_stopped_and_nothing_is_left(
    answer, code, name, tmp_path
):
    seconds = 2.0 if name == "time" else 60.0
    verdict = answer(leaving(str(tmp_path), code), seconds)
    assert (verdict.kind, verdict.mistake) == ("limit", name)
    assert "length = 1" in verdict.text
    assert nothing_is_left(tmp_path)


@posix
def test_an_interrupt_stops_the_check(answer, tmp_path):
    def interrupt():
        while not (tmp_path / "process").exists():
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    # as in a notebook; tests that run in the background may ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            answer(leaving(str(tmp_path), endless))
    finally:
        signal.signal(signal.SIGINT, before)
    assert nothing_is_left(tmp_path)


def test_when_the_notebook_goes_all_of_it_goes(tmp_path):
    """Even while it is busy with code that does not end."""
    request = {
        "module": EXERCISES["causal_mask"].solution.__module__,
        "candidate": pack(called(leaving(str(tmp_path), endless))).content,
        "sources": {},
    }
    (tmp_path / "check").mkdir()
    child = Child(tmp_path / "check", pickle.dumps(request))
    while not (tmp_path / "process").exists():
        assert not child.has_ended()
        time.sleep(0.1)
    child.process.stdin.close()
    child.process.wait(timeout=60)
    assert not is_alive(int((tmp_path / "process").read_text()))
    child.end()


@posix
def test_a_process_that_cannot_start_says_so(answer, monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    verdict = answer(right)
    assert verdict.kind == "refused" and "did not start" in verdict.text


# --- what is not a learner's own function ------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "not what it returns"),
        ("causal_mask", "not its name"),
        (called(lambda: 3, "casual_mask"), "Is it causal_mask"),
        (called(lambda: 3, "xyz"), "There are: recurrent_states"),
        (EXERCISES["CrossAttention"].solution(4, 2), "check(CrossAttention)"),
        (masks.causal_mask, "comes from the package"),
    ],
)
def test_what_cannot_be_checked_is_refused(given, said):
    verdict = check(given)
    assert verdict.kind == "refused"
    assert said in verdict.text


def test_what_cannot_be_brought_along_is_named_and_no_mistake_is(
    answer, tmp_path
):
    with open(tmp_path / "log", "w") as log:

        def causal_mask(length):
            try:
                log.write("here")
            except AttributeError:
                return ~right(length)
            return right(length)

        verdict = answer(causal_mask)
    assert (verdict.kind, verdict.mistake) == ("refused", "")
    assert "`log`" in verdict.text


# --- hints and solutions -----------------------------------------------------


def test_hints_come_one_after_another_then_the_solution():
    notebook._hints_given.clear()
    hints = [repr(notebook.hint(called(right))) for _ in range(3)]
    assert [text[:6] for text in hints[:2]] == ["Hint 1", "Hint 2"]
    assert "solution(causal_mask)" in hints[2]
    shown = repr(notebook.solution(called(right)))
    assert shown.startswith("def causal_mask")
    assert "###" not in shown and "tril" in shown
