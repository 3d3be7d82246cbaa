"""Laws of checkpoints: save → load is the identity; all or nothing."""

import contextlib
import errno
import hashlib
import json
import os
import pickle
import shutil

import pytest
import safetensors.torch
import torch
from tiny import (
    VOCAB,
    Killed,
    dies_at,
    random_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)

from transformer_course import files
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import (
    CheckpointError,
    CourseError,
    DivergedError,
)
from transformer_course.training import checkpoint, checkpoint_files
from transformer_course.training.checkpoint import Resume

MODELS = {
    "tied": lambda: tiny_transformer(seed=1),
    "untied": lambda: tiny_transformer(seed=1, tied=False, bias=True),
    "pre-norm": lambda: tiny_transformer(seed=1, norm_first=True),
    "learned": lambda: tiny_transformer(seed=1, position="learned"),
    "language model": lambda: tiny_language_model(seed=1),
    "gru": lambda: tiny_gru(seed=1),
}
STATE = Resume({"moment": torch.ones(3)}, {"step": 7, "best": None})
LINES = ["a b c d e f g", "h i j k l m n", "a c e g i k m"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(LINES, 30, "word")


@pytest.fixture
def saved(tmp_path, tokenizer):
    """A whole checkpoint with all that one can hold."""
    folder = tmp_path / "model"
    checkpoint.save(folder, MODELS["tied"](), tokenizer, {"src": "en"}, STATE)
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
    inputs = (tgt,) if name == "language model" else (src, tgt)
    assert torch.equal(loaded.model(*inputs), model(*inputs))


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
        checkpoint.average([saved, saved.with_name("gone")], MODELS["tied"]())


def test_average_needs_weights_of_one_shape(saved, tmp_path):
    checkpoint.save(tmp_path / "wider", tiny_transformer(d_model=32))
    with pytest.raises(CheckpointError, match="do not fit"):
        checkpoint.average([saved, tmp_path / "wider"], MODELS["tied"]())


# --- all or nothing ---------------------------------------------------------


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", [1, 5])
def test_a_full_disk_leaves_the_old_checkpoint(
    saved, tokenizer, monkeypatch, call
):
    with monkeypatch.context() as patch:
        dies_at(patch, os, "fsync", call, full_disk)
        with pytest.raises(CheckpointError, match="No space left") as caught:
            checkpoint.save(saved, tiny_gru(seed=5), tokenizer, {}, STATE)
    assert "\n" not in str(caught.value)
    assert sorted(saved.parent.iterdir()) == [saved]
    assert_same_weights(checkpoint.load(saved).model, MODELS["tied"]())


@pytest.mark.parametrize("moment", range(16))
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
            (os, "fsync"),
            (os, "replace"),
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


@pytest.mark.parametrize("number", [1, checkpoint.FORMAT + 1, None, "2"])
def test_another_format_is_refused(saved, number):
    change(saved, format=number)
    assert_refused(
        saved, f"has format {number}", f"reads format {checkpoint.FORMAT}"
    )


def test_a_config_of_another_package(saved):
    config = {"model_type": "marian", "d_model": 512}
    (saved / "config.json").write_text(json.dumps(config))
    assert_refused(saved, "not of a checkpoint of this package")


def test_an_unknown_kind_of_model(saved):
    change(saved, kind="perceptron")
    assert_refused(
        saved, "'perceptron'", "transformer, language_model, recurrent"
    )


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


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"n_layers": "two"}, "n_layers cannot be 'two'"),
        ({"n_layers": 10**9}, "n_layers"),
        ({"n_layers": 2.0}, "n_layers cannot be 2.0"),
        ({"tied": "no"}, "tied cannot be 'no'"),
        ({"dropout": "0.1"}, "dropout cannot be '0.1'"),
        ({"position": []}, "position cannot be []"),
        ({"max_length": 10**12}, "GB of memory"),
        ({"d_model": 10**18}, "config.json"),
        ({"vocab_size": 10**12}, "do not fit the model"),
        ({"pad_id": 10**6}, "does not describe a model"),
    ],
    ids=str,
)
def test_settings_of_other_types_or_beyond_memory(saved, settings, word):
    model = files.read_json(saved / "config.json")["model"]
    change(saved, model=model | settings)
    assert_refused(saved, word)


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", checkpoint_files.FILES)
def test_a_flipped_bit_is_noticed(saved, name):
    flip_a_bit(saved / name)
    assert_refused(saved, name, "sha256")


