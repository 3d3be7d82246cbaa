"""Laws of the command line: one clear line, the right status, no loss."""

import dataclasses
import hashlib
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import entry_points, version

import pytest
import torch
from command_line import assert_error
from tiny import (
    decided,
    tiny_gru,
    tiny_language_model,
    tiny_splits,
    tiny_transformer,
)
from tiny_runs import losses

from transformer_course import checkpoint, files, runs
from transformer_course.cli import main, texts
from transformer_course.cli.commands import COMMANDS
from transformer_course.data import manifest
from transformer_course.data.corpora import CORPORA
from transformer_course.data.grammar import grammar_pairs, parallel_text
from transformer_course.data.manifest import CorpusFile, ManifestEntry
from transformer_course.device import pick_device
from transformer_course.ensemble import Ensemble
from transformer_course.errors import ConfigError
from transformer_course.experiment.folder import find
from transformer_course.tasks.table import find_task
from transformer_course.text_model import TextModel
from transformer_course.tokenizer import Tokenizer
from transformer_course.translate import translate

DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}
TEXT = "red cat\n\nold dog .\nfish\n"
NOT_UTF8 = "red cat\nold 犬 dog\n".encode("cp932")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    splits = tiny_splits()
    lines = [*splits.train.src, *splits.train.tgt]
    return Tokenizer.train(lines, 100, "word")


@pytest.fixture(scope="module")
def model(tmp_path_factory, tokenizer):
    """An untrained translator in a folder."""
    folder = tmp_path_factory.mktemp("models") / "translator"
    made = tiny_transformer(
        vocab_size=tokenizer.vocab_size,
        max_length=12,
        position="learned",
        tied=False,
    )
    made = decided(made)
    checkpoint.save(folder, made, tokenizer, DETAILS)
    return folder


@pytest.fixture(scope="module")
def language_model(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("models") / "language-model"
    made = tiny_language_model(vocab_size=tokenizer.vocab_size)
    checkpoint.save(folder, made, tokenizer, DETAILS)
    return folder


# --- translate --------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.en"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_translate_gives_a_line_for_a_line(run, model, file):
    status, out, err = run("translate", model, file)
    lines = out.split("\n")
    assert (status, err) == (0, "")
    assert len(lines) == 5 and lines[-1] == ""
    assert [bool(line) for line in lines[:-1]] == [True, False, True, True]


def test_standard_input_gives_the_same_as_a_file(run, stdin, model, file):
    from_file = run("translate", model, file)
    stdin(TEXT.encode())
    assert run("translate", model) == from_file


def test_an_output_file_holds_the_same(run, model, file, tmp_path):
    _, out, _ = run("translate", model, file)
    result = run("translate", model, file, "--output", tmp_path / "text.ja")
    assert result == (0, "", "")
    assert (tmp_path / "text.ja").read_text("utf-8") == out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["text.en", "text.ja"]


def test_windows_line_ends_and_byte_order_marks_make_no_difference(
    run, stdin, model, file
):
    plain = run("translate", model, file)
    content = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    file.write_bytes(content)
    assert run("translate", model, file) == plain
    stdin(content)
    assert run("translate", model) == plain


def test_a_last_line_without_its_end_counts(run, stdin, model, file):
    plain = run("translate", model, file)
    file.write_text(TEXT.rstrip("\n"), encoding="utf-8")
    assert run("translate", model, file) == plain
    stdin(TEXT.rstrip("\n").encode())
    assert run("translate", model) == plain


@pytest.mark.parametrize("content", ["", "\n", "\n\n"])
def test_nothing_to_translate_gives_as_many_empty_lines(
    run, model, file, content
):
    file.write_text(content)
    assert run("translate", model, file) == (0, content, "")


def test_many_lines_keep_their_order(run, model, file):
    """More than are read at a time."""
    file.write_text("red cat\nold dog\n\n" * 50)
    _, out, _ = run("translate", model, file)
    lines = out.split("\n")[:-1]
    assert lines == lines[:3] * 50
    assert lines[0] != lines[1]


def test_as_is_keeps_words_apart(run, model, file):
    _, joined, _ = run("translate", model, file)
    _, apart, _ = run("translate", model, file, "--as-is")
    assert apart.split("\n")[0].count(" ") > joined.split("\n")[0].count(" ")


def test_plain_english_is_cut_into_words_first(run, model, file):
    file.write_text("Red cat.\n")
    plain = run("translate", model, file)
    file.write_text("red cat .\n")
    assert run("translate", model, file) == plain


def test_a_long_line_is_cut_off_with_a_warning(run, model, file):
    file.write_text("red cat\n" + "old dog " * 30 + "\nfish\n")
    status, out, err = run("translate", model, file)
    assert status == 0
    assert out.count("\n") == 3
    assert err.count("\n") == 1
    assert "warning: line 2 is longer than 12 tokens" in err


def test_what_the_model_has_never_seen_is_a_warning(run, model, file):
    file.write_text("cat\n鬱 wombat cat\n\u200b\n", encoding="utf-8")
    status, out, err = run("translate", model, file)
    assert (status, out.count("\n")) == (0, 3)
    second, third = err.splitlines()
    assert "warning: line 2 " in second
    assert "'鬱', 'wombat'" in second and "cat" not in second
    assert "warning: line 3 " in third and "'\\u200b'" in third
    status, _, err = run("generate", model, "red wombat", "--count", 1)
    assert status == 0 and "'wombat'" in err


def test_a_file_that_is_not_utf8_names_the_byte(run, model, file, tmp_path):
    file.write_bytes(NOT_UTF8)
    output = tmp_path / "text.ja"
    output.write_text("old translations\n")
    result = run("translate", model, file, "--output", output)
    assert_error(result, "not UTF-8", "line 2, byte 5", "iconv")
    assert output.read_text() == "old translations\n"


def test_standard_input_that_is_not_utf8_names_the_line(run, stdin, model):
    stdin(NOT_UTF8)
    result = run("translate", model)
    assert_error(result, "standard input", "not UTF-8", "line 2, byte 5")


def test_a_missing_file_is_named(run, model, tmp_path):
    result = run("translate", model, tmp_path / "none.en")
    assert_error(result, "none.en' cannot be read", "No such file")


@pytest.mark.parametrize("sentence", ["i like dogs .", "dogs " * 100])
def test_a_sentence_in_place_of_a_file_says_where_it_goes(
    run, model, sentence
):
    result = run("translate", model, sentence)
    assert_error(result, f"'{sentence}' cannot be read", "echo '...' |")


class Terminal(io.TextIOWrapper):
    """Standard input that someone types into."""

    def isatty(self) -> bool:
        return True


def test_someone_who_types_is_told_what_to_do(run, model, file, monkeypatch):
    _, out, _ = run("translate", model, file)
    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(TEXT.encode())))
    status, typed, err = run("translate", model)
    assert (status, typed) == (0, out)
    assert "Ctrl-D" in err


