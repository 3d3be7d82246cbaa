"""Laws of the models that chapters share: trained once, and kept."""

import multiprocessing
import os
from pathlib import Path

import pytest
import torch
from tiny_runs import other as with_data
from tiny_runs import own_files, tiny

from transformer_course.experiment import shared, trained

pytestmark = pytest.mark.usefixtures("small_corpus")


def test_a_chapters_model_is_trained_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    first = trained(tiny(epochs=1))
    monkeypatch.setattr(shared, "run", None)  # a second would fail
    again = trained(tiny(epochs=1))
    for one, other in zip(
        first.model.parameters(), again.model.parameters(), strict=True
    ):
        assert torch.equal(one, other)
    assert not again.model.training


# --- the key ----------------------------------------------------------------

PACKAGE = "transformer_course"
START = f"{PACKAGE}.experiment.training"


def changed(monkeypatch, tmp_path: Path, module: str, edit) -> None:
    """A module's source as ``edit`` makes it, in a copy."""
    path, copy = shared._path, tmp_path / "copy.py"
    text = path(module).read_text("utf-8")
    assert edit(text) != text
    copy.write_text(edit(text), "utf-8")
    monkeypatch.setattr(
        shared, "_path", lambda name: copy if name == module else path(name)
    )


anew = shared.fingerprint.__wrapped__
"""The hash of a module and of all that it imports, not remembered."""


@pytest.mark.parametrize("module", ["attention", "data.grammar.lexicon"])
def test_a_change_to_code_that_training_imports_changes_the_key(
    tmp_path, monkeypatch, module
):
    key = shared._key(tiny())
    name = f"{PACKAGE}.{module}"
    changed(monkeypatch, tmp_path, name, lambda text: text + "\nMORE = 1\n")
    monkeypatch.setattr(shared, "fingerprint", anew)
    assert shared._key(tiny()) != key


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "\n# a remark\n",
        lambda text: text.replace('"""', '"""In other words. ', 1),
        lambda text: text.replace("\n\n\n", "\n\n\n\n"),
        lambda text: text.replace("Raises:", "It may raise:"),
    ],
    ids=["comment", "docstring", "layout", "docstrings"],
)
def test_words_about_the_code_do_not(tmp_path, monkeypatch, edit):
    name = f"{PACKAGE}.tokenizer"
    before = anew(name)
    changed(monkeypatch, tmp_path, name, edit)
    assert anew(name) == before


def test_code_that_no_training_needs_does_not(tmp_path, monkeypatch):
    name = f"{PACKAGE}.viz"
    changed(monkeypatch, tmp_path, name, lambda text: text + "\nMORE = 1\n")
    assert anew(START) == shared.fingerprint(START)


def test_settings_kind_of_model_and_torch_are_in_the_key(monkeypatch):
    keys = {
        shared._key(settings)
        for settings in (tiny(), tiny(seed=1), tiny("gru"), tiny("learned"))
    }
    monkeypatch.setattr(torch, "__version__", "0.1")
    assert len({*keys, shared._key(tiny())}) == 5


def test_the_text_of_two_files_is_in_the_key(tmp_path):
    settings = with_data(tiny(), **own_files(tmp_path))
    key = shared._key(settings)
    with Path(settings.data.files[0]).open("a") as file:
        file.write("\n")
    assert shared._key(settings) != key


# --- several at once --------------------------------------------------------


def want(place: Path) -> None:
    """Ask for the model; each training leaves a line."""
    torch.set_num_threads(1)
    train = shared.run

    def noted(*args, **kwargs):
        with (place / "trainings").open("a") as file:
            file.write("one\n")
        return train(*args, **kwargs)

    shared.run = noted
    found = trained(tiny(epochs=1))
    (place / f"weights-{os.getpid()}").write_text(
        repr([p.sum().item() for p in found.model.parameters()]), "utf-8"
    )


@pytest.mark.skipif(os.name == "nt", reason="there are no locks on Windows")
def test_of_two_that_want_one_model_one_trains_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    fork = multiprocessing.get_context("fork")
    two = [fork.Process(target=want, args=(tmp_path,)) for _ in range(2)]
    for process in two:
        process.start()
    for process in two:
        process.join(300)
    assert [process.exitcode for process in two] == [0, 0]
    assert (tmp_path / "trainings").read_text("utf-8") == "one\n"
    had = {path.read_text("utf-8") for path in tmp_path.glob("weights-*")}
    assert len(list(tmp_path.glob("weights-*"))) == 2 and len(had) == 1
