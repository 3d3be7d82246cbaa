"""What ``python -m experiments`` makes of what is typed."""

import io
import os
import sys

import pytest

from experiments.__main__ import command, find, find_all
from experiments.lab import Experiment
from transformer_course.errors import ConfigError


def test_an_experiment_is_named_as_its_module():
    for name, one in find_all().items():
        assert find(name) is one
    for wrong in ("nrms", "feed_forward", "lab"):
        with pytest.raises(ConfigError, match=f"{wrong}'; there are:"):
            find(wrong)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("heads outputs/x --list", "does not take outputs/x"),
        ("enja-heads --seeds 1 --list", "does not take --seeds 1"),
        ("enja-heads --only base --list", "does not take --only base"),
        ("enja-heads a --list", "given 1 trainings: expected 2"),
        ("enja-heads a --smoke", "does not take a"),
        ("layer-times --seeds 3 --list", "does not take --seeds 3"),
        ("table-3 --seeds 7 --list", "with the seed 7"),
        ("table-3 --only bass --list", "no variant 'bass'"),
        ("classifiers --only polarity-words --seeds 2", "with the seed 2"),
        ("heads --smoke --list", "does not take --list"),
        ("--only base", "does not take --only base"),
        ("--smoke --list", "does not take --list"),
        ("--index --smoke", "does not take --smoke"),
    ],
)
def test_what_would_not_be_looked_at_is_refused(typed, told):
    with pytest.raises(SystemExit, match=rf"\Aerror: .*{told}.*\Z"):
        command(typed.split())


def test_what_is_there_of_the_chosen_variants_is_listed(capsys):
    command("table-3 --only base --list".split())
    listed = capsys.readouterr().out.splitlines()
    assert listed == [f"stored   base, seed {seed}" for seed in range(3)]


def test_ctrl_c_is_one_line(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "make", pressed)
    leaving = SystemExit, KeyboardInterrupt
    with pytest.raises(leaving, match="stopped; the same command"):
        command(["heads"])


def test_a_reader_of_the_list_may_leave(monkeypatch):
    class Left(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    monkeypatch.setattr(sys, "stdout", Left())
    command(["growth", "--list"])
