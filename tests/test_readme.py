"""The README's commands, run in order, with tiny corpora and models.

``tests/test_commands.py`` parses them as they stand, so that a long training
is checked too, and makes a dry run of the targets of ``make``.
"""

import dataclasses
import hashlib
import re
import shlex

import pytest
import torch
from built_book import ROOT
from PIL import Image
from test_commands import commands_in
from tiny import tiny_corpus, tiny_labels, tiny_pairs, tiny_splits
from tiny_bert import without_heads
from tiny_runs import tiny_library

from course_exercises.path.file import begin
from transformer_course.checkpoints import pretrained
from transformer_course.data import download
from transformer_course.data.corpora import CORPORA
from transformer_course.data.download import CorpusFile, ManifestEntry
from transformer_course.data.text import ParallelText, Splits

ENGLISH, JAPANESE = (
    (ROOT / name).read_text("utf-8") for name in ("README.md", "README.ja.md")
)
ECHO = re.compile(r'echo "(.*?)" \| (?:\.venv/bin/)?(transformer-course .*)')
TINY = ["--train.epochs=2", "--train.device=cpu", "--model.d-model=16"]
CHARACTERS = "--data.pieces=char"
TRANSFORMER = ["--model.n-heads=2", "--model.d-ff=32", "--model.n-layers=1"]


def japanese_splits() -> Splits:
    """Sentences of three Japanese words, each with itself."""
    splits = tiny_splits()
    parts = splits.train.tgt, splits.dev.tgt, splits.test.tgt
    return Splits(*(ParallelText(part, part) for part in parts))


@pytest.fixture
def corpora(monkeypatch, tmp_path):
    """Tiny corpora under the names that the README uses."""
    for name in ("grammar", "small_parallel_enja"):
        tiny_corpus(monkeypatch, name)
    tiny_labels(monkeypatch, "sentence_polarity")
    published = without_heads(tmp_path / "published", "red cat old dog .")
    monkeypatch.setattr(pretrained, "minilm_folder", lambda: published)
    for name, change in (
        ("soseki", {"pairs": japanese_splits, "texts": japanese_splits}),
        ("authors", {"works": tiny_library}),
    ):
        corpus = dataclasses.replace(CORPORA[name], **change)
        monkeypatch.setitem(CORPORA, name, corpus)


@pytest.fixture
def mirror(monkeypatch, tmp_path):
    """A mirror with a file of small_parallel_enja, and an empty cache."""
    text = b"red cat .\n"
    file = CorpusFile(
        "train.en", "", hashlib.sha256(text).hexdigest(), len(text)
    )
    entry = ManifestEntry("small_parallel_enja", "free", "Pairs", (file,))
    monkeypatch.setattr(download, "entries", lambda: {entry.name: entry})
    for name in ("mirror", "cache"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(
            f"TRANSFORMER_COURSE_{name.upper()}", str(tmp_path / name)
        )
    (tmp_path / "mirror" / file.file).write_bytes(text)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A working folder with the files that the commands name."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    text = tiny_pairs(100)
    for name, lines in (
        ("my.en", text.src),
        ("my.ja", text.tgt),
        ("test.en", text.src[:2]),
        ("test.ja", text.tgt[:2]),
        ("texts.tsv", [f"{line}\t{len(line) % 2}" for line in text.src]),
    ):
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    begin(tmp_path / "my_transformer.py")
    Image.new("L", (8, 8), 99).save(tmp_path / "FILE", "png")
    monkeypatch.chdir(tmp_path)


def test_both_readmes_have_the_same_commands():
    assert set(commands_in(ENGLISH)) == set(commands_in(JAPANESE))


def test_the_commands_run(run, stdin, corpora, mirror, folder):
    torch.manual_seed(0)
    piped = {command: text for text, command in ECHO.findall(ENGLISH)}
    train_gru = ["train", "enja-gru", *TINY, CHARACTERS, "--model.d-hidden=16"]
    assert run(*train_gru)[0] == 0  # for --with
    commands = [
        command
        for command in commands_in(ENGLISH)
        if not command.startswith("make")
        and "smollm2" not in command  # a package that may be missing
        and " watch " not in command  # needs the built book: tests/browser
    ]
    assert len(commands) > 25 and len(piped) >= 4
    for command in sorted(commands, key=runs_before):
        args = shlex.split(command)[1:]
        if args[0] == "train":
            args += TINY if "--from" in args else [*TINY, *TRANSFORMER]
            args += [] if "digits-vit" in command else [CHARACTERS]
        stdin(piped.get(command, "red cat .").encode())
        status, out, err = run(*args)
        assert status == 0, f"{command}: {err}"
        if args[0] in ("translate", "classify", "fill", "similar", "score"):
            assert out or "--output" in args, command


def runs_before(command: str) -> bool:
    """Trainings come first."""
    return "transformer-course train " not in command
