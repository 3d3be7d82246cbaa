"""The command line under hostile use: one line, status 1, nothing lost.

Each group is a cause. What is checked in the parts (files, settings,
checkpoints, folders of runs) has its tests there.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
import torch
from command_line import assert_error
from PIL import Image
from safetensors.torch import load, save
from tiny import SIZES, tiny_language_model, tiny_splits, tiny_transformer
from tiny_runs import tiny

from transformer_course import checkpoint, experiment
from transformer_course.bert_config import BertConfig, TextClassifierConfig
from transformer_course.cli.output import Results
from transformer_course.cli.training import threads_fail_once
from transformer_course.data.text import LONGEST_LINE
from transformer_course.errors import CourseError
from transformer_course.image_config import VisionConfig
from transformer_course.tokenizer import Tokenizer

MODELS = ("translator", "language-model", "classifier", "bert", "images")
LARGE = 3e38
"""A weight that is a number; what is computed with it is none."""


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """An untrained model of each kind, in a folder."""
    folder = tmp_path_factory.mktemp("models")
    text = tiny_splits().train
    cutter = Tokenizer.train([*text.src, *text.tgt], 100, "word", masked=True)
    sizes = SIZES | {"vocab_size": cutter.vocab_size, "max_length": 12}
    sizes |= {"n_layers": 1}
    about = {"corpus": "grammar", "src": "en", "tgt": "ja"}
    english = {"src": "en", "tgt": "en"}
    made = {
        "translator": (tiny_transformer(**sizes), about),
        "language-model": (tiny_language_model(**sizes), about),
        "classifier": (
            checkpoint.build(TextClassifierConfig(**sizes)),
            english | {"corpus": "sentence_polarity"},
        ),
        "bert": (
            checkpoint.build(BertConfig(**sizes)),
            english | {"corpus": "authors", "task": "pre_training"},
        ),
        "images": (
            checkpoint.build(
                VisionConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1)
            ),
            {"corpus": "digits"},
        ),
    }
    for name, (model, details) in made.items():
        its = None if name == "images" else cutter
        checkpoint.save(folder / name, model, its, details)
    return folder


@pytest.fixture
def here(models, tmp_path, monkeypatch) -> Path:
    """A folder to be in, with copies of the models, a text and an image."""
    for name in MODELS:
        shutil.copytree(models / name, tmp_path / name)
    (tmp_path / "text").write_text("red cat .\nold dog .\n")
    config = json.loads((tmp_path / "images/config.json").read_text())
    side = config["model"]["image_size"]
    Image.new("L", (side, side), 99).save(tmp_path / "image.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change(path: Path, **values) -> None:
    """Other values in a JSON file; ``model__d_ff`` is in an inner object."""
    content = json.loads(path.read_text("utf-8"))
    for name, value in values.items():
        *outer, last = name.split("__")
        place = content
        for key in outer:
            place = place[key]
        place[last] = value
    path.write_text(json.dumps(content), encoding="utf-8")


def forge(folder: Path, name: str, content: bytes, key: str) -> None:
    """Another file in a checkpoint, with its hash."""
    (folder / name).write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    change(folder / "config.json", **{key: sha256})


# --- paths ------------------------------------------------------------------


def test_a_model_is_found_from_inside_its_folder(run, here, stdin):
    os.chdir("translator")
    stdin(b"red cat .\n")
    status, out, err = run("translate", ".")
    assert (status, out.count("\n"), err) == (0, 1, "")


@pytest.mark.parametrize("name", ["x" * 300, "x/" * 2500, "猫" * 100])
def test_paths_that_cannot_be(run, here, name):
    assert_error(run("translate", name))
    assert_error(run("translate", "translator", name))
    assert_error(run("translate", "translator", "text", "--output", name))
    assert_error(run("train", "grammar", "--name", name.replace("/", "")))
    assert_error(run("train", "--like", name))


@contextlib.contextmanager
def as_nobody():
    """Without root's rights, if they are there."""
    before = os.geteuid()
    if not before:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="no users")
