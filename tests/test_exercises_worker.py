"""The processes that check learners' code, and what they withstand."""

import ctypes
import importlib
import os
import queue
import random
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import torch

from course_exercises import check as notebook
from course_exercises.attempt import Request
from course_exercises.catalogue import EXERCISES
from course_exercises.check import check
from course_exercises.descendants import below
from course_exercises.process import Limits, Worker, WorkerError

posix = pytest.mark.skipif(os.name == "nt", reason="processes are other there")
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


def ends_python(length):
    os._exit(3)


def crashes(length):
    ctypes.string_at(0)


def draws(length):
    print(random.random(), torch.rand(1))
    return right(length)


def writes_past_what_is_caught(length):
    for _ in range(100):
        os.write(1, bytes(1 << 20))
        os.write(2, bytes(1 << 20))
    return right(length)


def prints_without_end(length):
    while length:
        print("a" * 1000)


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
    assert not Path(made._folder).exists()


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
        (prints_without_end, "time"),
        (huge, "memory"),
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


def test_the_same_code_draws_the_same(answer):
    assert answer(draws) == answer(draws)


def test_what_is_written_past_python_keeps_nobody_waiting(answer):
    assert answer(writes_past_what_is_caught).is_correct


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


def test_a_process_that_cannot_start_says_so(monkeypatch):
    made = Worker()
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(WorkerError, match="did not start"):
        made._wait_until_ready()


# --- one check after another -------------------------------------------------


def changes_torch(length):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.tril = torch.Tensor.tril = torch.triu
    return torch.ones(length, length).tril().bool()[None, None]


def replaces_the_judge(length):
    from course_exercises import catalogue, worker
    from course_exercises.engine import match, values

    values.same = match.same = match.is_right = lambda *_: True
    worker.judge = catalogue.find = None
    catalogue.EXERCISES.clear()
    return inverted(length)


def test_what_code_changes_is_as_it_was_in_the_next_check(answer):
    """And a known mistake is known, a right answer right."""
    assert not answer(changes_torch).is_correct
    assert answer(inverted).mistake == "causal_inverted"
    assert answer(right).is_correct


def test_code_is_not_judged_by_its_own_measure(answer):
    assert not answer(replaces_the_judge).is_correct


def test_an_answer_to_another_request_is_ignored(answer, worker):
    answer(right)
    wrong = {"text": "late", "kind": "unknown"}
    for late in ({"verdict": wrong}, {"id": "old", "verdict": wrong}):
        worker._said.put(late)
    assert answer(right).is_correct


# --- nothing is left ---------------------------------------------------------


def leaves(notes, then):
    """Code that notes what it leaves behind, by number and path."""

    def causal_mask(length):
        note_a_daemon(notes)
        folder = tempfile.mkdtemp()
        Path(folder, "kept").write_text("here")
        Path("beside").write_text("here")
        Path(notes, "folders").write_text(f"{folder}\n{os.getcwd()}")
        return then(length)

    return causal_mask


def note_a_daemon(notes):
    """A process of its own session, whose parent has ended."""
    ready, done = os.pipe()
    if os.fork():
        os.read(ready, 1)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    Path(notes, "daemon").write_text(str(os.getpid()))
    os.write(done, b".")
    time.sleep(600)
    os._exit(0)


def nothing_is_left(notes):
    daemon = int(Path(notes, "daemon").read_text())
    folders = Path(notes, "folders").read_text().splitlines()
    return not is_alive(daemon) and not any(map(os.path.exists, folders))


def is_alive(number):
    try:
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@posix
def test_a_check_leaves_no_process_and_no_file(answer, tmp_path):
    verdict = answer(leaves(str(tmp_path), endless), seconds=2.0)
    assert verdict.mistake == "time"
    assert nothing_is_left(tmp_path)
    assert answer(right).is_correct


def test_code_that_forks_without_end_is_stopped(answer):
    assert answer(forks_and_forks).mistake == "memory"
    assert answer(right).is_correct


def forks_and_forks(length):
    for _ in range(6):  # 63 processes at most, for the sake of the tests
        os.fork()
    time.sleep(60)


def test_a_file_without_end_is_stopped(answer):
    assert answer(fills_the_disk).mistake == "OSError"


def fills_the_disk(length):
    with open("file", "wb") as file:
        while True:
            file.write(bytes(1 << 24))


@posix
def test_a_copy_of_the_notebook_s_process_leaves_the_worker_alone(
    answer, worker
):
    answer(right)
    copy = os.fork()
    if not copy:
        worker.stop()
        os._exit(0)
    os.waitpid(copy, 0)
    assert worker._process.poll() is None
    assert answer(right).is_correct


def test_two_threads_take_turns(worker):
    content = {
        code: notebook.packed(called(code)) for code in (right, inverted)
    }
    said: queue.Queue = queue.Queue()

    def ask(code):
        verdict = worker.check(EXERCISES["causal_mask"], content[code])
        said.put((code, verdict.is_correct))

    threads = [
        threading.Thread(target=ask, args=(code,))
        for code in (right, inverted, right)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [said.get() for _ in threads]
    assert all(is_right == (code is right) for code, is_right in found)


@posix
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


@posix
def test_when_the_notebook_goes_all_of_it_goes(worker, tmp_path):
    """Even while it is busy with code that does not end."""
    code = leaves(str(tmp_path), endless)
    ask = threading.Thread(target=_ask_and_lose, args=(worker, code))
    ask.daemon = True
    ask.start()
    while not Path(tmp_path, "folders").exists():
        time.sleep(0.1)
    process = psutil.Process(worker._process.pid)
    at_work = [process, *below(process.pid)]
    worker._process.stdin.close()
    _, alive = psutil.wait_procs(at_work, timeout=30)
    assert not [one for one in alive if is_alive(one.pid)]
    assert nothing_is_left(tmp_path)


def _ask_and_lose(worker, code):
    content = notebook.packed(called(code))
    with suppress(WorkerError):
        worker._wait_until_ready()
        worker._ask(_request(content))


def _request(content):
    return Request("causal_mask", content, seconds=60.0)


@pytest.mark.exhaustive
def test_where_torch_cannot_be_copied_a_process_imports_it():
    """It takes seconds for each check."""
    spawned = Worker(Limits(seconds=60.0), "spawn")
    spawned.start()
    for code in (right, inverted):
        verdict = spawned.check(
            EXERCISES["causal_mask"], notebook.packed(called(code))
        )
        assert verdict.is_correct == (code is right)
    spawned.stop()


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
    from transformer_course.models.masks import causal_mask

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
