"""Students' code that attacks the grading, and folders that do.

What takes a container, or minutes, is in ``tests/attacks/``.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from itertools import chain
from pathlib import Path

import psutil
import pytest
import torch
from nbformat.v4 import new_notebook

from tests.grading.grading_class import (
    NAME,
    SOLUTIONS,
    assignment,
    filled,
    hand_in,
)
from tools.grading import (
    handover,
    processes,
    records,
    results,
    submissions,
)
from tools.grading.answers import Program, answers_in
from tools.grading.judge import (
    LONGEST_PROGRAM,
    Judge,
    JudgeError,
    graded,
    judged,
)
from tools.grading.notebooks import cells_of
from tools.grading.oddities import odd_names
from tools.grading.policy import Hidden
from tools.grading.submissions import find_submissions
from tools.refresh_outputs import ROOT
from transformer_course.exercises.catalogue import EXERCISES
from transformer_course.exercises.process import Limits
from transformer_course.files import remove_folder

GIVEN = (
    "import torch",
    "from torch import Tensor, nn",
    "from jaxtyping import Bool, Float, Int",
)
RIGHT = SOLUTIONS["padding_mask"]
KNOWN = ["05_score_functions", NAME]


def program(cell, *helpers):
    """A cell, after the imports that the notebook gives."""
    return Program(cell, helpers, GIVEN)


@pytest.fixture(scope="module")
def judge():
    """A process for most tests; little memory, so that it soon is too much."""
    limits = Limits(seconds=2.0, memory=200 << 20)
    with Judge(Hidden(drawn=1), limits) as judge:
        yield judge


@pytest.fixture
def verdict(judge):
    """The verdict on what stands before a right answer."""
    return lambda cell: judge.verdict("padding_mask", program(cell + RIGHT))


# --- whose code is run -------------------------------------------------------


def test_no_module_is_taken_from_where_others_may_write(tmp_path, monkeypatch):
    """A folder of one's own, the one where grading was started."""
    mark = tmp_path / "was-run"
    for name in ("psutil", "usercustomize", "torch"):
        path = tmp_path / f"{name}.py"
        path.write_text(f"open({str(mark)!r}, 'w')\nimport nothing_there")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.syspath_prepend("")
    cell = "import os, sys\nprint(sys.flags.no_user_site, os.environ['HOME'])"
    with Judge(Hidden(drawn=1), Limits(seconds=4.0)) as judge:
        text = judge.verdict("padding_mask", program(f"{cell}\n{RIGHT}")).text
    assert not mark.exists()
    assert "| 1 " in text
    assert str(tmp_path) not in text


def test_marking_is_imported_where_no_code_can_be_run():
    """Handing out needs no Unix; only the process of students' code does."""
    code = """
import os, sys
sys.modules["fcntl"] = None
for name in ("O_DIRECTORY", "O_NOFOLLOW", "fork"):
    delattr(os, name)
import tools.grading.judge, tools.grading.submissions
assert "tools.grading.runner" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# --- what outlives a try -----------------------------------------------------

DAEMON = """
import os, time

def start_daemon():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    with open({path!r}, "a") as file:
        file.write(f"{{os.getpid()}} ")
    time.sleep(1000)

start_daemon()
while not os.path.exists({path!r}):
    time.sleep(0.01)
"""


def alive(path: Path) -> list[int]:
    """Processes whose numbers are in a file."""
    numbers = map(int, path.read_text().split())
    return [number for number in numbers if psutil.pid_exists(number)]


def test_a_daemon_does_not_outlive_its_try(verdict, tmp_path):
    path = tmp_path / "daemon"
    assert verdict(DAEMON.format(path=str(path))).is_correct
    assert not alive(path)


def test_nor_does_it_where_the_runner_is_killed(verdict, tmp_path):
    path = tmp_path / "daemon"
    cell = DAEMON.format(path=str(path)) + "os.kill(os.getppid(), 9)\n"
    assert verdict(cell).mistake == "crash"
    assert not alive(path)


def test_a_hundred_processes_are_ended(verdict, tmp_path):
    path = tmp_path / "many"
    cell = f"""
