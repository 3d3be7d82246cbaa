"""Laws of checkpoints: save → load is the identity; all or nothing."""

import contextlib
import errno
import json
import os
import pickle
import shutil

import pytest
import safetensors.torch
import torch
from tiny import VOCAB, random_ids, tiny_gru, tiny_transformer, with_bos

from transformer_course import checkpoint
from transformer_course.checkpoint import Resume
from transformer_course.errors import CheckpointError, CourseError
from transformer_course.tokenizer import Tokenizer

MODELS = {
    "tied": lambda: tiny_transformer(seed=1),
    "untied": lambda: tiny_transformer(seed=1, tied=False, bias=True),
    "pre-norm": lambda: tiny_transformer(seed=1, norm_first=True),
    "learned": lambda: tiny_transformer(seed=1, position="learned"),
    "decoder-only": lambda: tiny_transformer(seed=1, decoder_only=True),
    "gru": lambda: tiny_gru(seed=1),
}
LINES = ["a b c d e f g", "h i j k l m n", "a c e g i k m"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(LINES, 30, "word")


@pytest.fixture
def saved(tmp_path, tokenizer):
    """A whole checkpoint with all that one can hold."""
    resume = Resume({"moment": torch.ones(3)}, {"step": 7, "best": None})
    folder = tmp_path / "model"
    checkpoint.save(folder, MODELS["tied"](), tokenizer, {"src": "en"}, resume)
    return folder


def weights(model) -> dict[str, torch.Tensor]:
    return {n: p.detach().clone() for n, p in model.named_parameters()}


def assert_same_weights(one, other):
    assert weights(one).keys() == weights(other).keys()
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, weights(other)[name]), name


def assert_refused(folder, *words):
    """One line that says each of these, and no model."""
    with pytest.raises(CourseError) as caught:
        checkpoint.load(folder)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


# --- the identity -----------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_save_then_load_is_the_identity(tmp_path, name):
    model = MODELS[name]()
    checkpoint.save(tmp_path / "model", model)
    loaded = checkpoint.load(tmp_path / "model")
    assert loaded.model.config == model.config
    assert_same_weights(loaded.model, model)
    src, tgt = random_ids(2, 5), with_bos(random_ids(2, 4))
    src = None if getattr(model.config, "decoder_only", False) else src
    assert torch.equal(loaded.model(src, tgt), model(src, tgt))


def test_tied_weights_are_stored_once_and_tied_again(saved):
    model = checkpoint.load(saved).model
    matrix = model.tgt_embedding.weight
    assert model.to_logits.weight is matrix
    assert model.src_embedding.weight is matrix
    stored = safetensors.torch.load_file(saved / "model.safetensors")
    shapes = [tuple(tensor.shape) for tensor in stored.values()]
    assert shapes.count((VOCAB, 16)) == 1


def test_all_else_comes_back_too(saved, tokenizer):
    loaded = checkpoint.load(saved)
    assert loaded.tokenizer.model_proto == tokenizer.model_proto
    assert loaded.details == {"src": "en"}
    assert loaded.resume.values == {"step": 7, "best": None}
    assert torch.equal(loaded.resume.tensors["moment"], torch.ones(3))
    assert not loaded.model.training


def test_what_was_not_saved_is_none(tmp_path):
    checkpoint.save(tmp_path / "model", tiny_gru())
    loaded = checkpoint.load(tmp_path / "model")
    assert loaded.tokenizer is None
    assert loaded.resume is None
    assert loaded.details == {}


def test_the_format_is_plain_files_with_a_number(saved):
    header = json.loads((saved / "config.json").read_text("utf-8"))
    assert header["format"] == checkpoint.FORMAT
    assert {path.name for path in saved.iterdir()} == {
        "config.json",
        "model.safetensors",
        "tokenizer.model",
        "resume.safetensors",
        "resume.json",
    }


def test_saving_again_replaces_all_of_it(saved):
    checkpoint.save(saved, tiny_gru(seed=5))
    loaded = checkpoint.load(saved)
    assert_same_weights(loaded.model, tiny_gru(seed=5))
    assert loaded.resume is None
    assert sorted(saved.parent.iterdir()) == [saved]


@pytest.mark.parametrize("name", MODELS)
def test_build_makes_a_model_of_the_configs_class(name):
    model = MODELS[name]()
    built = checkpoint.build(model.config)
    assert type(built) is type(model)
    assert built.config == model.config


# --- averages ---------------------------------------------------------------


