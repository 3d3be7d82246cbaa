"""Models that are called by a name, and how one is made to be shipped."""

import pytest
import torch
from command_line import assert_error
from tiny import (
    decided,
    tiny_language_model,
    tiny_splits,
    tiny_transformer,
)

from transformer_course.checkpoints import checkpoint, shipped
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.decoding import search

DETAILS = {"corpus": "grammar", "src": "en", "tgt": "ja"}
TEXT = "red cat\nold dog .\n"


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """The translator has learned nothing, and would not end by itself."""
    monkeypatch.setattr(search, "EXTRA_LENGTH", 4)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A translator that has decided what it writes."""
    splits = tiny_splits()
    lines = [*splits.train.src, *splits.train.tgt]
    tokenizer = Tokenizer.train(lines, 100, "word")
    sizes = {"vocab_size": tokenizer.vocab_size, "max_length": 12}
    made = tiny_transformer(tied=False, **sizes)
    folder = tmp_path_factory.mktemp("models") / "translator"
    checkpoint.save(folder, decided(made), tokenizer, DETAILS)
    return folder


@pytest.fixture
def repository(tmp_path, model, monkeypatch, run):
    """One in which a model lies under the name en-xx."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "models")
    status, _, _ = run("export", model, tmp_path / "models" / "en-xx")
    assert status == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return tmp_path


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.en"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_name_does_from_any_folder(run, repository, model, file):
    status, out, err = run("translate", "en-xx", file)
    assert status == 0
    assert out == run("translate", model, file)[1]
    assert f"using {repository / 'models' / 'en-xx'}" in err


def test_a_path_wins_over_a_name(run, repository, file):
    (repository / "elsewhere" / "en-xx").mkdir()
    assert_error(run("translate", "en-xx", file), "no checkpoint in en-xx")


def test_a_wrong_name_is_told_the_right_ones(run, repository, file):
    result = run("translate", "en-yy", file)
    assert_error(result, "en-yy", "come with the course: en-xx")


@pytest.mark.parametrize("name", ["..", "../en-xx", "a/../en-xx", ""])
def test_only_names_are_names(repository, name):
    assert shipped.find(shipped.Path(name)) is None


def test_what_is_exported_is_the_model_without_its_training(
    run, tmp_path, model
):
    found = checkpoint.load(model)
    trained = tmp_path / "trained"
    state = checkpoint.Resume({"moment": torch.ones(3)}, {"step": 7})
    checkpoint.save(trained, found.model, found.tokenizer, DETAILS, state)
    status, out, err = run("export", trained, tmp_path / "small")
    assert (status, out) == (0, "")
    assert "MB" in err
    small = checkpoint.load(tmp_path / "small")
    assert small.resume is None
    assert small.details == DETAILS
    assert small.tokenizer.sha256 == found.tokenizer.sha256


def test_nothing_is_written_over(run, tmp_path, model):
    place = tmp_path / "there"
    place.mkdir()
    assert_error(run("export", model, place), "there already", "new folder")
    assert list(place.iterdir()) == []


# --- the length penalty that a model was exported with -----------------------


@pytest.fixture
def longer(run, tmp_path, model):
    """The translator, exported with a length penalty of its own."""
    folder = tmp_path / "longer"
    assert run("export", model, folder, "--alpha", "1.8")[0] == 0
    return folder


def scores(run, folder, file, *options):
    """What ranks the translations: log-probability over length penalty."""
    status, out, _ = run("translate", folder, file, "--n-best", "2", *options)
    assert status == 0
    return [float(line.split("\t")[2]) for line in out.splitlines()]


def test_a_model_keeps_its_length_penalty(run, model, longer, file):
    kept = scores(run, longer, file)
    assert kept == scores(run, longer, file, "--alpha", "1.8")
    assert kept == pytest.approx(
        scores(run, model, file, "--alpha", "1.8"), abs=0.05
    )
    assert kept != pytest.approx(scores(run, longer, file, "--alpha", "0.6"))


def test_score_says_which_length_penalty_was_kept(run, longer, small_corpus):
    status, out, _ = run("score", longer)
    assert status == 0 and "alpha 1.8" in out
    assert "alpha 0.2" in run("score", longer, "--alpha", "0.2")[1]


def test_what_is_no_length_penalty_is_not_kept(run, tmp_path, model):
    result = run("export", model, tmp_path / "small", "--alpha", "11")
    assert_error(result, "alpha is 11")
    assert not (tmp_path / "small").exists()


def test_only_a_translator_has_a_length_penalty(run, tmp_path):
    folder = tmp_path / "writer"
    details = {"task": "language_modelling", "corpus": "soseki-cpu"}
    checkpoint.save(folder, tiny_language_model(), None, details)
    result = run("export", folder, tmp_path / "small", "--alpha", "1")
    assert_error(result, "--alpha 1.0", "language modelling")
