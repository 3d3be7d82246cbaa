"""Laws of ``train`` at the command line: refused at once, or made whole."""

import json
import shutil
import threading
import time
import traceback
from pathlib import Path

import pytest
import torch
from command_line import assert_error
from tiny_runs import assert_same_runs, in_a_process, losses

import transformer_course
from experiments import store
from transformer_course.cli import main
from transformer_course.data.grammar import grammar_pairs, parallel_text
from transformer_course.errors import Interrupted
from transformer_course.models.transformer import Transformer
from transformer_course.training.run import training

PACKAGE = str(Path(transformer_course.__file__).parent)
SIZES = ("--model.d-model", 16, "--model.n-heads", 2, "--model.n-layers", 1)
SMALL = (
    *(*SIZES, "--data.pieces", "word", "--train.device", "cpu"),
    *("--model.position", "learned", "--model.max-length", 8),
)
"""Learned positions end: what an untrained model writes is short."""


def assert_told(result, *words):
    """One line that says these, behind what was told of the preparation."""
    status, out, err = result
    *before, last = err.splitlines(keepends=True)
    assert_error((status, out, last), *words)
    assert len(last) < 400
    return before


# --- from the command to the model ------------------------------------------


def test_few_frames_lie_between_the_command_and_the_model(
    small_corpus, tmp_path, monkeypatch
):
    """In the first training step; nn.Module's and tyro's are not counted."""

    class Reached(Exception):
        pass

    def forward(self, src, tgt_in):
        frames = traceback.extract_stack()[:-1]
        names = [f.name for f in frames if f.filename.startswith(PACKAGE)]
        raise Reached(" ".join(names))

    monkeypatch.setattr(Transformer, "forward", forward)
    arguments = ["train", "grammar", *SMALL, "--output-dir", tmp_path]
    with pytest.raises(Reached) as reached:
        main([str(a) for a in arguments])
    names = "main train run fit train_step chunked_loss"
    assert str(reached.value) == names


# --- refused before it begins -----------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model.d-model", "30"], "d_model 30 cannot be split over 4"),
        (["--data.pieces", "bpe", "--model.vocab-size", "5"], "at least"),
        (["--model.pad-id", "5"], "pad_id is 5"),
        (["--data.token-budget", "4"], "token_budget 4"),
        (["--data.corpus", "nonsense"], "no corpus 'nonsense'"),
        (["--data.corpus", "haiku"], "nothing for the task translation"),
        (["--name", ".."], "name is '..'"),
        (["--resume"], "no run in"),
    ],
)
def test_settings_that_cannot_work_are_one_line(
    run, tmp_path, small_corpus, arguments, words
):
    given = ("train", "grammar", "--output-dir", tmp_path / "out", *arguments)
    before = assert_told(run(*given), words)
    assert all("preparing" in line for line in before)
    assert not (tmp_path / "out").exists()


def test_a_training_that_diverges_says_so_in_one_line(
    run, tmp_path, small_corpus
):
    status, _, err = run(
        *("train", "grammar", *SMALL, "--output-dir", tmp_path),
        *("--data.train-pairs", 1, "--train.epochs", 3),
        *("--train.peak-rate", "1e30", "--train.warmup", 1),
    )
    errors = [line for line in err.splitlines() if "error: " in line]
    assert status == 1 and len(errors) == 1 and "diverged" in errors[0]


# --- a run once more --------------------------------------------------------


def test_a_run_is_repeated_with_its_settings(run, tmp_path, small_corpus):
    out = ["--output-dir", tmp_path]
    more = ("--train.epochs", "1", "--train.seed", "3")
    assert run("train", "grammar", *out, *SMALL, *more)[0] == 0
    first = tmp_path / "grammar"
    like = ["train", "--like", first, *out]
    assert_error(run(*like), "holds a run already")
    assert run(*like, "--name", "again")[0] == 0
    assert losses(first) == losses(tmp_path / "again") != []
    run(*like, f"--like={first}", "--name", "changed", "--train.seed", "4")
    about = (tmp_path / "changed" / "experiment.json").read_text("utf-8")
    settings = json.loads(about)
    assert settings["train"]["seed"] == 4
    assert settings["model"]["d_model"] == 16


def test_what_train_has_not_made_is_not_repeated(run):
    result = run("train", "--like", store.folder("failures"))
    assert_error(result, str(store.folder("failures")), "train")


# --- two files of one's own -------------------------------------------------

OWN = (
    *("train", "grammar", "--data.files", "a.en", "b.ja", "--data.spaced"),
    *(*SIZES, "--train.device", "cpu", "--model.max-length", 30),
    *("--model.position", "learned"),
)


@pytest.fixture(scope="module")
def trained_on_files(tmp_path_factory):
    """A folder with two files and a run of one epoch on them."""
    folder = tmp_path_factory.mktemp("own")
    text = parallel_text(grammar_pairs(300, seed=3))
    for name, lines in (("a.en", text.src), ("b.ja", text.tgt)):
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
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