class Screen(io.StringIO):
    """Standard output that someone reads; knows what was flushed, and when.

    Args:
        terminal: whether it is one.
    """

    def __init__(self, terminal: bool):
        super().__init__()
        self.terminal = terminal
        self.seen = [""]

    def isatty(self) -> bool:
        return self.terminal

    def flush(self) -> None:
        self.seen.append(self.getvalue())

    def steps(self) -> int:
        """How often there was something new to see."""
        return len(set(self.seen)) - 1


@pytest.fixture
def screen(monkeypatch):
    def put(terminal: bool) -> Screen:
        made = Screen(terminal)
        monkeypatch.setattr(sys, "stdout", made)
        return made

    return put


@pytest.mark.parametrize("as_is", [[], ["--as-is"]])
def test_what_is_streamed_is_what_is_written_at_once(
    run, model, file, screen, as_is
):
    command = ["translate", model, file, "--beam-size", 1, *as_is]
    _, whole, _ = run(*command)
    out = screen(terminal=False)
    assert run(*command, "--stream")[0] == 0
    assert out.getvalue() == whole
    assert out.steps() > whole.count("\n") == 4


def test_a_line_from_a_pipe_is_answered_before_the_next_is_read(
    run, model, monkeypatch, screen
):
    out = screen(terminal=False)
    answered = []

    def lines():
        for line in (b"red cat\n", b"old dog .\n"):
            answered.append(out.getvalue().count("\n"))
            yield line

    source, pipe = lines(), io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(
        pipe.buffer, "read1", lambda _: next(source, b""), raising=False
    )
    monkeypatch.setattr(sys, "stdin", pipe)
    run("translate", model, "--beam-size", 1, "--stream")
    assert answered == [0, 1]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("more", [[], ["--beam-size", 1]])
def test_words_come_one_by_one_to_someone_who_types_and_reads(
    run, model, stdin, monkeypatch, screen, typed, terminal, more
):
    stdin(b"red cat\n")
    if typed:
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"red cat\n")))
    out = screen(terminal)
    assert run("translate", model, *more)[0] == 0
    assert (out.steps() > 1) == bool(typed and terminal and more)


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--beam-size", 2],
        ["--beam-size", 1, "--n-best", 1],
        ["--beam-size", 1, "--output", "text.ja"],
    ],
)
def test_a_beam_cannot_be_streamed(run, model, file, more):
    result = run("translate", model, file, "--stream", *more)
    assert_error(result, "--stream", "--beam-size 1")


def rows(out) -> list[list[str]]:
    return [line.split("\t") for line in out.split("\n")[:-1]]


def test_the_n_best_are_written_with_rank_and_scores(run, model, file):
    _, best, _ = run("translate", model, file)
    status, out, err = run("translate", model, file, "--n-best", 3)
    assert (status, err) == (0, "")
    numbers, ranks, scores, log_probs, texts = zip(*rows(out), strict=True)
    assert numbers == tuple("1112333444")  # line 2 is empty
    assert ranks == tuple("1231123123")
    first = [t for t, r in zip(texts, ranks, strict=True) if r == "1"]
    assert first == best.splitlines()
    assert len(set(texts)) > 4
    for i in (0, 4, 7):
        values = [float(s) for s in scores[i : i + 3]]
        assert values == sorted(values, reverse=True)
    for score, log_prob in zip(scores, log_probs, strict=True):
        assert float(log_prob) <= float(score) <= 0


def test_numbers_go_on_over_what_is_read_at_a_time(run, model, file):
    file.write_text("red cat\n" * 70)
    _, out, _ = run("translate", model, file, "--n-best", 1)
    assert [row[0] for row in rows(out)] == [str(i) for i in range(1, 71)]


def test_the_n_best_can_go_to_a_file_with_words_apart(
    run, model, file, tmp_path
):
    arguments = ["translate", model, file, "--n-best", 2, "--as-is"]
    _, out, _ = run(*arguments)
    assert run(*arguments, "--output", tmp_path / "best.tsv") == (0, "", "")
    assert (tmp_path / "best.tsv").read_text("utf-8") == out
    _, joined, _ = run("translate", model, file, "--n-best", 2)
    assert [row[:4] for row in rows(out)] == [row[:4] for row in rows(joined)]
    assert out.count(" ") > joined.count(" ")