@pytest.mark.parametrize(
    "closed",
    [
        "text",
        "translator",
        "translator/config.json",
        "translator/model.safetensors",
        "translator/tokenizer.model",
    ],
)
def test_what_may_not_be_read_is_named(run, models, closed):
    with tempfile.TemporaryDirectory() as name:  # which nobody may enter
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(models / "translator", folder / "translator")
        (folder / "text").write_text("red cat .\n")
        command = "translate", folder / "translator", folder / "text"
        assert run(*command)[0] == 0  # and all is imported
        (folder / closed).chmod(0)
        with as_nobody():
            done = run(*command)
        (folder / closed).chmod(0o700)
    assert_error(done, closed.partition("/")[0], "Permission denied")


@pytest.mark.parametrize("place", ["text", "closed", "closed/inner"])
def test_a_place_where_no_run_can_be_is_told_at_once(run, here, place):
    (here / "closed").mkdir(mode=0o555)
    done = run("train", "grammar", "--output-dir", place)
    (here / "closed").chmod(0o755)
    assert_error(done, "nothing can be written", "--output-dir")


# --- standard input and output ----------------------------------------------


class Broken(io.StringIO):
    """A stream that nothing can be written to."""

    def write(self, text):
        raise OSError(28, "No space left on device")


class Late(Broken):
    """The same, found out when it is flushed."""

    write = io.StringIO.write

    def flush(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("stream", [Broken, Late])
@pytest.mark.parametrize(
    "command", ["data list", "--version", "translate translator text"]
)
def test_a_full_disk_behind_standard_output(
    run, here, monkeypatch, stream, command
):
    monkeypatch.setattr(sys, "stdout", stream())
    done = run(*command.split())
    assert_error(done, "standard output", "No space left on device")


@pytest.mark.parametrize("command", ["data list", "translate translator text"])
def test_a_standard_output_that_is_closed(run, here, monkeypatch, command):
    monkeypatch.setattr(sys, "stdout", None)
    assert_error(run(*command.split()), "standard output is closed")


def test_what_standard_output_cannot_encode():
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    with pytest.raises(CourseError, match="ascii.*UTF-8"):
        Results(ascii_only).write("赤い猫")


@pytest.mark.parametrize(
    "command", ["translate translator", "classify classifier", "fill bert"]
)
def test_a_standard_input_that_is_closed(run, here, monkeypatch, command):
    monkeypatch.setattr(sys, "stdin", None)
    assert_error(run(*command.split()), "standard input is closed")


SMALL = (
    *("train", "grammar", "--data.pieces", "word", "--train.epochs", 1),
    *("--model.d-model", 16, "--model.n-heads", 2, "--model.n-layers", 1),
)


@pytest.mark.parametrize("stream", [None, Broken(), Late()])
def test_a_training_that_cannot_tell_how_it_goes_goes_on(
    run, here, small_corpus, monkeypatch, stream
):
    monkeypatch.setattr(sys, "stderr", stream)
    status, out, _ = run(*SMALL)
    assert (status, out.count("\ndone: ")) == (0, 1)
    assert run(*SMALL)[0] == 1  # there is a run already
    assert run("nonsense")[0] == 2


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_a_thread_does_not_tell_of_a_full_disk_too(monkeypatch, error):
    """What is no fault of the disk's is a fault of the package."""
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)

    def fail():
        raise error

    with threads_fail_once():
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert bool(told) is (error is ValueError)
    assert threading.excepthook == told.append


def test_an_error_that_nobody_reads_has_its_status(here):
    """Not that of a buffer which cannot be written at the end."""
    code = "from transformer_course.cli import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        command = [sys.executable, "-c", code, "train", "grammar"]
        done = subprocess.run([*command, "--name", ".."], stderr=pipe)
    assert done.returncode == 1


def test_a_folder_that_is_gone(run, here):
    (here / "gone").mkdir()
    os.chdir("gone")
    (here / "gone").rmdir()
    assert_error(run("translate", here / "translator"), "is gone", "cd")
    os.chdir(here)


@pytest.mark.parametrize("columns", ["0", "1", "20", "x"])
def test_help_is_laid_out_for_any_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    status, out, _ = run("train", "grammar", "--help")
    assert status == 0 and "usage" in out


INTERRUPTED = """
import sys

class Interrupts:
    @staticmethod
    def find_spec(name, path, target=None):
        if name.startswith("transformer_course.cli.commands"):
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts)
from transformer_course.cli import main
main(["--version"])
"""


def test_ctrl_c_while_importing_is_one_word():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "stopped\n")


