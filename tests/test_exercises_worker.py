"""The process in which learners' code runs, and what it withstands."""

import ctypes
import importlib
import os
import signal
import threading
import time

import cloudpickle
import psutil
import pytest
import torch

from transformer_course.exercises import check as notebook
from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.check import check
from transformer_course.exercises.process import Limits, Worker, WorkerError

FACTOR = torch.ones(1)


def right(length):
    return torch.ones(length, length).tril().bool()[None, None]


def helper(length):
    return torch.arange(length)


def right_with_a_helper(length):
    place = helper(length) * FACTOR.long()
    return (place[:, None] >= place)[None, None]


def inverted(length):
    return torch.ones(length, length).triu(1).bool()[None, None]


def endless(length):
    while length:
        pass


def huge(length):
    return torch.ones(1 << 37)


def growing(length):
    kept = []
    while length:
        kept.append(bytearray(1 << 24))


def ends_python(length):
    os._exit(3)


def crashes(length):
    ctypes.string_at(0)


def prints(length):
    for _ in range(1000):
        print("a" * 1000)
    os.system("echo from below")
    return right(length)


def plots(length):
    import matplotlib.pyplot as plt

    plt.plot([1, 2])
    plt.show()
    return right(length)


def asks(length):
    return input("how many? ")


def changes_torch(length):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    return right(length)


def replaces_torch(length):
    torch.ones = torch.zeros
    return torch.zeros(length, length)


def fails(length):
    number = length
    return number.tril()


def called(function, name="causal_mask"):
    """The same code under the name that the exercise asks for."""
    function.__name__ = name
    return function


@pytest.fixture(scope="module")
def worker():
    made = Worker(Limits(seconds=30.0))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def answer(worker, monkeypatch, tmp_path):
    """What a cell with ``check(...)`` shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(notebook, "WORKER", worker)

    def ask(function, seconds=30.0):
        worker.limits = Limits(seconds, memory=1 << 30)
        return check(called(function))

    return ask


def test_right_and_wrong_code_is_told_apart(answer):
    assert answer(right).is_correct
    assert answer(inverted).mistake == "causal_inverted"


def test_code_brings_what_it_uses(answer):
    assert answer(right_with_a_helper).is_correct


def test_what_is_done_is_noted(answer, tmp_path):
    answer(inverted)
    assert not (tmp_path / "progress.json").exists()
    answer(right)
    assert "causal_mask" in (tmp_path / "progress.json").read_text()


def test_an_error_is_told_with_its_line(answer):
    verdict = answer(fails)
    assert verdict.mistake == "AttributeError"
    assert "return number.tril()" in verdict.text


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (endless, "time"),
        (huge, "memory"),
        (growing, "memory"),
        (ends_python, "crash"),
        (crashes, "crash"),
    ],
)
def test_code_that_goes_too_far_is_stopped_and_the_next_check_works(
    answer, code, name
):
    verdict = answer(code, seconds=2.0 if name == "time" else 30.0)
    assert (verdict.kind, verdict.mistake) == ("limit", name)
    assert "length = 1" in verdict.text
    assert answer(right).is_correct


def test_what_is_printed_is_shown_shortened_and_apart(answer):
    verdict = answer(prints)
    assert verdict.is_correct
    assert len(verdict.text) < 2500
    assert "Your code printed" in verdict.text
    assert "from below" not in verdict.text
    assert "printed" not in answer(right).text


def shows_in_columns(length):
    display(torch.eye(2))
    return right(length)


def test_what_is_displayed_is_shown_with_its_columns_in_line(answer):
    verdict = answer(shows_in_columns)
    assert verdict.is_correct
    lines = verdict.text.splitlines()
    row = next(n for n, line in enumerate(lines) if "tensor([[" in line)
    assert lines[row].index("[1.") == lines[row + 1].index("[0.")


def test_plots_do_not_disturb(answer):
    assert answer(plots).is_correct


def test_nobody_is_there_to_be_asked(answer):
    assert answer(asks).mistake == "EOFError"


def test_one_check_does_not_change_the_next(answer):
    answer(changes_torch)
    assert answer(right).is_correct
    scores = "torch.softmax(scores, -1)"
    namespace = {"torch": torch}
    exec(f"def masked_softmax(scores, mask):\n    return {scores}", namespace)
    verdict = check(namespace["masked_softmax"])
    assert verdict.mistake == "mask_ignored"


def test_code_that_changes_torch_is_not_judged_by_its_own_measure(answer):
    assert not answer(replaces_torch).is_correct
    assert answer(right).is_correct


def test_code_that_cannot_be_read_there_is_refused(worker):
    content = cloudpickle.dumps(_NotThere())
    verdict = worker.check(EXERCISES["causal_mask"], content)
    assert verdict.kind == "refused" and "ZeroDivisionError" in verdict.text


class _NotThere:
    def __reduce__(self):
        return eval, ("1 / 0",)


def test_the_process_is_kept_from_one_check_to_the_next(answer, worker):
    """Right or wrong, nothing has to be imported anew."""
    answer(right)
    process = worker._process.pid
    answer(inverted)
    answer(fails)
    assert worker._process.pid == process


def test_code_from_a_file_of_the_learner_s_own_is_not_remembered(
    answer, tmp_path, monkeypatch
):
    """The process would not notice that the file has changed."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "my_masks.py"
    path.write_text(
        "import torch\n"
        "def part(length):\n"
        "    return torch.ones(length, length).triu(1).bool()\n"
        "def causal_mask(length):\n"
        "    return part(length)[None, None]\n"
    )
    module = importlib.import_module("my_masks")
    assert answer(module.causal_mask).mistake == "causal_inverted"
    path.write_text(path.read_text().replace("triu(1)", "tril()"))
    importlib.invalidate_caches()
    os.utime(path, (0, 0))
    importlib.reload(module)
    assert answer(module.causal_mask).is_correct


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter")
def test_an_interrupt_stops_the_check_and_leaves_all_well(answer, worker):
    answer(right)
    # as in a notebook; tests that run in the background may ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, args=(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            answer(endless)
    finally:
        signal.signal(signal.SIGINT, before)
    assert answer(right).is_correct