@pytest.mark.parametrize("more", [[6], [-1], [2, "--beam-size", 1]])
def test_more_than_the_beam_holds_is_refused(run, model, file, more):
    result = run("translate", model, file, "--n-best", *more)
    assert_error(result, f"n_best is {more[0]}", "--beam-size")


def test_several_models_translate_together(
    run, model, tokenizer, file, tmp_path
):
    """What comes is the ensemble's, whichever model is named first."""
    gru = decided(tiny_gru(vocab_size=tokenizer.vocab_size))
    checkpoint.save(tmp_path / "gru", gru, tokenizer, DETAILS)
    as_is = ("--as-is", "--with")
    status, out, _ = run("translate", model, file, *as_is, tmp_path / "gru")
    assert status == 0
    ensemble = Ensemble([checkpoint.load(model).model, gru])
    sources = file.read_text("utf-8").splitlines()
    expected = translate(ensemble, tokenizer, sources, beam_size=5)
    assert out.splitlines() == expected
    alone = run("translate", model, file, "--as-is")[1]
    assert out != alone
    assert run("translate", tmp_path / "gru", file, *as_is, model)[1] == out
    assert run("translate", model, file, *as_is, model)[1] == alone


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokenizer": "other"}, ("other pieces", "one tokenizer")),
        ({"tgt": "en"}, ("tgt 'en'", "'ja'")),
        ({"kind": tiny_language_model}, ("language_modelling", "the same")),
    ],
)
@pytest.mark.parametrize("command", ["translate", "score"])
def test_models_that_cannot_work_together_are_named(
    run, model, tokenizer, tmp_path, file, change, words, command
):
    details = DETAILS | {k: v for k, v in change.items() if k == "tgt"}
    if "tokenizer" in change:
        tokenizer = Tokenizer.train(["a b c d e f g h"] * 9, 12, "word")
    make = change.get("kind", tiny_transformer)
    made = make(vocab_size=tokenizer.vocab_size)
    other = tmp_path / "other"
    checkpoint.save(other, made, tokenizer, details)
    arguments = [model, file] if command == "translate" else [model]
    result = run(command, *arguments, "--with", other)
    assert_error(result, *words, str(other))