import os, signal, time
for number in range(100):
    if not os.fork():
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open({str(path)!r}, "a") as file:
            file.write(f"{{os.getpid()}} ")
        time.sleep(1000)
"""
    verdict(cell)
    assert not alive(path)


def test_a_crash_by_another_s_fault_costs_nothing(judge, verdict, tmp_path):
    """It does not happen again in a fresh process."""
    mark = tmp_path / "was-there"
    assert verdict("").is_correct
    cell = f"""
import os
if not os.path.exists({str(mark)!r}):
    open({str(mark)!r}, "w").close()
    os.kill(os.getpid(), 9)
"""
    assert verdict(cell).is_correct
    assert mark.exists()


def test_a_crash_of_the_solution_too_is_nobody_s_fault(judge, monkeypatch):
    ended = {"ended": "crash", "cases": 0}
    monkeypatch.setattr(judge, "_ask", lambda *_: dict(ended))
    with pytest.raises(JudgeError, match="the solution too"):
        judge.verdict("padding_mask", program(RIGHT))


def test_code_that_stops_itself_has_no_more_time_than_others(verdict):
    found = verdict(
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    assert (found.kind, found.mistake) == ("limit", "time")


@pytest.mark.parametrize("times", [1, 2])
def test_code_that_stops_the_runner_ends_it(verdict, times):
    """The runner, or the guard above it; neither makes a class wait."""
    parent = "process = psutil.Process()" + ".parent()" * times
    found = verdict(f"import psutil\n{parent}\nprocess.suspend()\n")
    assert found.mistake in ("crash", "")
    assert verdict("").is_correct


@pytest.mark.skipif(not processes.LINUX, reason="prctl is Linux's")
def test_a_recursion_without_end_ends_its_own_try_only(verdict):
    cell = """
import sys
sys.setrecursionlimit(10**9)
class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x")
repr(Deep().x)
"""
    assert verdict(cell).kind == "limit"
    assert verdict("").is_correct


def test_a_fork_bomb_ends_with_its_try(tmp_path):
    """As a user of its own where there is one: root has no limit."""
    user = 64_321 if os.geteuid() == 0 else None
    cell = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    with Judge(Hidden(drawn=1), Limits(seconds=1.0), user) as judge:
        bomb = judge.verdict("padding_mask", program(cell))
        assert bomb.kind == "limit"
        assert judge.verdict("padding_mask", program(RIGHT)).is_correct
    if user:
        assert processes.threads_of(user) == 0


@pytest.mark.skipif(not processes.SHARED.is_file(), reason="no System V")
def test_shared_memory_is_freed_with_its_try(verdict):
    before = processes.shared()
    cell = "import ctypes\nctypes.CDLL(None).shmget(0, 1 << 20, 0o1666)\n"
    assert verdict(cell).is_correct
    assert processes.shared() <= before


def test_an_alarm_is_not_left_behind(verdict):
    """One that is set in the first call goes off in none of the others."""
    cell = """
import signal, time
real_mask = None

def slowly(ids, pad_id=0, calls=[]):
    if not calls:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    calls.append(1)
    time.sleep(0.03)
    return (ids != pad_id)[:, None, None, :]