def test_when_the_notebook_goes_the_process_goes_too():
    """Even if it is busy with code that does not end."""
    made = Worker(Limits(seconds=60.0))
    made.start()
    process = psutil.Process(made._process.pid)
    done = threading.Thread(target=_ask_and_lose, args=(made,), daemon=True)
    done.start()
    while process.cpu_times().user < 1:
        time.sleep(0.1)
    made._process.stdin.close()
    process.wait(timeout=30)


def _ask_and_lose(worker):
    content = notebook.packed(called(endless))
    worker.check(EXERCISES["causal_mask"], content)


def test_a_process_that_cannot_start_says_so(monkeypatch):
    made = Worker()
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(WorkerError, match="did not start"):
        made._wait_until_ready()


# --- what is not a learner's own function ------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "not what it returns"),
        ("causal_mask", "not its name"),
        (called(lambda: 3, "casual_mask"), "Is it causal_mask"),
        (called(lambda: 3, "xyz"), "There are: add_positions"),
        (EXERCISES["CrossAttention"].solution(4, 2), "check(CrossAttention)"),
    ],
)
def test_what_cannot_be_checked_is_refused(given, said):
    verdict = check(given)
    assert verdict.kind == "refused"
    assert said in verdict.text


def test_the_package_s_own_function_is_refused():
    from transformer_course.masks import causal_mask

    assert "comes from the package" in check(causal_mask).text


def test_what_cannot_be_sent_is_refused():
    lock = threading.Lock()

    def causal_mask(length):
        with lock:
            return right(length)

    verdict = check(causal_mask)
    assert verdict.kind == "refused" and "as arguments" in verdict.text


# --- hints and solutions -----------------------------------------------------


def test_hints_come_one_after_another(monkeypatch):
    notebook._hints_given.clear()
    hints = [repr(notebook.hint(called(right))) for _ in range(3)]
    assert [text[:6] for text in hints[:2]] == ["Hint 1", "Hint 2"]
    assert "solution(causal_mask)" in hints[2]


def test_the_solution_is_source_without_marks():
    shown = repr(notebook.solution(called(right)))
    assert shown.startswith("def causal_mask")
    assert "###" not in shown and "tril" in shown