def test_ctrl_c_at_the_keyboard_is_no_traceback(run, model, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(texts, "chunks", interrupted)
    assert run("translate", model) == (130, "", "stopped\n")


@pytest.mark.parametrize("output", ["none/text.ja", "."])
def test_an_output_that_cannot_be_written_is_named_before_the_work(
    run, model, file, tmp_path, output, monkeypatch
):
    monkeypatch.setattr(TextModel, "translate", None)  # would fail if called
    result = run("translate", model, file, "--output", tmp_path / output)
    assert_error(result, "cannot be written")


@pytest.mark.parametrize("which", ["model.safetensors", "input", "link"])
def test_what_is_read_is_not_written_over(run, model, file, tmp_path, which):
    """Neither a file of the model nor the text itself."""
    output = file if which == "input" else model / "model.safetensors"
    before = output.read_bytes()
    if which == "link":
        (tmp_path / "link").symlink_to(output)
        output = tmp_path / "link"
    result = run("translate", model, file, "--output", output)
    assert_error(result, "would be lost", str(output))
    assert output.read_bytes() == before


def test_a_full_disk_leaves_the_old_output(
    run, model, file, tmp_path, monkeypatch
):
    def full(*_):
        raise OSError(28, "No space left on device")

    output = tmp_path / "text.ja"
    output.write_text("old translations\n")
    monkeypatch.setattr(files.os, "replace", full)
    result = run("translate", model, file, "--output", output)
    assert_error(result, "text.ja could not be written", "No space left")
    assert output.read_text() == "old translations\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["text.en", "text.ja"]


def test_a_missing_model_is_named(run, tmp_path, file):
    result = run("translate", tmp_path / "none", file)
    assert_error(result, "no checkpoint", "none", "config.json")


def test_a_language_model_does_not_translate(run, language_model, file):
    result = run("translate", language_model, file)
    assert_error(result, "goes on with a text", "generate ")


def test_a_model_without_a_tokenizer_cannot_read(run, tmp_path, file):
    checkpoint.save(tmp_path / "model", tiny_gru())
    result = run("translate", tmp_path / "model", file)
    assert_error(result, "no tokenizer.model")


def test_a_model_that_does_not_say_its_languages_needs_cut_text(
    run, tmp_path, file, tokenizer
):
    model = tmp_path / "model"
    made = tiny_gru(vocab_size=tokenizer.vocab_size)
    checkpoint.save(model, made, tokenizer)
    assert_error(run("translate", model, file), "'src'", "--as-is")
    status, out, _ = run("translate", model, file, "--as-is")
    assert (status, out.count("\n")) == (0, 4)


def test_a_beam_of_none_is_refused(run, model, file):
    result = run("translate", model, file, "--beam-size", 0)
    assert_error(result, "beam_size is 0")


@pytest.mark.parametrize("alpha", ["nan", "inf"])
def test_a_length_penalty_that_is_no_number_is_refused(
    run, model, file, alpha
):
    result = run("translate", model, file, "--alpha", alpha)
    assert_error(result, f"alpha is {alpha}")


# --- which checkpoint -------------------------------------------------------


def test_the_average_is_taken_before_the_best_before_the_last(tmp_path):
    folder = tmp_path / "checkpoints"
    for name in ("last", "best", "average"):
        checkpoint.save(folder / name, tiny_gru())
        assert find(tmp_path) == folder / name
    assert find(folder / "best") == folder / "best"


def test_what_was_taken_of_a_run_is_said(run, model, file, tmp_path):
    folder = tmp_path / "run" / "checkpoints" / "best"
    shutil.copytree(model, folder)
    alone = run("translate", model, file)
    status, out, err = run("translate", tmp_path / "run", file)
    assert (status, out) == alone[:2]
    assert err == f"using {folder}\n"


@pytest.mark.parametrize("wrong", ["", "rum"])
def test_runs_that_lie_near_are_named(run, model, file, tmp_path, wrong):
    for name in ("red", "old"):
        shutil.copytree(model, tmp_path / name / "checkpoints" / "best")
    result = run("translate", tmp_path / wrong, file)
    assert_error(result, f"{tmp_path / 'old'}, {tmp_path / 'red'}")


def test_a_kill_while_saving_does_not_hide_a_checkpoint(tmp_path):
    folder = tmp_path / "checkpoints"
    checkpoint.save(folder / "last", tiny_gru())
    (folder / "last").rename(folder / ".last.old")
    checkpoint.load(find(tmp_path))


# --- generate ---------------------------------------------------------------


def test_generate_draws_as_many_as_asked_for(run, language_model):
    status, out, err = run("generate", language_model, "--count", 4)
    assert (status, err) == (0, "")
    assert len(out.split("\n")) == 5


def test_the_same_seed_draws_the_same(run, language_model):
    one, same, other = (
        run("generate", language_model, "--seed", seed) for seed in (1, 1, 2)
    )
    assert one == same != other


def test_texts_go_on_from_the_prompt(run, language_model):
    _, out, _ = run("generate", language_model, "赤い 猫", "--as-is")
    assert all(line.startswith("赤い 猫") for line in out.splitlines())


def test_a_translator_draws_translations_of_the_prompt(run, model):
    status, out, _ = run("generate", model, "Red cat.", "--top-k", 1)
    first, *others = out.splitlines()
    assert (status, others) == (0, [first] * 2)
    _, greedy, _ = run("generate", model, "red cat .", "--top-p", 1e-6)
    assert greedy == out


def test_a_prompt_that_is_too_long_is_cut_off_with_a_warning(run, model):
    status, _, err = run("generate", model, "old dog " * 30)
    assert status == 0
    assert "longer than 12 tokens" in err


@pytest.mark.parametrize("more", [[], ["--as-is"]])
@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_drawn_is_the_same_however_it_is_shown(
    run, language_model, screen, terminal, more
):
    command = ["generate", language_model, "赤い 猫", "--count", 2, *more]
    _, whole, _ = run(*command)
    out = screen(terminal)
    assert run(*command, *([] if terminal else ["--stream"]))[0] == 0
    assert out.getvalue() == whole
    assert out.steps() > 4


def test_drawing_more_begins_with_the_same(run, language_model):
    _, two, _ = run("generate", language_model, "--count", 2)
    _, four, _ = run("generate", language_model, "--count", 4)
    assert four.startswith(two) and four != two


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--temperature", "0", "temperature is 0.0"),
        ("--top-p", "2", "top_p is 2.0"),
        ("--top-k", "-1", "top_k is -1"),
        ("--count", "0", "count is 0"),
        ("--max-length", "0", "max_length is 0"),
    ],
)
def test_ways_of_drawing_that_make_no_sense_are_refused(
    run, model, option, value, words
):
    assert_error(run("generate", model, "red cat", option, value), words)


@pytest.mark.parametrize("prompt", [[], [" "]])
def test_a_translator_needs_a_sentence(run, model, prompt):
    assert_error(run("generate", model, *prompt), "no sentence was given")


# --- score ------------------------------------------------------------------


@pytest.fixture
def small_corpus(monkeypatch):
    splits = tiny_splits()
    splits.test.src[0] = splits.train.src[0]  # one source has been seen
    with_pairs(monkeypatch, splits)
    return splits


def with_pairs(monkeypatch, splits) -> None:
    """Let every corpus that has pairs have these."""
    for name, corpus in CORPORA.items():
        if corpus.pairs:
            change = dataclasses.replace(corpus, pairs=lambda: splits)
            monkeypatch.setitem(CORPORA, name, change)


def test_a_model_is_scored_on_all_and_on_unseen(
    run, model, small_corpus, tmp_path
):
    output = tmp_path / "written"
    status, out, _ = run("score", model, "--output", output)
    assert status == 0
    title, *_ = out.splitlines()
    for word in (str(model), "grammar", "test", "beam 5", "alpha 0.6"):
        assert word in title
    together, _, _ = run("score", model, "--with", model)[1].partition(" on ")
    assert together == f"{model}, {model}"
    assert "all 8 sentences" in out
    assert "the 7 whose source is not in the training part" in out
    assert out.count("BLEU") >= 2 and "tok:none" in out and "chrF" in out
    assert len(output.read_text("utf-8").splitlines()) == 8


