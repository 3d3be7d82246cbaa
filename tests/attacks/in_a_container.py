"""Code that attacks its grading as another user, in namespaces of its own.

    sudo python -m tests.attacks.in_a_container

There is no container here, but what makes one: processes, mounts, network and
System V of their own, everything read-only but a folder for temporary files
that only root may write to, as in ``tools/grading/Containerfile`` and in the
command on the page for lecturers. Each attack stands before a right answer;
after each of them a right answer is judged.

Result, November 2026, Linux 6: all 14 attacks were held.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.grading_class import SOLUTIONS
from tools.grading import processes
from tools.grading.answers import Program
from tools.grading.judge import NOBODY_S, Judge
from tools.grading.policy import Hidden
from transformer_course.exercises.process import Limits

NOBODY = 65_534
WALLS = """
mount --make-rprivate /
mount -t tmpfs -o mode=0711,size=2g tmpfs /srv
mount -t tmpfs -o mode=0755,size=4k tmpfs /dev/shm
mkdir -m 700 /srv/root /srv/grading /srv/course
cp -r tools transformer_course tests assignments /srv/course
mount --rbind /tmp /tmp
mount -o remount,ro,bind /tmp
mount -o remount,ro,bind /
cd /srv/course
export PYTHONPATH=/srv/course HOME=/srv/root TMPDIR=/srv PYTHONNOUSERSITE=1
exec "$@"
"""
REFUSED = """
try:
    {what}
except OSError:
    pass
else:
    raise ValueError("this was possible")
"""
ATTACKS = {
    "a module where another looks for it": """
mine = os.getcwd()
for folder, inner, _ in os.walk("/"):
    inner[:] = [i for i in inner if (folder, i) not in
                (("/", "proc"), ("/", "sys"))]
    if os.access(folder, os.W_OK) and not folder.startswith(mine):
        raise ValueError(f"{folder} can be written to")
""",
    "to be root": REFUSED.format(what="os.setuid(0)"),
    "to be root by another program": """
import shutil, subprocess
for name in ("su", "mount", "passwd"):
    if path := shutil.which(name):
        subprocess.run([path, "--help"], capture_output=True)
flags = open("/proc/self/status").read()
if "NoNewPrivs:\\t1" not in flags:
    raise ValueError("a program may have more rights")
""",
    "the solutions": REFUSED.format(what="os.listdir('/srv/course')"),
    "the marks": REFUSED.format(what="os.listdir('/srv/grading')"),
    "the next program": REFUSED.format(what="os.listdir('..')"),
    "the runner's memory": REFUSED.format(
        what="open(f'/proc/{os.getppid()}/mem', 'rb')"
    ),
    "the runner's life": REFUSED.format(what="os.kill(os.getppid(), 9)"),
    "the network": """
import socket
with socket.socket() as out:
    out.settimeout(1)
"""
    + REFUSED.format(what="out.connect(('203.0.113.1', 53))").replace(
        "\n", "\n    "
    ),
    "all that it may kill": "os.kill(-1, 9)\n",
    "memory that stays": """
import ctypes
for _ in range(8):
    ctypes.CDLL(None).shmget(0, 1 << 20, 0o1666)
""",
    "a full disk": """
try:
    for number in range(1000):
        with open(f"{number}", "wb") as file:
            file.write(bytes(15 << 20))
except OSError:
    pass
""",
    "a fork bomb": """
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    "a daemon": """
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    import time
    while True:
        time.sleep(1)
""",
}
RIGHT = Program(SOLUTIONS["padding_mask"], given=("import torch", "import os"))


def nobodys() -> Iterator[int]:
    """Processes of users that are no people."""
    for process in psutil.process_iter():
        if process.uids().real > NOBODY_S:
            yield process.pid


def inside() -> Iterator[tuple[str, str]]:
    """Each attack, and what came through of it, if anything did."""
    limits = Limits(seconds=2.0, memory=400 << 20)
    with Judge(Hidden(drawn=1), limits, NOBODY) as judge:
        for name, code in ATTACKS.items():
            given = (*RIGHT.given, "from torch import Tensor")
            given += ("from jaxtyping import Bool, Float, Int",)
            right = Program(RIGHT.cell, given=given)
            cell = Program(f"import os\n{code}\n{RIGHT.cell}", given=given)
            first = judge.verdict("padding_mask", cell)
            second = judge.verdict("padding_mask", right)
            found = "" if first.kind in ("correct", "limit") else first.text
            if not second.is_correct:
                found += f"the next one: {second.text}"
            if left := list(nobodys()):
                found += f"{left} are left"
            if processes.shared():
                found += "shared memory is left"
            if left := list(Path(tempfile.gettempdir()).glob("grading-*")):
                found += f"{left} is left"
            yield name, found


def main() -> int:
    """Say of each whether it was held; 1 if one was not."""
    if "--inside" not in sys.argv:
        command = ["unshare", *"-pfmni --mount-proc --kill-child".split()]
        command += ["sh", "-ec", WALLS, "sh", sys.executable, "-m"]
        module = "tests.attacks.in_a_container"
        return subprocess.run([*command, module, "--inside"]).returncode
    if os.getpid() > 10 or os.geteuid() != 0:
        print("error: run it as root, without --inside", file=sys.stderr)
        return 2
    failed = 0
    for name, found in inside():
        print(f"{name}: {found or 'held'}", flush=True)
        failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main())
