"""Laws of lines that come one by one, or without end."""

import io
import os
import sys
import threading

import pytest
from tiny import SIZES, tiny_splits

from transformer_course.cli import lines, main, masked
from transformer_course.data.text import LONGEST_LINE
from transformer_course.data.tokenizer import MASK_PIECE, Tokenizer
from transformer_course.errors import CorpusError
from transformer_course.models.bert_config import BertConfig
from transformer_course.training import checkpoint


class Endless(io.RawIOBase):
    """One line, and then bytes without end, which are counted."""

    given = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        line = b"" if self.given else b"red cat .\n"
        buffer[:] = line.ljust(len(buffer), b"\0")
        self.given += len(buffer)
        return len(buffer)


def test_lines_come_from_an_open_pipe_as_many_as_are_there(monkeypatch):
    """Nobody who waits for an answer has to send more first."""
    reader, writer = os.pipe()
    gives_up = threading.Timer(30, os.close, [writer])
    gives_up.start()
    with open(reader, encoding="utf-8") as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        given = lines.chunks(None, 3, "translate")
        os.write(writer, b"one\ntwo\nhal")
        assert next(given) == (1, ["one", "two"])
        os.write(writer, b"f\n" + b"more\n" * 4)
        assert next(given) == (3, ["half", "more", "more"])
        assert next(given) == (6, ["more", "more"])
        os.write(writer, b"last")
        gives_up.cancel()
        os.close(writer)
        assert list(given) == [(8, ["last"])]


def test_a_line_without_end_does_not_fill_the_memory_behind_another(
    monkeypatch,
):
    source = Endless()
    text = io.TextIOWrapper(io.BufferedReader(source), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", text)
    with pytest.raises(CorpusError, match="line 2 of standard input"):
        list(lines.chunks(None, 64, "translate"))
    assert source.given < 2 * LONGEST_LINE


def test_a_text_from_a_pipe_is_answered_before_the_next_is_read(
    tmp_path, monkeypatch
):
    words = Tokenizer.train(tiny_splits().train.src, 100, "word", masked=True)
    sizes = SIZES | {"vocab_size": words.vocab_size}
    model = checkpoint.build(BertConfig(**sizes))
    details = {"corpus": "authors", "task": "pre_training", "src": "en"}
    checkpoint.save(tmp_path, model, words, details | {"tgt": "en"})
    out, answered = io.BytesIO(), []

    def texts():
        for _ in range(2):
            answered.append(out.getvalue().count(b"\n"))
            yield f"red {MASK_PIECE} ."

    monkeypatch.setattr(masked, "stdin_lines", texts)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
    main(["fill", str(tmp_path), "--top", "1"])
    assert answered == [0, 1]