def test_average_is_the_mean_of_the_weights(tmp_path):
    models = [tiny_transformer(seed=seed) for seed in range(3)]
    folders = [tmp_path / str(seed) for seed in range(3)]
    for folder, model in zip(folders, models, strict=True):
        checkpoint.save(folder, model)
    mean = tiny_transformer(seed=9)
    checkpoint.average(folders, mean)
    for name, tensor in weights(mean).items():
        expected = sum(weights(model)[name] for model in models) / 3
        torch.testing.assert_close(tensor, expected)
    assert mean.to_logits.weight is mean.tgt_embedding.weight


def test_average_of_one_is_the_identity(saved):
    model = tiny_transformer(seed=9)
    checkpoint.average([saved], model)
    assert_same_weights(model, MODELS["tied"]())


def test_average_needs_every_checkpoint(saved):
    with pytest.raises(CheckpointError, match="no checkpoint in .*gone"):
        checkpoint.average([saved, saved.with_name("gone")], tiny_gru())


# --- all or nothing ---------------------------------------------------------


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def half_a_file(tensors, path):
    with open(path, "wb") as file:
        file.write(b"half")
    full_disk()


@pytest.mark.parametrize(
    ("module", "name", "replacement"),
    [
        (safetensors.torch, "save_file", half_a_file),
        (checkpoint, "_write_json", full_disk),
        (checkpoint, "_to_disk", full_disk),
        (Tokenizer, "save", full_disk),
    ],
    ids=["weights", "settings", "sync", "tokenizer"],
)
def test_a_full_disk_leaves_the_old_checkpoint(
    saved, tokenizer, monkeypatch, module, name, replacement
):
    monkeypatch.setattr(module, name, replacement)
    with pytest.raises(CheckpointError, match="No space left") as caught:
        checkpoint.save(saved, tiny_gru(seed=5), tokenizer)
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    assert sorted(saved.parent.iterdir()) == [saved]
    assert_same_weights(checkpoint.load(saved).model, MODELS["tied"]())


def test_a_full_disk_leaves_nothing_where_nothing_was(tmp_path, monkeypatch):
    monkeypatch.setattr(safetensors.torch, "save_file", half_a_file)
    with pytest.raises(CheckpointError, match="No space left"):
        checkpoint.save(tmp_path / "model", tiny_gru())
    assert not list(tmp_path.iterdir())


class Killed(BaseException):
    """Stands for a process that ends there and then."""


@pytest.mark.parametrize("moment", range(12))
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(
    saved, tokenizer, monkeypatch, moment
):
    """Every file written, synced, renamed or removed is such a moment."""
    left = [moment]

    def dies_before(function):
        def wrapped(*args, **kwargs):
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return function(*args, **kwargs)

        return wrapped

    new = tiny_gru(seed=5)
    with monkeypatch.context() as patch:
        for module, name in (
            (safetensors.torch, "save_file"),
            (checkpoint, "_write_json"),
            (checkpoint, "_to_disk"),
            (checkpoint.Path, "rename"),
            (checkpoint.shutil, "rmtree"),
        ):
            patch.setattr(module, name, dies_before(getattr(module, name)))
        with contextlib.suppress(Killed):
            checkpoint.save(saved, new, tokenizer)
    found = checkpoint.load(saved).model
    old = MODELS["tied"]()
    assert_same_weights(found, new if type(found) is type(new) else old)
    checkpoint.save(saved, new, tokenizer)  # and the next save is whole again
    assert_same_weights(checkpoint.load(saved).model, new)
    assert sorted(saved.parent.iterdir()) == [saved]


def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="could not be written"):
        checkpoint.save(tmp_path / "file" / "model", tiny_gru())


# --- damaged, foreign, hostile ----------------------------------------------


def test_a_missing_checkpoint_says_what_was_expected(tmp_path):
    assert_refused(tmp_path / "none", "no checkpoint", "config.json")


def test_a_runs_folder_of_checkpoints_gives_a_hint(saved):
    checkpoint.save(saved.parent / "best", tiny_gru())
    assert_refused(saved.parent, "Did you mean", "best")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["model.safetensors", "resume.safetensors"])
def test_cut_short_tensors(saved, name, share):
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(len(content) * share)])
    assert_refused(saved, name, "damaged or cut short")


@pytest.mark.parametrize("name", ["config.json", "resume.json"])
@pytest.mark.parametrize(
    "content", [b"", b'{"format": 1,', b"\xff\xfe", b"[]"]
)
def test_damaged_settings(saved, name, content):
    (saved / name).write_bytes(content)
    assert_refused(saved, name, "damaged")