@pytest.mark.parametrize("kind", ["next sentence", "language model"])
def test_what_goes_on_with_a_text_is_scored_by_its_nll(
    run, small_corpus, tokenizer, tmp_path, kind
):
    make, corpus, task = {
        "next sentence": (tiny_transformer, "soseki", "next_sentence"),
        "language model": (tiny_language_model, "haiku", "language_modelling"),
    }[kind]
    made = make(vocab_size=tokenizer.vocab_size)
    details = {"corpus": corpus, "src": "ja", "tgt": "ja", "task": task}
    checkpoint.save(tmp_path / "model", made, tokenizer, details)
    status, out, _ = run("score", tmp_path / "model")
    assert status == 0 and "BLEU" not in out
    found = find_task(task).text_nll(made, tokenizer, small_corpus.test)
    assert f"{found.tokens} tokens" in out
    assert f"nll {found.nll:.4f}" in out
    assert f"nll {found.nll_per_character:.4f}" in out


def test_text_without_words_apart_is_left_as_it_is(
    run, tokenizer, tmp_path, file
):
    made = tiny_transformer(vocab_size=tokenizer.vocab_size, tied=False)
    made = decided(made)
    details = {"corpus": "soseki", "src": "ja", "tgt": "ja"}
    checkpoint.save(tmp_path / "model", made, tokenizer, details)
    plain = run("translate", tmp_path / "model", file)
    as_is = run("translate", tmp_path / "model", file, "--as-is")
    assert plain == as_is and " " in plain[1]


def test_a_corpus_of_seen_sentences_only_is_scored_too(
    run, model, small_corpus
):
    small_corpus.train.src[:8] = small_corpus.test.src
    status, out, _ = run("score", model)
    assert (status, out.count("sentences")) == (0, 1)


@pytest.fixture
def two_files(tmp_path):
    written, right = tmp_path / "written", tmp_path / "right"
    written.write_text("the cat sat on the mat\n", encoding="utf-8")
    right.write_text("the cat sat on the mat\n", encoding="utf-8")
    return written, right


def test_files_that_agree_score_100(run, two_files):
    status, out, err = run("score-files", *two_files)
    assert (status, err) == (0, "")
    assert "BLEU 100.00" in out and "chrF 100.00" in out


@pytest.mark.parametrize("joined", [0, 1])
def test_one_file_without_spaces_is_a_warning(run, two_files, joined):
    for path in two_files:
        path.write_text("猫 が 魚 を 食べ た 。\n", encoding="utf-8")
    text = two_files[joined].read_text("utf-8").replace(" ", "")
    two_files[joined].write_text(text, encoding="utf-8")
    status, out, err = run("score-files", *two_files)
    assert status == 0 and "BLEU 0.00" in out
    assert err.count("\n") == 1
    assert "--as-is" in err and "--tokenize char" in err
    status, out, err = run("score-files", *two_files, "--tokenize", "char")
    assert (status, err) == (0, "") and "BLEU 100.00" in out


def test_files_of_different_lengths_are_refused(run, two_files):
    two_files[0].write_text("one\ntwo\nthree\n")
    result = run("score-files", *two_files)
    assert_error(result, "has 3 lines", "has 1", "translate line i")


def test_empty_files_are_refused(run, two_files):
    for path in two_files:
        path.write_text("")
    assert_error(run("score-files", *two_files), "empty")


def test_a_file_to_score_must_be_utf8(run, two_files):
    two_files[1].write_bytes(NOT_UTF8)
    assert_error(run("score-files", *two_files), "not UTF-8", "right")


def test_an_unknown_tokeniser_is_refused(run, two_files):
    result = run("score-files", *two_files, "--tokenize", "scissors")
    assert_error(result, "'scissors'", "13a")


# --- data -------------------------------------------------------------------


def test_data_list_names_every_corpus(run):
    status, out, _ = run("data", "list")
    assert status == 0
    for name in CORPORA:
        assert f"{name}: " in out
    assert "grammar: " in out


