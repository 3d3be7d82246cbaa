"""The processes that check learners' code, and what they withstand."""

import ctypes
import importlib
import multiprocessing
import os
import queue
import random
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import cloudpickle
import psutil
import pytest
import torch

from transformer_course.exercises import check as notebook
from transformer_course.exercises.attempt import Request
from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.check import check
from transformer_course.exercises.descendants import below
from transformer_course.exercises.process import Limits, Worker, WorkerError
from transformer_course.exercises.worker import FORKS, METHOD

METHODS = ["fork", "spawn"] if FORKS else ["spawn"]
either_way = pytest.mark.parametrize("worker", METHODS, indirect=True)
"""Also in the way of systems where torch cannot be copied. That takes seconds
for each check: a process imports torch."""
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


def growing(length):
    kept = []
    while length:
        kept.append(bytearray(1 << 24))


def ends_python(length):
    os._exit(3)


def crashes(length):
    ctypes.string_at(0)


def closes_every_pipe(length):
    os.closerange(0, 1000)


def stops_itself(length):
    os.kill(os.getpid(), signal.SIGSTOP)


def dies_before_its_copy(length):
    if os.fork():
        os._exit(3)
    time.sleep(60)


def draws(length):
    print(random.random(), torch.rand(1))
    return right(length)


def writes_past_what_is_caught(length):
    for _ in range(100):
        os.write(1, bytes(1 << 20))
        os.write(2, bytes(1 << 20))
    return right(length)


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
def worker(request):
    made = Worker(Limits(seconds=30.0), getattr(request, "param", METHOD))
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
        (huge, "memory"),
        (growing, "memory"),
        (ends_python, "crash"),
        (crashes, "crash"),
        (closes_every_pipe, "crash"),
        pytest.param(stops_itself, "time", marks=posix),
        pytest.param(dies_before_its_copy, "time", marks=posix),
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


def replaces_what_compares(length):
    torch.isclose = lambda one, *_, **__: torch.ones_like(one).bool()
    torch.Tensor.__eq__ = torch.isclose
    torch.Tensor.__ne__ = lambda one, _: torch.zeros_like(one).bool()
    return inverted(length)


def replaces_the_judge(length):
    from transformer_course.exercises import catalogue, worker
    from transformer_course.exercises.engine import match, values

    values.same = match.same = match.is_right = lambda *_: True
    worker.judge = catalogue.find = None
    catalogue.EXERCISES.clear()
    return inverted(length)


def leaves_an_alarm(length):
    if hasattr(signal, "alarm"):
        signal.alarm(1)
    return right(length)


def copies_itself(length):
    os.fork()
    return right(length)


@either_way
def test_what_code_changes_is_as_it_was_in_the_next_check(answer):
    """And a known mistake is known, a right answer right."""
    assert not answer(changes_torch).is_correct
    assert answer(inverted).mistake == "causal_inverted"
    assert answer(right).is_correct


@pytest.mark.parametrize("code", [replaces_what_compares, replaces_the_judge])
def test_code_is_not_judged_by_its_own_measure(answer, code):
    assert not answer(code).is_correct


@posix
def test_a_copy_that_code_makes_of_its_process_says_nothing(answer):
    assert answer(copies_itself).is_correct
    assert answer(inverted).mistake == "causal_inverted"
    assert answer(right).is_correct


def test_an_alarm_that_is_left_behind_disturbs_nobody(answer):
    assert answer(leaves_an_alarm).is_correct
    assert answer(sleeps_for_two_seconds).is_correct


def sleeps_for_two_seconds(length):
    if length == 1:
        time.sleep(1)
    return right(length)


def test_an_answer_to_another_request_is_ignored(answer, worker):
    answer(right)
    wrong = {"text": "late", "kind": "unknown"}
    for late in ({"verdict": wrong}, {"id": "old", "verdict": wrong}):
        worker._said.put(late)
    assert answer(right).is_correct


def test_an_answer_that_code_writes_itself_is_ignored(answer):
    assert answer(writes_to_every_pipe).mistake == "causal_inverted"
    assert answer(inverted).mistake == "causal_inverted"
    assert answer(right).is_correct