# --- numbers ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--alpha", ["1000", "-1000", "nan", "inf", "1e308"]),
        ("--beam-size", ["0", "-1", "201", "1000000", 10**30]),
        ("--n-best", ["-1", "6", 10**30]),
        ("--device", ["", "cpu:", "cpu:-1", "cpu:٣", "cuda:", "meta"]),
    ],
)
def test_numbers_that_no_search_can_use(run, here, option, values):
    for value in values:
        done = run("translate", "translator", "text", f"{option}={value}")
        name = option.strip("-").replace("-", "_")
        assert_error(done, name)
        if "beam" in option:
            assert "n_best" not in done[2]


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--temperature", ["nan", "inf", "0", "-1", "1e-40", "1e21"]),
        ("--top-p", ["nan", "0", "-0.0", "1.1", "inf"]),
        ("--top-k", ["-1"]),
        ("--seed", ["-1", 2**32, 10**30]),
        ("--count", ["0", 10**30]),
        ("--max-length", ["0", "-5", 10**30]),
    ],
)
def test_numbers_that_nothing_is_drawn_by(run, here, option, values):
    for value in values:
        done = run("generate", "translator", "red cat .", f"{option}={value}")
        assert_error(done, option.strip("-").replace("-", "_"))


@pytest.mark.parametrize("option", ["--top-p=1e-300", f"--top-k={10**30}"])
def test_extreme_numbers_that_mean_something(run, here, option):
    status, out, _ = run("generate", "translator", "red cat .", option)
    assert (status, out.count("\n")) == (0, 3)


@pytest.mark.parametrize("value", ["nan", "-1", "0", "inf", "1.1"])
def test_an_epsilon_that_stops_learning(run, here, value):
    done = run("train", "grammar", f"--train.epsilon={value}")
    assert_error(done, f"epsilon is {float(value)}")


@pytest.mark.parametrize("value", ["nan", "-1"])
def test_a_clip_that_is_no_number_is_not_called_negative(run, here, value):
    status, _, err = run("train", "grammar", f"--train.clip={value}")
    assert status == 1 and ("negative" in err) is (value == "-1")


BEYOND = [
    ("--model.d-model", 10**9),
    ("--model.d-ff", 10**12),
    ("--model.n-layers", 10**9),
    ("--model.max-length", 10**12),
    ("--model.vocab-size", 10**12),
    ("--model.d-model", 10**30),
    ("--train.epochs", 10**30),
    ("--train.seed", 10**30),
]


@pytest.mark.parametrize(("option", "value"), BEYOND)
def test_sizes_beyond_memory_are_one_line(
    run, here, small_corpus, option, value
):
    status, out, err = run("train", "grammar", option, value)
    *before, last = err.splitlines(keepends=True)
    assert_error((status, out, last))
    assert len(before) <= 1 and len(last) < 300
    assert not (here / "outputs").exists()


# --- predictions that are no numbers ----------------------------------------


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("translator", "translate translator text"),
        ("translator", "translate translator text --beam-size 1"),
        ("translator", "translate translator text --beam-size 1 --stream"),
        ("translator", "translate translator text --n-best 2"),
        ("translator", "generate translator red"),
        ("language-model", "generate language-model"),
        ("classifier", "classify classifier text"),
        ("bert", "fill bert [MASK]"),
        ("images", "classify images image.png"),
    ],
)
def test_predictions_that_are_no_numbers(run, here, name, command):
    folder = here / name
    tensors = load((folder / "model.safetensors").read_bytes())
    huge = {
        n: torch.full_like(t, LARGE) * (1 - 2 * (torch.rand(t.shape) < 0.5))
        for n, t in tensors.items()
    }
    forge(folder, "model.safetensors", save(huge), "weights_sha256")
    assert_error(run(*command.split()), "not numbers", "earlier checkpoint")


def test_weights_that_are_no_numbers(run, here):
    folder = here / "translator"
    tensors = load((folder / "model.safetensors").read_bytes())
    next(iter(tensors.values()))[0] = torch.nan
    forge(folder, "model.safetensors", save(tensors), "weights_sha256")
    assert_error(run("translate", folder, "text"), "not finite")


def test_divergence_with_one_pair(run, here, small_corpus):
    status, _, err = run(
        *("train", "grammar", "--data.train-pairs", 1, "--name", "new"),
        *("--train.peak-rate", "1e30", "--train.warmup", 1),
        *("--model.d-model", 16, "--model.n-heads", 2),
        *("--data.pieces", "word", "--train.epochs", 3),
    )
    errors = [line for line in err.splitlines() if "error: " in line]
    assert status == 1 and len(errors) == 1 and "diverged" in errors[0]