@pytest.mark.parametrize("action", ["list", "fetch", "verify"])
def test_an_unknown_corpus_names_the_known_ones(run, action):
    result = run("data", action, "nonsense")
    assert_error(result, "'nonsense'", "small_parallel_enja")


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A mirror with one corpus whole, one in part, and no network."""
    monkeypatch.setenv("TRANSFORMER_COURSE_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path / "cache"))
    files = {f"{letter}.txt": letter.encode() for letter in "abc"}
    entries = [
        CorpusFile(name, "", hashlib.sha256(text).hexdigest(), len(text))
        for name, text in files.items()
    ]
    corpora = [
        ManifestEntry("whole", "free", "All of it", (entries[0],)),
        ManifestEntry("partial", "free", "Half of it", tuple(entries[1:])),
    ]
    monkeypatch.setattr(
        manifest, "entries", lambda: {c.name: c for c in corpora}
    )
    (tmp_path / "mirror").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "mirror" / name).write_bytes(files[name])
    return tmp_path / "mirror"


def test_a_corpus_in_part_says_how_much_is_here(run, mirror):
    _, out, _ = run("data", "list")
    assert "not here whole: 1 of the files" in out.partition("partial")[2]


def test_verify_sums_up_and_what_is_not_here_is_not_wrong(run, mirror):
    status, out, err = run("data", "verify")
    assert (status, err) == (0, "")
    assert "whole: 1 of 1 " in out and "partial: 1 of 2 " in out
    *_, last = out.splitlines()
    assert "1 whole and right, 1 not here or in part, 0 wrong" in last


def test_verify_looks_at_every_corpus_and_fails_when_one_is_wrong(run, mirror):
    (mirror / "a.txt").write_bytes(b"x")
    status, out, err = run("data", "verify")
    assert status == 1
    assert "whole: wrong" in out and "partial: 1 of 2 " in out
    assert "1 wrong" in out.splitlines()[-1]
    assert err.count("\n") == 1 and str(mirror / "a.txt") in err


def test_fetch_sums_up(run, mirror):
    status, out, _ = run("data", "fetch", "whole")
    assert (status, out.count("\n")) == (0, 1)
    assert "whole: 1 files" in out and str(mirror) in out
    status, out, _ = run("data", "fetch", "grammar")
    assert status == 0 and "built in" in out


# --- train: what is refused before it begins --------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model.d-model", "30"], "d_model 30 cannot be split over 4"),
        (["--model.n-heads", "0"], "n_heads is 0"),
        (["--train.epochs", "0"], "epochs is 0"),
        (["--data.src", "ja"], "src and tgt are both 'ja'"),
        (["--data.token-budget", "4"], "token_budget 4"),
        (["--data.corpus", "nonsense"], "no corpus 'nonsense'"),
        (["--data.corpus", "haiku"], "nothing for the task translation"),
        (["--task", "juggling"], "no task 'juggling'"),
        (["--model.pad-id", "5"], "pad_id is 5"),
        (["--train.epsilon", "inf"], "epsilon is inf"),
        (["--name", ".."], "name is '..'"),
        (["--name", ""], "name is ''"),
        (["--name", "/tmp/x"], "name is '/tmp/x'"),
        (["--resume"], "no run in"),
    ],
)
def test_settings_that_cannot_work_are_one_line(
    run, tmp_path, monkeypatch, arguments, words
):
    with_pairs(monkeypatch, tiny_splits())
    status, out, err = run(
        "train", "grammar", "--output-dir", tmp_path / "out", *arguments
    )
    *before, last = err.splitlines(keepends=True)
    assert_error((status, out, last), words)
    assert all("preparing" in line for line in before)
    assert not (tmp_path / "out").exists()


no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@no_gpu
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_gpu_that_is_not_there_is_one_line(run, model, file, device):
    trained = run("train", "grammar", "--train.device", device)
    assert_error(trained, f"'{device}' was asked for", "only: cpu")
    translated = run("translate", model, file, "--device", device)
    assert_error(translated, f"'{device}' was asked for", "only: cpu")


@pytest.mark.parametrize("name", ["abacus", "cuda:x", "cuda:99", "cpu:7"])
def test_a_device_that_does_not_exist_is_refused(name):
    with pytest.raises(ConfigError, match=f"'{name}' was asked for"):
        pick_device(name)


def test_auto_takes_what_there_is():
    expected = "cuda" if torch.cuda.is_available() else pick_device().type
    assert pick_device("auto").type == expected
    assert pick_device("cpu") == torch.device("cpu")


# --- train: a run once more -------------------------------------------------


def test_a_run_is_repeated_with_its_settings(run, tmp_path, monkeypatch):
    with_pairs(monkeypatch, tiny_splits())
    sizes = "--model.d-model 8 --model.n-heads 2 --model.n-layers 1"
    out = ["--output-dir", tmp_path]
    run(
        *("train", "grammar", *out, *sizes.split()),
        *("--train.epochs", "1", "--train.seed", "3"),
    )
    first = tmp_path / "grammar"
    like = ["train", "--like", first, *out]
    assert_error(run(*like), "holds a run already")
    status, _, _ = run(*like, "--name", "again")
    assert status == 0
    assert losses(first) == losses(tmp_path / "again") != []
    run(*like, f"--like={first}", "--name", "changed", "--train.seed", "4")
    about = (tmp_path / "changed" / "experiment.json").read_text("utf-8")
    settings = json.loads(about)
    assert settings["train"]["seed"] == 4
    assert settings["model"]["d_model"] == 8


@pytest.mark.parametrize("name", ["failures", "enja-ensemble", "jaen-both"])
def test_what_train_has_not_made_is_not_repeated(run, name):
    result = run("train", "--like", runs.folder(name))
    assert_error(result, str(runs.folder(name)), "transformer-course train")


@pytest.mark.parametrize(
    "arguments",
    [["--like"], ["grammar", "--like", "RUN"], ["--like", "RUN", "--lkie"]],
    ids=" ".join,
)
def test_like_is_typed_wrongly(run, arguments):
    folder = str(runs.folder("enja"))
    given = [folder if word == "RUN" else word for word in arguments]
    status, out, err = run("train", *given)
    assert (status, out) == (2, "") and err


# --- train: two files of one's own ------------------------------------------


SMALL = (
    *("--model.d-model", 32, "--model.d-ff", 64, "--model.n-layers", 1),
    *("--data.spaced", "--train.device", "cpu", "--model.max-length", 30),
)
OWN = ("train", "grammar", "--data.files", "a.en", "b.ja", *SMALL)


def write_pairs(folder, size: int) -> None:
    """Two files of the built-in grammar's pairs."""
    text = parallel_text(grammar_pairs(size, seed=3))
    write_lines(folder / "a.en", text.src)
    write_lines(folder / "b.ja", text.tgt)


def write_lines(path, lines) -> None:
    path.write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")


