"""Laws of the models that a chapter trains: once, then they are kept."""

import dataclasses
import multiprocessing
import os
from pathlib import Path

import pytest
import torch
from tiny_runs import other as with_data
from tiny_runs import own_files, tiny

from transformer_course.training import shared
from transformer_course.training.presets import PRESETS
from transformer_course.training.shared import trained


@pytest.mark.usefixtures("small_corpus")
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


def test_of_each_experiment_the_last_two_are_kept(tmp_path, monkeypatch):
    made = []

    def train_into(final, _):
        final.mkdir(parents=True)
        made.append(final.name)
        os.utime(final, (len(made), len(made)))

    monkeypatch.setenv("TRANSFORMER_COURSE_CACHE", str(tmp_path))
    monkeypatch.setattr(shared, "_train_into", train_into)
    monkeypatch.setattr(shared.checkpoint, "load", lambda *_: None)
    longer = dataclasses.replace(tiny(), name="tiny-lm")
    for experiment in (longer, tiny(seed=1), tiny(seed=2), tiny(seed=3)):
        trained(experiment)
    trained(tiny(seed=2))  # is there still
    kept = {path.name for path in (tmp_path / "runs").glob("tiny-*")}
    assert kept == {made[0], *made[2:]} and len(made) == 4


# --- the key ----------------------------------------------------------------


@pytest.fixture
def edited(monkeypatch):
    """Lets a module's source be another one."""
    read = shared._source

    def edit(module: str, change=lambda text: f"{text}\nMORE = 1\n") -> None:
        path = shared.PACKAGE / f"{module.replace('.', '/')}.py"
        changed = change(read(path))
        assert changed != read(path)
        monkeypatch.setattr(
            shared, "_source", lambda p: changed if p == path else read(p)
        )

    return edit


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("grammar", "models.attention"),
        ("grammar", "models.transformer"),
        ("grammar", "training.loop"),
        ("grammar", "training.tasks.writing"),
        ("grammar", "data.grammar.lexicon"),
        ("grammar", "training.run.prepare"),
        ("digits-vit", "models.vit"),
        ("enja-gru", "models.recurrent"),
    ],
)
def test_a_change_to_code_that_makes_the_model_changes_the_key(
    edited, name, module
):
    before = shared._key(PRESETS[name])
    edited(module)
    assert shared._key(PRESETS[name]) != before


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("grammar", "models.vit"),
        ("grammar", "models.bert"),
        ("grammar", "interpretation.viz"),
    ],
)
def test_a_change_to_other_code_does_not(edited, name, module):
    before = shared._key(PRESETS[name])
    edited(module)
    assert shared._key(PRESETS[name]) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "\n# a remark\n",
        lambda text: text.replace('"""', '"""In other words. ', 1),
        lambda text: text.replace("\n\n\n", "\n\n\n\n"),
        lambda text: text.replace("Raises:", "It may raise:"),
    ],
    ids=["comment", "docstring", "layout", "docstrings"],
)
def test_words_about_the_code_do_not(edited, change):
    before = shared._key(PRESETS["grammar"])
    edited("training.loop", change)
    assert shared._key(PRESETS["grammar"]) == before


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


@pytest.mark.usefixtures("small_corpus")
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