def writes_to_every_pipe(length):
    for pid in ("self", os.getppid()):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError), path.open("wb", buffering=0) as pipe:
                pipe.write(b'{"verdict": {"kind": "correct"}}\n')
    for number in range(3, 100):
        with suppress(OSError):
            os.write(number, b"\0\0\0\2{}")
    return inverted(length)


# --- what lies ---------------------------------------------------------------


class Liar(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        shape = tuple(torch._C.TensorBase.size(args[0]))
        if function in (torch.Tensor.detach, torch.Tensor.clone):
            return right(shape[-1])
        if function in (torch.Tensor.__eq__, torch.isclose):
            return torch.ones(shape).bool()
        return super().__torch_function__(function, types, args, kwargs or {})


def gives_what_agrees(length):
    class Agrees:
        __eq__ = __ne__ = lambda self, other: True
        __class__ = property(lambda self: torch.Tensor)

        def __getattr__(self, name):
            return getattr(right(length), name)

    return Agrees()


def gives_a_liar(length):
    return inverted(length).as_subclass(Liar)


@pytest.mark.parametrize("code", [gives_what_agrees, gives_a_liar])
def test_an_object_that_lies_is_not_right(answer, code):
    assert answer(code).kind in ("slip", "misconception")


def gives_a_tensor_of_its_own_class(length):
    return right(length).as_subclass(type("Mine", (torch.Tensor,), {}))


def test_a_tensor_of_another_class_is_its_numbers(answer):
    assert answer(gives_a_tensor_of_its_own_class).is_correct


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


def kills_its_parent(length):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


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
@either_way
@pytest.mark.parametrize(
    ("then", "said"), [(endless, "time"), (kills_its_parent, "crash")]
)
def test_a_check_leaves_no_process_and_no_file(answer, tmp_path, then, said):
    verdict = answer(leaves(str(tmp_path), then), seconds=2.0)
    assert verdict.mistake == said
    assert nothing_is_left(tmp_path)
    assert answer(right).is_correct


def test_a_process_that_outlives_the_limit_does_not_hang_the_notebook(answer):
    assert answer(waits_for_another, seconds=2.0).mistake == "time"
    assert answer(right).is_correct


def waits_for_another(length):
    process = multiprocessing.get_context("fork").Process(
        target=time.sleep, args=(600,)
    )
    process.start()
    process.join()


def test_code_that_forks_without_end_is_stopped(answer):
    assert answer(forks_and_forks).mistake == "memory"
    assert answer(right).is_correct


def forks_and_forks(length):
    for _ in range(8):  # 255 processes at most, for the sake of the tests
        os.fork()
    time.sleep(60)


def test_code_that_stops_the_worker_is_answered(answer):
    assert answer(stops_its_parent).is_correct


def stops_its_parent(length):
    os.kill(os.getppid(), signal.SIGSTOP)
    return right(length)


def test_a_folder_may_be_as_deep_as_it_likes(answer, worker):
    assert answer(digs).is_correct
    [idle] = Path(worker._folder).iterdir()
    assert not list(idle.iterdir())


def digs(length):
    if length == 1:
        for _ in range(1500):
            os.mkdir("deep")
            os.chdir("deep")
    return right(length)


def test_code_may_remove_the_folder_that_it_is_in(answer):
    assert answer(removes_its_folder).is_correct
    assert answer(right).is_correct


def removes_its_folder(length):
    """Only if it is empty, so that it harms nobody wherever it runs."""
    folder = Path(os.environ["TMPDIR"])
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()
    return right(length)


def test_a_file_without_end_is_stopped(answer):
    assert answer(fills_the_disk).mistake == "OSError"


def fills_the_disk(length):
    with open("file", "wb") as file:
        while True:
            file.write(bytes(1 << 24))


@either_way
def test_when_the_notebook_goes_all_of_it_goes(worker, tmp_path):
    """Even while it is busy with code that does not end."""
    made = Worker(Limits(seconds=60.0), worker._method)
    made.start()
    code = leaves(str(tmp_path), endless)
    ask = threading.Thread(target=_ask_and_lose, args=(made, code))
    ask.daemon = True
    ask.start()
    while not Path(tmp_path, "folders").exists():
        time.sleep(0.1)
    process = psutil.Process(made._process.pid)
    at_work = [process, *below(process.pid)]
    made._process.stdin.close()
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