@pytest.fixture(scope="module")
def trained_on_files(tmp_path_factory):
    """A folder with two files and a run of one epoch on them."""
    folder = tmp_path_factory.mktemp("own")
    write_pairs(folder, 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main([*map(str, OWN), "--name", "own", "--train.epochs", "1"])
    return folder


@pytest.fixture
def own(trained_on_files, tmp_path, monkeypatch):
    """A copy of that folder, to be in."""
    folder = shutil.copytree(trained_on_files, tmp_path / "own")
    monkeypatch.chdir(folder)
    return folder


def test_two_files_are_trained_on_and_the_run_is_used(
    run, tmp_path, stdin, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, 2000)
    status, out, err = run(*OWN, "--name", "whole", "--train.epochs", 2)
    assert status == 0 and "Try: transformer-course translate" in out
    split = "a.en and b.ja: 1,800 pairs to learn from, 100 to choose "
    assert f"\n{split}" in f"\n{err}"
    assert run(*OWN, "--name", "own", "--train.epochs", 1)[0] == 0
    goes_on = (*OWN, "--name", "own", "--train.epochs", 2, "--resume")
    status, out, err = run(*goes_on)
    assert status == 0 and split in err
    folders = [tmp_path / "outputs" / name for name in ("whole", "own")]
    assert losses(folders[0]) == losses(folders[1]) != []
    stdin(b"The dog is old.\n")
    status, out, _ = run("translate", folders[1])
    assert status == 0 and out.endswith("\n") and " " not in out
    status, out, err = run("score", folders[1])
    assert status == 0 and "on a.en and b.ja, test: beam 5" in out
    assert "all 100 sentences" in out and split in err
    assert "the 100 whose source is not in the training part" in out
    like = ("train", "--like", folders[1], "--name", "again")
    assert run(*like)[0] == 0
    assert losses(tmp_path / "outputs" / "again") == losses(folders[1])


def test_a_changed_file_is_refused_by_all_that_read_it(run, own):
    with (own / "b.ja").open("a", encoding="utf-8") as file:
        file.write("\n")
    for command in (
        (*OWN, "--name", "own", "--train.epochs", 2, "--resume"),
        ("train", "--like", "outputs/own", "--name", "again"),
        ("score", "outputs/own"),
    ):
        status, out, err = run(*command)
        told = "".join(err.splitlines(keepends=True)[-1:])
        assert_error((status, out, told), "b.ja is not the text", "sha256")
    assert not (own / "outputs" / "again").exists()


def test_a_model_is_scored_on_its_files_where_they_stand_now(run, own):
    plain = run("score", "outputs/own")[1]
    (own / "a.en").rename("c.en")
    status, out, err = run("score", "outputs/own")
    assert (status, out) == (1, "") and "'a.en' cannot be read" in err
    moved = ("score", "outputs/own", "--files", "c.en", "b.ja")
    status, out, _ = run(*moved)
    assert status == 0 and out == plain.replace("a.en", "c.en")
    status, out, err = run(*moved, "--output", "b.ja")
    assert (status, out) == (1, "") and "would be lost" in err


def test_models_of_other_text_do_not_work_together(run, own):
    write_pairs(own, 200)
    assert run(*OWN, "--name", "other", "--train.epochs", 1)[0] == 0
    result = run("score", "outputs/own", "--with", "outputs/other")
    told = result[2].splitlines(keepends=True)[-1]
    assert_error((*result[:2], told), "has sha256", "must do the same")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.en", "none.ja"], "'none.ja' cannot be read"),
        (["a.en", "a.en"], "a.en and a.en hold the same text"),
        (["a.en", "few.ja"], "a.en has 300 lines but few.ja has 50"),
        (["few.en", "few.ja"], "few.en and few.ja have 50 pairs"),
        (["none.txt", "none.txt"], "none.txt and none.txt are empty"),
        (["a.en", "cp932.ja"], "cp932.ja is not UTF-8: line 1"),
        (["b.ja", "a.en"], "b.ja is to be in 'en'"),
        (["a.en", "b.ja", "--data.no-spaced"], "pieces are words"),
        (["a.en", "b.ja", "--data.corpus", "grammar"], "corpus is 'grammar'"),
        (["a.en", "b.ja", "--data.tgt", "日本語"], "tgt is '日本語'"),
        (["a.en", "b.ja", "--data.tgt", "en"], "src and tgt are both 'en'"),
        (["a.en", "b.ja", "--task", "next_sentence"], "nothing for the task"),
    ],
)
def test_files_that_cannot_be_learned_from_are_one_line(
    run, own, arguments, words
):
    for name in ("a.en", "b.ja"):
        lines = (own / name).read_text("utf-8").splitlines()
        write_lines(own / f"few{name[1:]}", lines[:50])
    (own / "none.txt").touch()
    (own / "cp932.ja").write_bytes("\n".join(lines).encode("cp932"))
    status, out, err = run(
        *OWN[:2], *SMALL, "--data.files", *arguments, "--name", "new"
    )
    *before, last = err.splitlines(keepends=True)
    assert_error((status, out, last), words)
    assert all("preparing" in line for line in before)
    assert not (own / "outputs" / "new").exists()


def test_blank_and_long_lines_are_counted(run, own):
    src = (own / "a.en").read_text("utf-8").splitlines()
    src[7], src[9] = " ".join(["dog"] * 60), " "
    write_lines(own / "a.en", src)
    short = ("--model.max-length", 50, "--train.epochs", 1, "--name", "new")
    status, _, err = run(*OWN, *short)
    assert status == 0
    assert "blank lines: 1 of a.en and 0 of b.ja; the 1 pairs" in err
    assert "1 of 271 training pairs are longer than 50 tokens" in err


def test_one_file_is_wrong_usage(run):
    status, out, err = run("train", "grammar", "--data.files", "a.en")
    assert (status, out) == (2, "") and "--data.files" in err


def test_a_corpus_can_be_put_in_the_place_of_files(run, own, monkeypatch):
    with_pairs(monkeypatch, tiny_splits())
    command = ("train", "--like", "outputs/own", "--name", "named")
    corpus = ("--data.corpus", "grammar", "--data.files", "None")
    status, _, err = run(*command, *corpus)
    assert status == 1 and "--data.sha256 None and --data.no-spaced" in err
    none = ("--data.sha256", "None", "--data.no-spaced")
    assert run(*command, *corpus, *none)[0] == 0


