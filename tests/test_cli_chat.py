"""The command ``chat``, with a small model that knows nothing."""

import os
import pty
import subprocess
import sys

import pytest
from command_line import assert_error
from test_chat import talker

from course_exercises.path import parts
from transformer_course.cli import chatting
from transformer_course.cli.lines import BLOCK
from transformer_course.console import visible


@pytest.fixture
def chat(run, stdin, monkeypatch):
    """What the command answers to lines, with these options."""
    used = talker()
    monkeypatch.setattr(chatting, "load", lambda path, device: used)

    def call(*options, said=b"hello\nand then?\n"):
        stdin(said)
        command = ["chat", "tiny", "--max-length", 9, *options]
        return run(*map(str, command))

    return call


def test_a_seed_fixes_the_answers_and_another_changes_them(chat):
    hot = ["--temperature", 5, "--min-p", 0, "--device", "cpu"]
    one = chat(*hot, "--seed", 1)
    assert one == chat(*hot, "--seed", 1)
    assert one[0] == 0 and one != chat(*hot, "--seed", 2)


def test_each_way_to_cut_off_leaves_the_likeliest_at_its_extreme(chat):
    ways = [["--top-k", 1], ["--top-p", 1e-6], ["--min-p", 1]]
    found = [chat(*way, "--seed", i) for i, way in enumerate(ways)]
    assert found[0] == found[1] == found[2]
    assert found[0] != chat(*ways[0], "--system", "answer in verse")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-length", 0),
        ("--seed", -1),
        ("--min-p", 2),
    ],
)
def test_an_option_that_cannot_be_is_one_line(chat, option, value):
    name = option.strip("-").replace("-", "_")
    assert_error(chat(option, value), f"{name} is {value}")


def test_a_file_of_ones_own_computes_the_answers(chat, tmp_path):
    file, likeliest = tmp_path / "my_transformer.py", ["--top-k", 1]
    file.write_text(parts.stubs_text(), "utf-8")
    status, out, err = chat(*likeliest, "--decoder", file)
    assert (status, out) == chat(*likeliest)[:2]
    assert "parts of" in err and "MyDecoder" in err and "bleu" not in err
    mirrored = parts.solution_text().replace(".flatten(-2)", ".flip(-1)[0]")
    file.write_text(mirrored, "utf-8")
    status, out, err = chat("--decoder", file)
    assert (status, out) == (1, "") and "error: my_transformer.py" in err
    assert_error(chat("--decoder", tmp_path / "no.py"), "there is no")


def test_a_blank_line_ends_nothing(chat):
    answers = chat()
    assert answers == chat(said=b"\nhello\n \nand then?")
    assert answers[1].count("\n") >= 2


def test_what_someone_says_is_utf8(chat):
    said = b"hello\nhi\xff\n"
    status, _, err = chat("--top-k", 1, said=said)
    assert status == 1 and "Traceback" not in err
    assert "error: standard input is not UTF-8: line 2, byte 3" in err
    assert_error(chat("--system", "\udcff"), "system is", "in UTF-8")


def test_an_answer_that_is_cut_off_is_a_warning(chat):
    _, _, err = chat("--max-length", 1)
    assert err.count("warning: the answer was cut off") == 2


def test_what_does_not_fit_is_a_line_and_the_talk_goes_on(chat):
    status, out, err = chat(said=b"x" * 1200 + b"\nhello\n")
    assert status == 0 and out and err.count("\n") == 2
    assert "tokens, but the model reads 999: say less." in err
    status, _, err = chat(said=(b"x" * 300 + b"\n") * 5)
    assert status == 0 and "the context is full: the oldest" in err


def test_an_answer_commands_no_terminal(chat):
    hot = ["--temperature", 9, "--min-p", 0, "--max-length", 99]
    out = chat(*hot, "--device", "cpu")[1]
    assert "\\x1b" in out and "\n" in out
    assert out == visible(out, "\n\t")


def test_a_line_that_is_typed_may_be_long_and_edited():
    """A terminal without an editor cuts lines at 4,095 bytes."""
    script = (
        "from transformer_course.cli.lines import chunks\n"
        "for _, [line] in chunks(None, 1, 'chat', prompt='> '):\n"
        "    print(len(line), line[-3:], 'was said', flush=True)"
    )
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    seen = b""
    while b"> " not in seen:
        seen += os.read(ours, BLOCK)
    for _ in range(12):
        os.write(ours, b"word " * 100)
        seen += os.read(ours, BLOCK)  # the echo
    os.write(ours, b"ed\x1b[Dn\n")  # a key that goes back by one
    while b"was said" not in seen:
        seen += os.read(ours, BLOCK)
    os.close(ours)
    child.wait(60)
    assert b"6003 end was said" in seen
