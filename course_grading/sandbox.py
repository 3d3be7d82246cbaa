"""Where a student's code runs: it sees no solution, no mark, no network.

Bubblewrap gives it namespaces of its own, without root; where that does not
work, a container does. Processes that it leaves behind end with it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Literal

import psutil

from transformer_course.errors import CourseError

Kind = Literal["bubblewrap", "docker", "podman", "unsafe"]
COURSE = "/course"
"""The folder in a sandbox that has what the code may import of the course."""
IMAGE = "transformer-grading"
OURS = ("course_exercises", "course_grading", "transformer_course")
"""Packages that hold solutions, and are hidden."""
ENVIRONMENT = {
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MPLBACKEND": "agg",
    "CUDA_VISIBLE_DEVICES": "",
    "LANG": "C.UTF-8",
}
"""One thread, no GPU, no screen; nothing of the environment of who grades."""
DISK = 512 << 20
"""Bytes that it may write into each of its two folders."""
OUTPUT = 64 << 20
"""Bytes that are read of what it says."""
LINES = 10_000
"""Lines of them."""
ERRORS = 20_000
PROCESSES = 100
"""It may have at a time."""
PAUSE = 0.1
"""Seconds between two looks at it."""
INSTALL = (
    "Install bubblewrap (Debian and Ubuntu: apt install bubblewrap; Fedora: "
    "dnf install bubblewrap), or Docker or Podman and build the image; "
    '"For lecturers" says how. With --unsafe, submissions run with your '
    "rights: they can read, change and send whatever you can"
)


class SandboxError(CourseError):
    """No sandbox works here, or one failed by no fault of a student."""


@dataclass(frozen=True)
class Ending:
    """How a run ended."""

    reason: Literal["done", "time", "memory", "processes", "output"]
    output: bytes
    """What it wrote."""
    errors: str
    """The end of what it wrote to standard error."""
    status: int
    """Exit status; negative or above 128 after a signal."""


@dataclass(frozen=True)
class Limits:
    """Of one run, with all that it starts."""

    seconds: float
    memory: int = 6 << 30


@dataclass(frozen=True)
class Sandbox:
    """One way to run code.

    Args:
        kind: ``bubblewrap``, ``docker``, ``podman``, or ``unsafe``: a plain
            process.
    """

    kind: Kind

    def run(
        self,
        course: Path,
        program: list[str],
        request: bytes,
        limits: Limits,
        told: Callable[[bytes], float | None] = lambda line: None,
    ) -> Ending:
        """Run a Python program.

        Args:
            course: the folder that is on its import path, as COURSE.
            program: the words after ``python``.
            request: its standard input.
            limits: of time and memory.
            told: called with each line that it writes; what it returns, if
                not None, is the number of seconds that are left from now.
        """
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            name = f"grading-{os.path.basename(folder)}"
            running = _Running(
                self._command(course, program, name),
                request,
                cwd=folder,
                environment=self._environment(course, folder),
            )
            try:
                return running.wait(limits, told)
            finally:
                running.end()
                if self.kind in ("docker", "podman"):
                    subprocess.run(
                        [self.kind, "kill", name], capture_output=True
                    )

    def course(self, folder: Path) -> str:
        """Where the code sees the course's folder."""
        return str(folder) if self.kind == "unsafe" else COURSE

    def _command(
        self, course: Path, program: list[str], name: str
    ) -> list[str]:
        if self.kind == "bubblewrap":
            return [*_bubblewrap(course), sys.executable, *program]
        if self.kind in ("docker", "podman"):
            return [*_container(self.kind, course, name), "python", *program]
        return [sys.executable, *program]

    def _environment(self, course: Path, folder: str) -> dict[str, str]:
        if self.kind == "unsafe":
            places = dict.fromkeys(("HOME", "TMPDIR"), folder)
            path = {"PYTHONPATH": str(course)}
            return os.environ | ENVIRONMENT | places | path
        if self.kind == "bubblewrap":  # its own, which the code can read
            return {"PATH": os.environ.get("PATH", os.defpath)}
        return dict(os.environ)  # that of docker's client, outside

    def trial(self) -> str:
        """Start it once. Returns why it does not work; "" if it does."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                ending = self.run(
                    Path(folder), ["-c", "print('ready')"], b"", Limits(60)
                )
            except OSError as error:
                return str(error)
        ready = ending.output.strip() == b"ready"
        return "" if ready else ending.errors.strip() or "it said nothing"


@cache
def find_sandbox(unsafe: bool = False) -> Sandbox:
    """The first that works: bubblewrap, then a container.

    Args:
        unsafe: run submissions with the rights of whoever grades.

    Raises:
        SandboxError: none works; says what to install.
    """
    if unsafe:
        return Sandbox("unsafe")
    reasons = []
    for kind, program in (
        ("bubblewrap", "bwrap"),
        ("docker", "docker"),
        ("podman", "podman"),
    ):
        if shutil.which(program):
            why = Sandbox(kind).trial()
            if not why:
                return Sandbox(kind)
            reasons.append(f"{program}: {why.splitlines()[-1]}")
    found = "; ".join(reasons) or "neither bwrap nor docker nor podman is here"
    raise SandboxError(
        f"submissions cannot be run safely ({found}). {INSTALL}"
    )


def _bubblewrap(course: Path) -> list[str]:
    """System and Python read-only, a private /tmp, and nothing else.

    Semaphores lie in /dev/shm, which is as private.
    """
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix}
    shown = sorted(map(str, roots), key=len)
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    words += ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
    for folder in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32"):
        if os.path.islink(folder):
            words += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            words += ["--ro-bind", folder, folder]
    for path in ("ld.so.cache", "alternatives", "fonts", "localtime"):
        words += ["--ro-bind-try", f"/etc/{path}", f"/etc/{path}"]
    words += ["--proc", "/proc", "--dev", "/dev", "--chdir", "/tmp"]
    for place in ("/tmp", "/dev/shm"):
        words += ["--size", str(DISK), "--tmpfs", place]
    words += ["--remount-ro", "/dev", "--remount-ro", "/proc"]
    for root in shown:
        words += ["--ro-bind", root, root]
    for hidden in _hidden():
        if any(hidden.is_relative_to(root) for root in (*shown, "/usr")):
            words += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    words += ["--ro-bind", str(course), COURSE, "--remount-ro", "/"]
    words += ["--clearenv"]
    path = os.pathsep.join([f"{sys.prefix}/bin", "/usr/bin", "/bin"])
    values = ENVIRONMENT | {"PATH": path, "PYTHONPATH": COURSE}
    for name, value in values.items():
        words += ["--setenv", name, value]
    return [*words, "--"]


def _hidden() -> Iterator[Path]:
    """Where the packages with solutions are installed."""
    for entry in map(Path, filter(None, sys.path)):
        for name in OURS:
            if (entry / name).is_dir():
                yield (entry / name).resolve()


def _container(engine: str, course: Path, name: str) -> list[str]:
    """An image that has Python and torch, and nothing of the course."""
    values = ENVIRONMENT | {"PYTHONPATH": COURSE}
    given = (f"--env={name}={value}" for name, value in values.items())
    return [
        *(engine, "run", "--rm", "--interactive", "--name", name),
        *("--network", "none", "--read-only"),
        *("--tmpfs", f"/tmp:size={DISK}", "--workdir", "/tmp"),
        *("--volume", f"{course}:{COURSE}:ro"),
        *("--memory", "6g", "--memory-swap", "6g"),
        *("--pids-limit", str(PROCESSES)),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *(*given, IMAGE),
    ]


@dataclass(eq=False)
class _Pipe:
    """Reads a stream to its end, and keeps no more than is allowed."""

    stream: IO[bytes]
    most: int
    content: bytearray = field(default_factory=bytearray)
    lines: int = 0
    is_over: bool = False

    def read(self) -> None:
        """Read until the other end is closed, or too much has come."""
        with suppress(ValueError, OSError):  # closed meanwhile
            while chunk := self.stream.read1(1 << 16):
                self.lines += chunk.count(b"\n")
                size = len(self.content) + len(chunk)
                if size > self.most or self.lines > LINES:
                    self.is_over = True
                else:
                    self.content += chunk


class _Running:
    """A process and all that it starts."""

    def __init__(
        self,
        command: list[str],
        request: bytes,
        cwd: str,
        environment: dict[str, str],
    ):
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
        )
        self._known: set[psutil.Process] = set()
        self._shared = _shared_memory()
        self._output = _Pipe(self._process.stdout, OUTPUT)
        self._errors = _Pipe(self._process.stderr, ERRORS)
        self._threads = [
            threading.Thread(target=work, args=args, daemon=True)
            for work, *args in (
                (self._output.read,),
                (self._errors.read,),
                (self._write, request),
            )
        ]
        for thread in self._threads:
            thread.start()

    def wait(
        self, limits: Limits, told: Callable[[bytes], float | None]
    ) -> Ending:
        """Wait for its end, or end it where a limit is exceeded."""
        deadline, heard = time.monotonic() + limits.seconds, 0
        while True:
            has_ended = self._process.poll() is not None
            if has_ended:
                for thread in self._threads[:2]:
                    thread.join(1)
            lines = bytes(self._output.content[heard:]).split(b"\n")[:-1]
            for line in lines:
                heard += len(line) + 1
                left = told(line)
                if left is not None:
                    deadline = time.monotonic() + left
            if has_ended:
                return self._ending("done")
            memory, count = self._used()
            for reason, exceeded in (
                ("time", time.monotonic() > deadline),
                ("processes", count > PROCESSES),
                ("memory", memory > limits.memory),
                ("output", self._output.is_over),
            ):
                if exceeded:
                    self.end()
                    return self._ending(reason)
            time.sleep(PAUSE)

    def end(self) -> None:
        """End it with all that it has started."""
        self._used()
        for process in self._known:
            with suppress(psutil.Error):
                process.kill()
        self._process.kill()
        self._process.wait()
        psutil.wait_procs(self._known, timeout=10)
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                stream.close()

    def _write(self, request: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended
            self._process.stdin.write(request)
            self._process.stdin.close()

    def _used(self) -> tuple[int, int]:
        """Bytes and processes, with those whose parent has ended.

        Files that lie in memory belong to no process: what all of them have
        grown by on this machine counts as its own.
        """
        with suppress(psutil.Error):
            process = psutil.Process(self._process.pid)
            self._known |= {process, *process.children(recursive=True)}
        memory, count = max(0, _shared_memory() - self._shared), 0
        for process in [*self._known]:
            try:
                memory += _memory(process)
                count += 1
            except psutil.Error:  # it has just ended
                self._known.discard(process)
        return memory, count

    def _ending(self, reason: str) -> Ending:
        errors = self._errors.content.decode("utf-8", "replace")
        status = self._process.returncode or 0
        return Ending(reason, bytes(self._output.content), errors, status)


def _shared_memory() -> int:
    """The bytes of all files in memory; 0 where the system does not say."""
    return getattr(psutil.virtual_memory(), "shared", 0)


def _memory(process: psutil.Process) -> int:
    """The bytes that are a process's own, not its parent's."""
    try:
        return process.memory_full_info().uss
    except psutil.AccessDenied:
        return process.memory_info().rss