# --- wrong usage ------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["trian"],
        ["train", "nonsense"],
        ["train", "grammar", "--train.epochs", "many"],
        ["train", "grammar", "--no-such-option"],
        ["translate"],
        ["score", "x", "--split", "train"],
        ["data", "burn"],
    ],
    ids=" ".join,
)
def test_wrong_usage_leaves_with_status_2(run, arguments):
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert "--help" in err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "usage" in out


def test_the_version_is_the_packages(run):
    expected = f"transformer-course {version('transformer-course')}\n"
    assert run("--version") == (0, expected, "")


LOADED = """
import sys
from transformer_course.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
heavy = {"torch", "numpy", "transformer_course.exercises.catalogue"}
print("loaded:", *sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    ["--help", "train --help", "translate --help", "data list", "progress"],
)
def test_what_needs_no_model_loads_none(command, tmp_path):
    """Neither PyTorch nor the exercises: help comes at once."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *command.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stderr == "loaded:\n"
    assert done.stdout


def test_the_module_is_the_command(tmp_path):
    command = [sys.executable, "-m", "transformer_course.cli", "--version"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.startswith("transformer-course ")


def test_a_closed_standard_error_leaves_the_results_alone(
    run, model, file, tmp_path
):
    """What would be told there must not land among the translations."""
    shutil.copytree(model, tmp_path / "run" / "checkpoints" / "best")
    _, out, err = run("translate", tmp_path / "run", file)
    assert err.startswith("using ")
    code = "from transformer_course.cli import main; main()"
    command = [sys.executable, "-c", code, "translate", tmp_path / "run", file]
    text = " ".join(map(shlex.quote, map(str, command)))
    done = subprocess.run(
        ["sh", "-c", f"{text} 2>&-"], capture_output=True, text=True
    )
    assert done.stdout == out


# --- real processes ---------------------------------------------------------

TRAIN = [
    sys.executable,
    "-c",
    "from transformer_course.cli import main; main()",
    *"train grammar --data.train-pairs 300 --data.token-budget 256".split(),
    *"--model.d-model 16 --model.n-heads 2 --model.d-ff 32".split(),
    *"--model.n-layers 1 --model.max-length 16 --model.dropout 0.2".split(),
    *"--model.position learned --train.epochs 2 --train.save-every 3".split(),
    *"--train.average-last 2 --train.device cpu --train.warmup 20".split(),
]


class Process:
    """A training in a process of its own."""

    def __init__(self, output_dir, *more):
        self.folder = output_dir / "grammar"
        self.process = subprocess.Popen(
            [*TRAIN, "--output-dir", str(output_dir), *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def when(self, condition, send):
        """Send a signal as soon as the condition holds; then wait."""
        patience = threading.Timer(300, self.process.kill)  # seconds
        patience.start()
        while not condition(self.folder / "checkpoints"):
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.001)
        patience.cancel()
        self.process.send_signal(send)
        return self.end()

    def end(self):
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, err


def saved_step(checkpoints) -> int:
    """Where the last checkpoint stands; 0 when there is none to be read."""
    try:
        text = (checkpoints / "last" / "resume.json").read_text("utf-8")
        return json.loads(text)["step"]
    except (OSError, ValueError):
        return 0


def step_records(folder) -> list[str]:
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [line for line in lines if '"kind": "step"' in line]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    process = Process(tmp_path_factory.mktemp("undisturbed"))
    status, out, err = process.end()
    assert status == 0, err
    assert "transformer-course translate" in out
    return process.folder


def test_kill_9_at_any_moment_does_not_change_the_losses(
    undisturbed, tmp_path
):
    """Killed between checkpoints, while one is written, and at an epoch's
    end; each time the training goes on."""
    moments = [
        lambda folder: saved_step(folder) >= 3,
        lambda folder: (
            saved_step(folder) >= 6 and any(folder.glob(".last.*.new"))
        ),
        lambda folder: (folder / "epoch-001").exists(),
    ]
    for number, moment in enumerate(moments):
        process = Process(tmp_path, *(["--resume"] if number else []))
        status, _, _ = process.when(moment, signal.SIGKILL)
        assert status == -signal.SIGKILL
    status, _, err = Process(tmp_path, "--resume").end()
    assert status == 0, err
    folder = tmp_path / "grammar"
    assert step_records(folder) == step_records(undisturbed)
    assert (folder / "metrics.jsonl").read_text("utf-8") == (
        undisturbed / "metrics.jsonl"
    ).read_text("utf-8")
    for name in ("last", "average"):
        path = f"checkpoints/{name}/model.safetensors"
        assert (folder / path).read_bytes() == (
            undisturbed / path
        ).read_bytes()


def test_ctrl_c_saves_says_how_to_go_on_and_leaves_with_130(
    undisturbed, tmp_path
):
    process = Process(tmp_path)
    status, out, err = process.when(
        lambda folder: saved_step(folder) >= 3, signal.SIGINT
    )
    assert status == 130
    assert "--resume" in err and "saved" in err
    assert "Traceback" not in out + err
    done = saved_step(process.folder / "checkpoints")
    records = step_records(process.folder)
    assert len(records) == done
    assert records == step_records(undisturbed)[:done]


def test_the_installed_command_is_this_one():
    (entry,) = entry_points(group="console_scripts", name="transformer-course")
    assert entry.load() is main