def change(folder, **values):
    path = folder / "config.json"
    header = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(header | values), encoding="utf-8")


@pytest.mark.parametrize("number", [checkpoint.FORMAT + 1, None, "1"])
def test_a_newer_format_asks_for_an_update(saved, number):
    change(saved, format=number)
    assert_refused(saved, f"format {number}", "update the package")


def test_a_config_of_another_package(saved):
    config = {"model_type": "marian", "d_model": 512}
    (saved / "config.json").write_text(json.dumps(config))
    assert_refused(saved, "not of a checkpoint of this package")


def test_an_unknown_kind_of_model(saved):
    change(saved, kind="perceptron")
    assert_refused(saved, "'perceptron'", "transformer, recurrent")


@pytest.mark.parametrize(
    "settings",
    [
        {"d_model": 30, "n_heads": 4},
        {"depth": 3},
        {"d_model": "wide"},
        {"position": "spiral"},
        {"activation": "tanh"},
        [],
        None,
    ],
    ids=str,
)
def test_settings_that_describe_no_model(saved, settings):
    change(saved, model=settings)
    assert_refused(saved, "config.json", "does not describe a model")


def test_weights_of_another_model(saved, tmp_path):
    checkpoint.save(tmp_path / "wider", tiny_transformer(d_model=32))
    (tmp_path / "wider" / "model.safetensors").replace(
        saved / "model.safetensors"
    )
    assert_refused(saved, "do not fit its config.json", "mixed")


def test_weights_with_a_name_too_many(saved):
    tensors = safetensors.torch.load_file(saved / "model.safetensors")
    tensors["extra"] = torch.ones(1)
    safetensors.torch.save_file(tensors, saved / "model.safetensors")
    assert_refused(saved, "do not fit its config.json", "extra")


def test_another_tokenizer(saved):
    other = Tokenizer.train([*LINES, "x y z"], 30, "word")
    other.save(saved / "tokenizer.model")
    assert_refused(saved, "not the tokenizer this model was trained with")


def test_a_missing_tokenizer(saved):
    (saved / "tokenizer.model").unlink()
    assert_refused(saved, "no tokenizer at", "tokenizer.model")


def test_a_runs_own_tokenizer_is_named(saved, tokenizer, tmp_path):
    folder = tmp_path / "run" / "checkpoints" / "best"
    shutil.copytree(saved, folder)
    (folder / "tokenizer.model").unlink()
    copy = tmp_path / "run" / "tokenizer.model"
    tokenizer.save(copy)
    assert_refused(folder, "no tokenizer at", f"run's own, {copy}")


class Hostile:
    """Unpickling this creates a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (open, (str(self.trace), "w"))


def write_pickle(path, trace, protocol):
    if protocol == "torch":
        torch.save({"weight": Hostile(trace)}, path)
    else:
        path.write_bytes(pickle.dumps(Hostile(trace), protocol=protocol))


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5, "torch"])
def test_the_hostile_pickle_is_one(tmp_path, protocol):
    trace, path = tmp_path / "trace", tmp_path / "file"
    write_pickle(path, trace, protocol)
    if protocol == "torch":
        torch.load(path, weights_only=False)
    else:
        pickle.loads(path.read_bytes()).close()
    assert trace.exists()


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5, "torch"])
@pytest.mark.parametrize(
    "name", ["model.safetensors", "resume.safetensors", "tokenizer.model"]
)
def test_a_pickle_in_place_of_a_file_is_never_opened(
    saved, tmp_path, name, protocol
):
    trace = tmp_path / "trace"
    write_pickle(saved / name, trace, protocol)
    assert_refused(saved, name)
    assert not trace.exists()


@pytest.mark.parametrize("protocol", [2, 4, "torch"])
def test_a_pickle_is_called_one(saved, tmp_path, protocol):
    path = saved / "model.safetensors"
    write_pickle(path, tmp_path / "trace", protocol)
    assert_refused(saved, "is a pickle", "safetensors file")


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin"])
def test_a_pickle_beside_is_not_taken_instead(saved, tmp_path, name):
    trace = tmp_path / "trace"
    (saved / "model.safetensors").unlink()
    write_pickle(saved / name, trace, "torch")
    assert_refused(
        saved, "model.safetensors is missing", f"{name} is not read"
    )
    assert not trace.exists()