def test_weights_of_another_model_of_the_same_shape(saved, tmp_path):
    checkpoint.save(tmp_path / "other", tiny_transformer(seed=2))
    (tmp_path / "other" / "model.safetensors").replace(
        saved / "model.safetensors"
    )
    assert_refused(saved, "model.safetensors", "another checkpoint")


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


@pytest.mark.parametrize("protocol", [0, 4, "torch"])
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


# --- weights that are whole, and wrong --------------------------------------


def put_weights(folder, tensors):
    """Other weights in a checkpoint, with their own hash."""
    path = folder / "model.safetensors"
    safetensors.torch.save_file(tensors, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    change(folder, weights_sha256=digest)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda t: t | {"extra": torch.ones(1)}, "extra"),
        (lambda t: t | {"to_logits.weight": torch.ones(1)}, "to_logits"),
        (lambda t: dict(list(t.items())[1:]), "do not fit the model"),
    ],
)
def test_weights_that_do_not_fit(saved, wrong, word):
    tensors = safetensors.torch.load_file(saved / "model.safetensors")
    put_weights(saved, wrong(tensors))
    assert_refused(saved, "do not fit the model", word)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_not_read(saved, value):
    tensors = safetensors.torch.load_file(saved / "model.safetensors")
    name, tensor = next(iter(tensors.items()))
    tensor.view(-1)[0] = value
    put_weights(saved, tensors)
    assert_refused(saved, "not finite", name, "diverged")


# --- nothing is lost --------------------------------------------------------


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_nothing_that_is_not_finite_is_saved(saved, value):
    model, state = tiny_gru(), Resume({"adam.m": torch.tensor(value)}, {})
    with pytest.raises(DivergedError, match=r"adam\.m is not finite"):
        checkpoint.save(saved, model, resume=state)
    with torch.no_grad():
        model.first_state.bias[0] = value
    with pytest.raises(DivergedError, match=r"first_state\.bias is not"):
        checkpoint.save(saved, model)
    assert_same_weights(checkpoint.load(saved).model, MODELS["tied"]())


def test_files_that_are_no_checkpoint_are_left(tmp_path):
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday").write_text("rain")
    with pytest.raises(CheckpointError, match="holds monday, and is no chec"):
        checkpoint.save(tmp_path / "diary", tiny_gru())
    assert (tmp_path / "diary" / "monday").read_text() == "rain"
    assert list(tmp_path.iterdir()) == [tmp_path / "diary"]


@pytest.mark.parametrize("name", checkpoint_files.FILES)
def test_a_missing_file(saved, name):
    (saved / name).unlink()
    assert_refused(saved, name)
    with pytest.raises(CheckpointError, match=r"(missing[:,]|no tokenizer)"):
        checkpoint.load(saved)


def test_which_tokenizer_a_checkpoint_belongs_to(saved, tokenizer, tmp_path):
    expected = hashlib.sha256(tokenizer.model_proto).hexdigest()
    assert checkpoint.tokenizer_sha256(saved) == expected
    checkpoint.save(tmp_path / "without", tiny_gru())
    assert checkpoint.tokenizer_sha256(tmp_path / "without") is None
    with pytest.raises(CheckpointError, match="no checkpoint"):
        checkpoint.tokenizer_sha256(tmp_path / "none")


def test_what_a_killed_process_was_writing_is_deleted(saved):
    left = saved.with_name(f".{saved.name}.0123.new")
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"half")
    checkpoint.save(saved, tiny_gru())
    assert sorted(saved.parent.iterdir()) == [saved]