# --- stored values of other types -------------------------------------------

OTHERS = [5, "x", [], {}, None, 10**400]


@pytest.mark.parametrize(
    "name",
    [
        "format",
        "kind",
        "model",
        "details",
        "weights_sha256",
        "tokenizer_sha256",
        "model__n_layers",
        "model__d_model",
        "model__dropout",
        "model__position",
        "details__corpus",
        "details__src",
        "details__tgt",
        "details__files",
        "details__sha256",
    ],
)
def test_a_config_with_values_of_other_types(run, here, name):
    kept = (here / "translator/config.json").read_bytes()
    for value in OTHERS:
        (here / "translator/config.json").write_bytes(kept)
        change(here / "translator/config.json", **{name: value})
        if (name, value) in FITTING:
            continue
        assert_error(run("translate", "translator", "text"))


FITTING = [
    ("model__dropout", 0),
    ("details", {}),
    ("details__files", None),
    ("details__sha256", None),
]


@pytest.fixture
def copied(finished, tmp_path, monkeypatch) -> Path:
    """A copy of a finished run, in a folder to be in."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(finished, tmp_path / "outputs" / "tiny")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        "[" * 100_000,
        '{"kind": 5}',
        '{"kind": "epoch", "quality": "x"}',
        '{"kind": "average", "quality": {}}',
        '{"kind": "epoch", "dev_nll": [1]}',
        "\0" * 100,
    ],
    ids=lambda content: content[:20],
)
def test_damaged_metrics_do_not_hide_a_model(run, copied, content):
    (copied / "metrics.jsonl").write_text(content + "\n")
    (copied.parent / "text").write_text("red cat .\n")
    status, out, err = run("translate", copied, copied.parent / "text")
    assert (status, out.count("\n")) == (0, 1)
    assert err.startswith("using ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", "x"),
        ("step", -5),
        ("epoch", None),
        ("batch", "x"),
        ("sums", [1]),
        ("sums", ["x"] * 4),
        ("sums", [10**400] * 4),
        ("sums", [math.nan] * 4),
        ("best", -math.inf),
        ("best", "x"),
        ("extra", 1),
        ("", {}),
    ],
)
def test_a_resume_state_of_other_values(copied, small_corpus, name, value):
    """With its right hash: only what is in it is wrong."""
    last = copied / "checkpoints/last"
    values = json.loads((last / "resume.json").read_text())
    values = values | {name: value} if name else value
    text = json.dumps(values).encode()
    forge(last, "resume.json", text, "resume_values_sha256")
    kept = (copied / "metrics.jsonl").read_bytes()
    with pytest.raises(CourseError, match="resume state is damaged"):
        experiment.run(tiny(epochs=4), copied.parent, resume=True, quiet=True)
    assert (copied / "metrics.jsonl").read_bytes() == kept


@pytest.mark.parametrize("kept", ["rng", "rng and step"])
def test_a_resume_state_without_adams_moments(copied, small_corpus, kept):
    last = copied / "checkpoints/last"
    tensors = load((last / "resume.safetensors").read_bytes())
    fewer = {n: t for n, t in tensors.items() if n.split(".")[0] in kept}
    if "step" in kept:
        fewer |= {n: t for n, t in tensors.items() if ".step." in n}
    forge(last, "resume.safetensors", save(fewer), "resume_sha256")
    with pytest.raises(CourseError, match=r"moments.*missing"):
        experiment.run(tiny(epochs=4), copied.parent, resume=True, quiet=True)


def test_a_last_checkpoint_of_another_run(copied, small_corpus):
    """Of other sizes; of the same ones, its tokenizer tells."""
    wider = dataclasses.replace(tiny().model, d_ff=64)
    other = dataclasses.replace(tiny(), name="other", model=wider)
    made = experiment.run(other, copied.parent, quiet=True)
    shutil.rmtree(copied / "checkpoints/last")
    shutil.copytree(made / "checkpoints/last", copied / "checkpoints/last")
    with pytest.raises(CourseError, match="do not fit the model"):
        experiment.run(tiny(epochs=4), copied.parent, resume=True, quiet=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data", 5),
        ("model", None),
        ("train", "x"),
        ("task", []),
        ("name", 5),
        ("data__corpus", []),
        ("data__files", 5),
        ("train__epochs", "x"),
        ("train__device", 5),
        ("model__n_layers", "x"),
    ],
)
def test_settings_of_a_run_of_other_types(run, copied, name, value):
    change(copied / "experiment.json", **{name: value})
    assert_error(run("train", "--like", copied, "--name", "new"))
    with pytest.raises(CourseError, match=r"experiment\.json"):
        experiment.run(tiny(epochs=4), copied.parent, resume=True, quiet=True)


# --- memory, and what never ends --------------------------------------------


class Endless(io.RawIOBase):
    """Bytes without end and without a line feed, which are counted."""

    given = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = bytes(len(buffer))
        self.given += len(buffer)
        return len(buffer)


@pytest.mark.parametrize(
    "command", ["translate translator", "classify classifier", "fill bert"]
)
def test_a_text_without_end_is_read_a_line_at_a_time(
    run, here, monkeypatch, command
):
    source = Endless()
    text = io.TextIOWrapper(io.BufferedReader(source), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", text)
    done = run(*command.split())
    assert_error(done, "line 1 of standard input", "Split it into sentences")
    assert source.given < 2 * LONGEST_LINE


@pytest.mark.parametrize(
    "command",
    [
        "translate translator long",
        "classify classifier long",
        "score-files long text",
        "train grammar --data.spaced --data.files long text",
    ],
)
def test_a_line_of_ten_megabytes(run, here, command):
    (here / "long").write_bytes(b"red cat " * 1_300_000)
    status, out, err = run(*command.split())
    assert_error((status, out, err.splitlines(keepends=True)[-1]), "line 1")


def pipe_without_a_writer(path: Path) -> None:
    """Whoever opens it to read waits for ever."""
    path.unlink()
    os.mkfifo(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("image.png", "classify images image.png"),
        ("image.png", "classify images image.png --fit"),
        ("translator/model.safetensors", "translate translator text"),
        ("translator/tokenizer.model", "translate translator text"),
        ("text", "train grammar --data.files text text"),
    ],
)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(run, here, name, command):
    pipe_without_a_writer(here / name)
    assert_error(run(*command.split()), name)


def test_what_a_library_says_of_an_image_is_not_told(run, here, recwarn):
    """Here: that what a camera has noted is damaged."""
    Image.new("RGB", (9, 7)).save(here / "photo.jpg")
    content = (here / "photo.jpg").read_bytes()
    noted = b"\xff\xe1\x00\x10Exif\0\0MM\0*\xff\xff\xff\xff"
    (here / "photo.jpg").write_bytes(content[:2] + noted + content[2:])
    status, out, err = run("classify", "images", "photo.jpg", "--fit")
    assert (status, out.count("\n"), err) == (0, 1, "")
    assert not recwarn.list


# --- advice -----------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS[1:])
def test_what_does_not_translate_says_what_it_is_for(run, here, name):
    """And the advice can be typed as it stands, spaces and all."""
    folder = (here / name).rename(here / f"my {name}")
    status, out, err = run("translate", folder, "text")
    assert_error((status, out, err))
    if name != "images":  # which stands beside a command that takes both
        verb = {"language-model": "generate", "classifier": "classify"}
        assert f"{verb.get(name, 'fill')} '{folder}'" in err


@pytest.mark.parametrize(
    ("pieces", "size"),
    [
        ("unigram", 5),
        ("unigram", 100_000),
        ("bpe", 5),
        ("bpe", 100_000),
        ("word", 4),
        ("char", 2),
    ],
)
def test_a_vocabulary_that_cannot_be_names_no_option_of_others(
    run, here, small_corpus, size, pieces
):
    status, _, err = run(
        *("train", "grammar", "--model.vocab-size", size, "--name", "new"),
        *("--data.pieces", pieces, "--train.epochs", 1),
        *("--model.d-model", 16, "--model.n-heads", 2),
    )
    last = err.splitlines()[-1]
    assert status == 1 and last.startswith("error: no ")
    assert ("they need at least" if size < 10 else "at the most") in last
    assert "--character_coverage" not in err and "vocab_size" in last


def test_a_file_that_is_missing_is_told_in_whole_sentences(run, here):
    (here / "translator/model.safetensors").unlink()
    done = run("translate", "translator", "text")
    assert_error(done, "model.safetensors is missing")
    assert ".:" not in done[2]