"""
    judged_ = verdict(cell)
    assert judged_.is_correct
    replaced = RIGHT + cell + "padding_mask = slowly\n"
    assert verdict(replaced.replace(RIGHT, "") + "\n").is_correct


# --- folders -----------------------------------------------------------------


@pytest.fixture
def fresh_folder(tmp_path, monkeypatch):
    """Where the grader's folders are, for one test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(
    "made",
    [
        "for name in ['d' * 200] * 1500:\n    os.mkdir(name); os.chdir(name)",
        "os.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('a', 0)",
        "os.symlink({outside!r}, 'link')",
        "os.mkdir(b'caf\\xe9')\nopen(b'caf\\xe9/\\xff', 'w').close()",
        "os.rename(os.getcwd(), os.getcwd() + '-away')",
        "here = os.getcwd()\nos.rmdir(here)\nos.symlink({outside!r}, here)",
    ],
    ids=["deep", "closed", "link", "no text", "renamed", "replaced"],
)
def test_whatever_a_try_leaves_in_its_folder_is_removed(
    verdict, fresh_folder, tmp_path, made
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    cell = "import os\n" + made.format(outside=str(outside)) + "\n"
    assert verdict(cell).is_correct
    assert not list(fresh_folder.iterdir())
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize(
    "made",
    [
        "os.rename(folder, f'{folder}-gone-{os.getpid()}')",
        "shutil.rmtree(folder)",
        "os.chmod(folder, 0)",
        "shutil.rmtree(folder)\nopen(folder, 'w').close()",
        "shutil.rmtree(folder)\nos.symlink(outside, folder)",
    ],
    ids=["renamed", "removed", "closed", "a file", "a link"],
)
def test_a_try_that_takes_its_whole_folder_away_costs_only_itself(
    verdict, fresh_folder, tmp_path, made
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    cell = f"""
import os, shutil
folder, outside = os.path.dirname(os.getcwd()), {str(outside)!r}
if os.path.dirname(folder) == {os.path.realpath(fresh_folder)!r}:  # no other
{textwrap.indent(made, "    ")}
"""
    assert verdict(cell).kind in ("limit", "correct")
    assert verdict("").is_correct
    assert (outside / "kept").read_text() == "kept"
    left = [path.name for path in fresh_folder.iterdir()]
    assert not [name for name in left if "-gone-" not in name]
    assert ("-gone-" in made) == bool(left)  # it has been where it should


@pytest.mark.parametrize(
    "made", ["os.mkfifo(path)", "os.symlink('/dev/zero', path)"]
)
def test_what_is_put_in_the_place_of_a_result_is_not_waited_for(verdict, made):
    cell = f"""
import os
path = os.path.join(os.path.dirname(os.getcwd()), "result")
os.unlink(path)
{made}
"""
    assert verdict(cell).mistake in ("crash", "NoResults")


# --- what code can find ------------------------------------------------------


LOOK_INTO_MEMORY = """
import re

found = set()
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
    for line in maps:
        start, end = (int(n, 16) for n in line.split()[0].split("-"))
        if " rw" not in line:
            continue
        for place in range(start, end, 1 << 20):
            mem.seek(place)
            part = mem.read(min(end - place, (1 << 20) + 50))
            found |= {*re.findall(b"I solve[d] it: (.{4})", part)}
print(*sorted(found))
# I solved it: 1111
"""


@pytest.mark.skipif(not processes.LINUX, reason="memory is not a file here")
def test_earlier_programs_are_not_in_memory(judge):
    """Each is in a file that only its own process opens."""
    first = f"NOTE = 'This is how I solved it: 8461'\n{RIGHT}"
    assert judge.verdict("padding_mask", program(first)).is_correct
    second = program(LOOK_INTO_MEMORY + RIGHT)
    text = judge.verdict("padding_mask", second).text
    assert text.endswith("| b'1111'")  # the look finds what is there


LOOK = """
import gc, sys, types

NAMES = {names!r}

def padding_mask(ids, pad_id=0):
    functions = [o for o in gc.get_objects()
                 if isinstance(o, types.FunctionType)]
    codes = [f.__code__ for f in functions]
    frame = sys._getframe()
    while frame is not None:
        codes += [getattr(v, "__code__", None)
                  for v in frame.f_locals.values()]
        frame = frame.f_back
    found = {{code.co_name for code in codes
              if code and "transformer_course" in code.co_filename}} & NAMES
    if found:
        raise ValueError(f"found {{sorted(found)}}")
    return (ids != pad_id)[:, None, None, :]
"""


def names_of_answers() -> set[str]:
    """Of all solutions and mistakes."""
    return {
        implementation.__name__
        for exercise in EXERCISES.values()
        for implementation in (exercise.solution, *exercise.mistakes)
    }


def test_no_answer_is_in_memory(judge):
    cell = LOOK.format(names=names_of_answers())
    verdict = judge.verdict("padding_mask", program(cell))
    assert verdict.is_correct, verdict.text


def test_easier_inputs_do_not_help(judge):
    """Those that are compared are not where code can reach them."""
    cell = """
import sys, torch

def padding_mask(ids, pad_id=0):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            cases = getattr(value, "cases", None)
            if isinstance(cases, list):
                cases[:] = cases[:1] * len(cases)
        frame = frame.f_back
    return torch.ones(1, 1, 1, ids.shape[1], dtype=torch.bool)
"""
    verdict = judge.verdict("padding_mask", program(cell))
    assert not verdict.is_correct


def test_such_a_look_finds_what_is_there():
    """The search above is one that can find something."""
    space = {}
    exec(LOOK.format(names=names_of_answers()), space)
    with pytest.raises(ValueError, match="padding_mask"):
        space["padding_mask"](torch.ones(1, 2))


def codes_of(implementation):
    """What a function or class is compiled to."""
    members = [implementation]
    if isinstance(implementation, type):
        members = vars(implementation).values()
    for member in members:
        while hasattr(member, "__wrapped__"):
            member = member.__wrapped__
        if code := getattr(member, "__code__", None):
            yield code.co_code


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.name)
def test_what_is_handed_over_holds_no_answer(exercise):
    task = handover.packed(graded(exercise.name, Hidden(drawn=1)))
    answers = (exercise.solution, *exercise.others, *exercise.mistakes)
    for code in chain.from_iterable(map(codes_of, answers)):
        assert len(code) < 60 or code not in task


@pytest.mark.parametrize(
    "line",
    [
        "from transformer_course.exercises.catalogue import find",
        "from transformer_course.masks import padding_mask",
        "import transformer_course.attention",
        "import tools.grading.judge",
        "__import__('transformer_course.masks')",
    ],
)
def test_the_course_cannot_be_imported(verdict, line):
    found = verdict(line + "\n")
    assert found.mistake == "ModuleNotFoundError"
    assert "only what your notebook was handed out" in found.text


def test_what_code_reaches_for_is_told_to_the_lecturer():
    cell = """
import os, gc, numpy, torch.nn.functional as F
from ctypes import CDLL
def f(x):
    import sys
    sys._getframe().f_back
    exec("1")
    return getattr(x, "__globals__"), torch.compile(f)
"""
    names = odd_names(Program(cell, ("import transformer_course.masks",)))
    assert names == sorted(
        "ctypes exec f_back gc __globals__ _getframe os sys "
        "transformer_course.masks".split()
    )
    for solution in SOLUTIONS.values():
        assert not odd_names(Program(solution))


# --- limits ------------------------------------------------------------------


@pytest.mark.parametrize(
    "taken",
    [
        "x = bytearray(10**9)",
        "for _ in range(4):\n"
        "    if not os.fork():\n"
        "        x = bytearray(120 << 20)\n"
        "        time.sleep(1000)\n"
        "time.sleep(1000)",
        "files = [os.memfd_create('x') for _ in range(40)]\n"
        "for file in files:\n"
        "    os.write(file, bytes(10 << 20))\n"
        "time.sleep(1000)",
        "x = mmap.mmap(-1, 1 << 30)\n"
        "for _ in range(1024):\n"
        "    x.write(bytes(1 << 20))\n"
        "time.sleep(1000)",
    ],
    ids=["at once", "children", "memfd", "shared"],
)
def test_memory_is_limited_wherever_it_is(verdict, taken):
    found = verdict(f"import mmap, os, time\n{taken}\n")
    assert (found.kind, found.mistake) == ("limit", "memory"), found.text


def child_that(code: str) -> subprocess.Popen:
    """A process that says when it has begun."""
    child = subprocess.Popen(
        [sys.executable, "-c", f"print(flush=True)\n{code}"],
        stdout=subprocess.PIPE,
    )
    child.stdout.readline()
    return child


def watched(code: str, monkeypatch) -> set[str | None]:
    """What a watch says of a process while the clock goes on by 0.9 s each."""
    watch_began = processes.time.monotonic()
    ticks = iter(range(1000))
    child = child_that(code)
    monkeypatch.setattr(processes, "below", lambda: [child.pid])
    monkeypatch.setattr(
        processes.time, "monotonic", lambda: watch_began + 0.9 * next(ticks)
    )
    try:
        watch = processes.Watch(seconds=2.0, patience=900.0, memory=1 << 40)
        return {watch.exceeded() for _ in range(200)}
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_who_waits_has_as_much_time_as_who_works(monkeypatch):
    waiting = "import time; time.sleep(1000)"
    assert "time" in watched(waiting, monkeypatch)
    working = "while True: pass"
    assert watched(working, monkeypatch) == {None}


def test_code_that_is_too_long_is_not_looked_at(judge):
    cell = RIGHT + "\n# " + "x" * LONGEST_PROGRAM
    verdict = judge.verdict("padding_mask", program(cell))
    assert (verdict.kind, verdict.mistake) == ("refused", "too long")


@pytest.mark.parametrize(
    "cell",
    [
        "x = " + "not " * 7000 + "1\n",
        "x = " + "(" * 5000 + ")" * 5000 + "\n",
        "x = '\ud800'\n",
        "x = '\0'\n",
        "raise ValueError('\\ud800 \\x1b[2J' * 1000000)\n",
        "print('\\ud800 \\x1b[2J')\n",
    ],
    ids=["not", "brackets", "half a sign", "NUL", "raised", "printed"],
)
def test_any_text_is_judged_and_can_be_written(verdict, cell):
    text = verdict(cell).text
    assert len(text.encode()) < 20_000
    assert "\x1b" not in text


# --- results -----------------------------------------------------------------


def test_results_come_back_as_they_were(tmp_path):
    path = tmp_path / "result"
    found = {
        "tensors": [torch.ones(2, 3), torch.tensor(True), torch.ones(0, 2)],
        "pair": (1, -0.5, None, "ü", float("inf")),
        "by key": {3: "x", (1, 2): [torch.arange(3)]},
    }
    with path.open("wb") as file:
        results.write(found, file)
    back = results.read(path)
    for one, other in zip(back["tensors"], found["tensors"], strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)
    assert back["pair"] == found["pair"]
    assert back["by key"][3] == "x"
    assert torch.equal(back["by key"][1, 2][0], torch.arange(3))


def forged(header: dict, body: bytes = b"") -> bytes:
    """A file of results, written by hand."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def zipped() -> bytes:
    """What torch writes: a pickle in an archive."""
    with tempfile.TemporaryFile() as file:
        torch.save({"outcomes": []}, file)
        file.seek(0)
        return file.read()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x02cos\nsystem\n(S'true'\ntR.",
        zipped(),
        bytes(results.LIMIT + 1),
        b"\xff" * 100,
        forged({"__metadata__": {"found": "[" * 100_000}}),
        forged({"__metadata__": {"found": "[]"}}),
        forged({"__metadata__": {"found": '{"tensor": "0"}'}}),
        forged({"__metadata__": {"found": '{"dict": [["a"]]}'}}),
        forged(
            {
                "__metadata__": {"found": '{"dict": []}'},
                "0": {
                    "dtype": "F32",
                    "shape": [10**9, 10**9],
                    "data_offsets": [0, 4],
                },
            },
            b"1234",
        ),
    ],
)
def test_what_is_no_result_is_refused(tmp_path, content):
    path = tmp_path / "result"
    path.write_bytes(content)
    with pytest.raises(Exception):  # noqa: B017
        results.read(path)


def test_a_file_of_any_size_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "result"
    with path.open("wb") as file:
        file.truncate(100 << 30)
    with pytest.raises(results.NoResults):
        results.read(path)


@pytest.mark.parametrize(
    "made",
    [
        "torch.zeros(3_000_000, 1, 1, 1, dtype=torch.bool)",
        "torch.zeros([1] * 60, dtype=torch.bool)",
        "torch.zeros(0, 10**9, dtype=torch.bool)",
        "torch.zeros(1).expand(10**9)",
        "torch.zeros(2, 2).to_sparse()",
        "torch.zeros(2, 2, dtype=torch.float8_e4m3fn)",
        "torch.zeros(2, 2, device='meta')",
        "deep",
    ],
)
def test_results_of_any_shape_are_compared_at_once(judge, made):
    cell = f"""
import torch
deep = []
for _ in range(100_000):
    deep = [deep]

def padding_mask(ids, pad_id=0):
    return {made}
"""
    verdict = judge.verdict("padding_mask", program(cell))
    assert verdict.kind in ("slip", "unknown", "refused", "limit", "error")


def test_a_header_that_takes_more_than_it_has_is_not_read(tmp_path):
    """Lists of lists take fifty times as much as they do in a file."""
    path = tmp_path / "result"
    tree = '{"list":[' + '{"list":[]},' * 1_000_000 + "0]}"
    path.write_bytes(forged({"__metadata__": {"found": tree}}))
    with pytest.raises(results.NoResults):
        results.read(path)


def test_inputs_left_out_are_no_results():
    exercise = graded("padding_mask", Hidden(drawn=1))
    found = {"outcomes": [], "parameters": None, "printed": ""}
    assert judged(exercise, program(""), found).kind == "refused"


# --- errors that follow from others ------------------------------------------

HEADS = {
    name: EXERCISES[name].source
    for name in ("split_heads", "merge_heads", "MultiHead")
}
WRONG = """
def split_heads(x, n_heads):
    batch, length, width = x.shape
    return x.view(batch, n_heads, length, width // n_heads)
"""
HEADS_GIVEN = (
    *GIVEN,
    "from transformer_course.attention import scaled_dot_product_attention",
)


@pytest.mark.parametrize("split", [WRONG, EXERCISES["split_heads"].stub, None])
def test_an_earlier_mistake_costs_its_own_points_only(judge, split):
    helpers = [part for part in (split, HEADS["merge_heads"]) if part]
    code = Program(HEADS["MultiHead"], tuple(helpers), HEADS_GIVEN)
    verdict = judge.verdict("MultiHead", code)
    assert verdict.is_correct, verdict.text
    assert "the course's split_heads" in " ".join(verdict.text.split())


WRONG_MERGE = """
def merge_heads(x):
    batch, heads, length, width = x.shape
    return x.reshape(batch, length, heads * width)
"""
MULTI = HEADS["MultiHead"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            {
                "split_heads": f"def half(x):\n    return x // 2\n{WRONG}",
                "MultiHead": f"ONE = half(2)\n\n{MULTI}",
            },
            id="a helper in the earlier cell",
        ),
        pytest.param(
            {
                "split_heads": f"{WRONG}\nsplit = split_heads\n",
                "MultiHead": MULTI.replace("split_heads(", "split("),
            },
            id="another name",
        ),
        pytest.param(
            {
                "split_heads": WRONG,
                "MultiHead": "def divide(x, n, how=split_heads):\n"
                "    return how(x, n)\n\n"
                + MULTI.replace("split_heads(", "divide("),
            },
            id="given as a default",
        ),
        pytest.param(
            {"split_heads": WRONG, "merge_heads": WRONG_MERGE},
            id="two earlier mistakes",
        ),
        pytest.param(
            {"split_heads": "def split_heads(x, n_heads:"}, id="no Python"
        ),
        pytest.param(
            {"split_heads": f"{WRONG}\nassert not split_heads"},
            id="an error at the top",
        ),
    ],
)
def test_what_follows_from_an_earlier_cell_costs_nothing(judge, code):
    """Of a whole notebook, as it is handed in."""
    given = assignment("07_multi_head_attention")
    notebook = filled(given.notebook, HEADS | code)
    found = answers_in(cells_of(notebook), given).programs
    verdict = judge.verdict("MultiHead", found["MultiHead"])
    assert verdict.is_correct, verdict.text
    for name in code.keys() - {"MultiHead"}:
        assert not judge.verdict(name, found[name]).is_correct


def test_a_mistake_of_its_own_still_costs_points(judge):
    cell = HEADS["MultiHead"].replace("self.to_key(source)", "source")
    helpers = (HEADS["split_heads"], HEADS["merge_heads"])
    code = Program(cell, helpers, HEADS_GIVEN)
    assert not judge.verdict("MultiHead", code).is_correct


# --- submissions -------------------------------------------------------------


def test_a_name_that_is_no_text_is_a_student_s_too(tmp_path):
    for name in (b"ren\xe9", b"ren\xe8", "rené".encode(), b"ren\\xe9"):
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        hand_in(new_notebook(), folder / f"{NAME}.ipynb")
    students = [
        s.student for s in find_submissions(tmp_path, KNOWN).submissions
    ]
    assert len(set(students)) == 4
    assert "rené" in students
    for student in students:
        student.encode()


def test_names_of_any_script_stay_as_they_are():
    for name in ("山田\u3000太郎", "José O'Neil-Ng", "Ωμέγα (2)"):
        assert submissions.readable(name) == name


def test_a_renamed_file_is_told_to_its_student(tmp_path):
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    hand_in(new_notebook(), tmp_path / "ben" / "homework.ipynb")
    found = find_submissions(tmp_path, KNOWN)
    _, ben = found.submissions
    assert ben.path is None
    assert "homework.ipynb was handed in, and belongs to no" in ben.notes[0]


@pytest.mark.parametrize(
    "later", [f"{NAME} (1)", f"{NAME}-Copy2", f"{NAME} copy"]
)
def test_of_files_of_one_age_the_later_copy_is_taken(tmp_path, later):
    for name in (NAME, later):
        path = tmp_path / "anna" / f"{name}.ipynb"
        hand_in(new_notebook(), path)
        os.utime(path, (1000, 1000))
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert found.path.stem == later
    assert "with the same date" in found.notes[0]


def test_a_link_is_told_to_its_student(tmp_path):
    """It may lead to what another has handed in."""
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    (tmp_path / "ben").mkdir()
    link = tmp_path / "ben" / f"{NAME}.ipynb"
    link.symlink_to(tmp_path / "anna" / f"{NAME}.ipynb")
    _, ben = find_submissions(tmp_path, KNOWN).submissions
    assert ben.path is None
    assert "is a link" in ben.notes[0]


def test_students_called_as_folders_of_the_course_hide_nobody(tmp_path):
    names = {"submitted", "source", "__anna__", "ben", "__MACOSX"}
    for name in names:
        hand_in(new_notebook(), tmp_path / name / f"{NAME}.ipynb")
    found = find_submissions(tmp_path, KNOWN).submissions
    assert {one.student for one in found} == names - {"__MACOSX"}


@pytest.mark.parametrize("beside", ["source", "gradebook.db"])
def test_a_course_folder_of_nbgrader_is_one(tmp_path, beside):
    hand_in(new_notebook(), tmp_path / "submitted" / "ben" / f"{NAME}.ipynb")
    if beside == "source":
        (tmp_path / beside).mkdir()
    else:
        (tmp_path / beside).touch()
        (tmp_path / "more").mkdir()
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert found.student == "ben"


def test_a_deep_folder_is_looked_into_so_far(tmp_path):
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    here = os.getcwd()
    try:
        os.chdir(tmp_path / "anna")
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(here)
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert found.path is not None
    assert "deep" in found.notes[0]
    remove_folder(tmp_path / "anna")


def test_of_too_many_files_the_upper_ones_are_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MOST", 20)
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    (tmp_path / "anna" / "a").mkdir()
    for number in range(40):
        (tmp_path / "anna" / "a" / f"{number}.txt").touch()
    (found,) = find_submissions(tmp_path, KNOWN).submissions
    assert found.path is not None
    assert "more than 20 files" in found.notes[0]


def test_a_closed_folder_is_told_to_its_student(tmp_path, monkeypatch):
    hand_in(new_notebook(), tmp_path / "anna" / f"{NAME}.ipynb")
    (tmp_path / "ben" / "closed").mkdir(parents=True)
    scandir = os.scandir

    def closed(path):
        if Path(path).name == "closed":  # root may look into any
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    _, ben = find_submissions(tmp_path, KNOWN).submissions
    assert ben.notes == (
        "ben/closed could not be looked into: Permission denied",
    )


# --- marks that are stale ----------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [
        "tools/grading/judge.py",
        "transformer_course/attention.py",
        "transformer_course/exercises/catalogue/masks/causal_mask.py",
    ],
)
def test_code_that_marks_depend_on_makes_them_stale(
    tmp_path, monkeypatch, module
):
    """What marks, what a notebook gives, what an exercise asks."""
    monkeypatch.setattr(records, "ROOT", tmp_path)
    path = tmp_path / module
    path.parent.mkdir(parents=True)
    digests = set()
    for text in ("x = 1", "x = 2"):
        path.write_text(text)
        digests.add(records._code.__wrapped__())
    assert len(digests) == 2
    assert (ROOT / module).is_file()
