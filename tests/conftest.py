"""Fixtures that several test files share.

What only some of them need is imported inside its fixture: a worker that runs
the tests of the masks pays for no Sphinx and no training.
"""

import io
import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def small_corpus(monkeypatch) -> None:
    """In the place of the grammar, sentences of three words."""
    from tiny import tiny_corpus

    tiny_corpus(monkeypatch)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Path:
    """A run that nothing has disturbed."""
    from tiny import tiny_corpus
    from tiny_runs import tiny

    from transformer_course.training.run.training import run as train

    with pytest.MonkeyPatch.context() as patch:
        tiny_corpus(patch)
        place = tmp_path_factory.mktemp("whole")
        return train(tiny(), place, quiet=True)


@pytest.fixture
def run(capsys):
    """The exit status, standard output and error of a command."""
    from transformer_course.cli import main

    def call(*args):
        status = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as leaving:
            status = leaving.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def stdin(monkeypatch):
    """Put bytes where the command reads from."""

    def put(content: bytes):
        text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", text)

    return put


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    """Pretend the CUDA device that a test needs, where that is asked for."""
    if not (item.get_closest_marker("gpu") and os.environ.get("PRETEND_CUDA")):
        return (yield)
    from pretended_cuda import cuda

    with cuda():
        return (yield)