def test_two_files_are_trained_on_and_the_run_is_used(run, own, stdin):
    status, out, err = run(*OWN, "--name", "whole", "--train.epochs", 2)
    assert status == 0 and "Try: transformer-course translate" in out
    split = "a.en and b.ja: 270 pairs to learn from, 15 to choose "
    assert f"\n{split}" in f"\n{err}"
    goes_on = (*OWN, "--name", "own", "--train.epochs", 2, "--resume")
    status, out, err = run(*goes_on)
    assert status == 0 and split in err
    folders = [own / "outputs" / name for name in ("whole", "own")]
    assert losses(folders[0]) == losses(folders[1]) != []
    stdin(b"The dog is old.\n")
    status, out, _ = run("translate", folders[1])
    assert (status, out.count("\n")) == (0, 1)
    status, out, err = run("score", folders[1])
    assert status == 0 and "on a.en and b.ja, test: beam 5" in out
    assert "all 15 sentences" in out and split in err


def test_a_changed_file_is_refused_by_all_that_read_it(run, own):
    with (own / "b.ja").open("a", encoding="utf-8") as file:
        file.write("\n")
    for command in (
        (*OWN, "--name", "own", "--train.epochs", 2, "--resume"),
        ("train", "--like", "outputs/own", "--name", "again"),
        ("score", "outputs/own"),
    ):
        assert_told(run(*command), "b.ja is not what was learned", "sha256")
    assert not (own / "outputs" / "again").exists()


def test_a_model_is_scored_on_its_files_where_they_stand_now(run, own):
    plain = run("score", "outputs/own")[1]
    (own / "a.en").rename("c.en")
    assert_told(run("score", "outputs/own"), "'a.en' cannot be read")
    moved = ("score", "outputs/own", "--files", "c.en", "b.ja")
    status, out, _ = run(*moved)
    assert status == 0 and out == plain.replace("a.en", "c.en")
    assert_told(run(*moved, "--output", "b.ja"), "would be overwritten")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.en", "none.ja"], "'none.ja' cannot be read"),
        (["a.en", "cp932.ja"], "cp932.ja is not UTF-8: line 1"),
        (["b.ja", "a.en"], "b.ja is to be in 'en'"),
        (["a.en", "b.ja", "--data.no-spaced"], "pieces are words"),
        (["a.en", "b.ja", "--data.tgt", "日本語"], "tgt is '日本語'"),
        (["a.en", "b.ja", "--data.tgt", "en"], "src and tgt are both 'en'"),
        (["a.en", "b.ja", "--task", "next_sentence"], "reads one text"),
    ],
)
def test_files_that_cannot_be_learned_from_are_one_line(
    run, own, arguments, words
):
    text = (own / "b.ja").read_text("utf-8")
    (own / "cp932.ja").write_bytes(text.encode("cp932"))
    files = ("--data.files", *arguments, "--name", "new")
    before = assert_told(run(*OWN[:2], *OWN[5:], *files), words)
    assert all("preparing" in line for line in before)
    assert not (own / "outputs" / "new").exists()


# --- stopped ----------------------------------------------------------------

TRAIN = (
    *(*OWN, "--name", "run", "--data.token-budget", 256, "--model.d-ff", 32),
    *("--model.dropout", 0.2, "--train.epochs", 2, "--train.save-every", 3),
    *("--train.warmup", 20, "--train.average-last", 2),
)


@pytest.fixture(scope="module")
def one_thread():
    """With more, sums are rounded in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def undisturbed(trained_on_files, one_thread):
    """A run of two epochs on those files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(trained_on_files)
        main([*map(str, TRAIN), "--output-dir", "undisturbed"])
    return trained_on_files / "undisturbed" / "run"


def test_a_training_that_is_stopped_leaves_with_130(run, monkeypatch):
    def stopped(*_, **__):
        raise Interrupted("saved. Go on with --resume.")

    monkeypatch.setattr(training, "run", stopped)
    told = "saved. Go on with --resume.\n"
    assert run("train", "grammar") == (130, "", told)


def killed_when(moment, *more: str) -> None:
    """Train in a process of its own, and kill it as soon as it is so far."""
    process = in_a_process(main, [*map(str, TRAIN), *more])
    patience = threading.Timer(300, process.kill)  # seconds
    patience.start()
    while not moment(Path("outputs", "run", "checkpoints")):
        assert process.is_alive()
        time.sleep(0.001)
    patience.cancel()
    process.kill()
    process.join()


def test_kill_9_does_not_change_the_losses(run, undisturbed, own):
    """While a checkpoint is written, and at an epoch's end."""
    killed_when(
        lambda folder: (
            (folder / "last").exists() and any(folder.glob(".last.new"))
        )
    )
    killed_when(lambda folder: (folder / "epoch-001").exists(), "--resume")
    assert run(*TRAIN, "--resume")[0] == 0
    assert_same_runs(own / "outputs" / "run", undisturbed)
