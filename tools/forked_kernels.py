"""Start the kernels of tested notebooks as forks of one process.

Each kernel imports torch, matplotlib and more, which takes five processor
seconds; a fork of a process that has imported them takes none. No test
compares the SVG of a figure, so it is laid out and checked, but not written.
"""

import multiprocessing
import os
import signal
import sys
from contextlib import nullcontext

from jupyter_client.provisioning import local_provisioner

IMPORTED = [
    "ipykernel.kernelapp",
    "matplotlib.pyplot",
    "sklearn.metrics",
    "torch._dynamo",
]
INLINE = "module://matplotlib_inline.backend_inline"


def install() -> None:
    """Start every kernel of this process as a fork (on Linux only)."""
    if sys.platform == "linux":
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        local_provisioner.launch_kernel = ForkedKernel


class ForkedKernel:
    """What jupyter_client uses of ``subprocess.Popen``, for a fork.

    Args:
        command: the kernel's command line, ``[python, "-m", name, *options]``.
        cwd: its working folder; this process's if None.
        env: its environment.
    """

    stdin = stdout = stderr = None

    def __init__(self, command, env, cwd=None, **_):
        context = multiprocessing.get_context("forkserver")
        ready, started = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_run, args=(started, command[3:], cwd or os.getcwd(), env)
        )
        self._process.start()
        ready.recv()  # from now on it is safe to signal its process group
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, or None while the kernel runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the kernel to end, and return its exit status."""
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send the kernel a signal."""
        os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the kernel to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the kernel."""
        self.send_signal(signal.SIGKILL)


def _run(started, options: list[str], cwd: str, env: dict[str, str]) -> None:
    """Be a kernel in a session of its own, as jupyter_client starts it."""
    os.setsid()
    started.send(True)
    os.chdir(cwd)
    os.environ.update(env)
    sys.path += filter(None, env.get("PYTHONPATH", "").split(os.pathsep))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)

    import matplotlib
    from ipykernel.kernelapp import launch_new_instance
    from IPython.core import pylabtools
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    matplotlib.rcParams["backend"] = INLINE
    FigureCanvasAgg.draw_idle = _do_not_draw
    pylabtools.print_figure = _lay_out
    with _device():
        launch_new_instance(argv=options)


def _do_not_draw(canvas) -> None:
    """What an interactive figure does at the end of its cell."""


def _lay_out(figure, **_) -> str:
    """In place of writing a figure, go through all of its artists once."""
    figure.draw_without_rendering()  # and is checked: tests/legible.py
    return "<svg></svg>"


def _device():
    """The machine's own, or the one that PRETEND_CUDA asks for."""
    if not os.environ.get("PRETEND_CUDA"):
        return nullcontext()
    from pretended_cuda import cuda  # of the tests

    return cuda()
