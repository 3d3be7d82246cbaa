"""Laws of checkpoints: save → load is the identity; all or nothing."""

import contextlib
import errno
import json
import os
import pickle

import pytest
import safetensors.torch
import torch
from tiny import (
    VOCAB,
    Killed,
    random_ids,
    tiny_gru,
    tiny_language_model,
    tiny_transformer,
    with_bos,
)

from transformer_course.checkpoints import checkpoint
from transformer_course.checkpoints.checkpoint import Resume
from transformer_course.data.tokenizer import Tokenizer
from transformer_course.errors import (
    CheckpointError,
    CourseError,
    DivergedError,
)

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


def test_saving_again_replaces_all_of_it(saved):
    checkpoint.save(saved, tiny_gru(seed=5))
    loaded = checkpoint.load(saved)
    assert_same_weights(loaded.model, tiny_gru(seed=5))
    assert loaded.resume is None
    assert sorted(saved.parent.iterdir()) == [saved]


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


def test_average_needs_every_checkpoint(saved):
    with pytest.raises(CheckpointError, match="no checkpoint in .*gone"):
        checkpoint.average([saved, saved.with_name("gone")], MODELS["tied"]())


def test_average_needs_weights_of_one_shape(saved, tmp_path):
    checkpoint.save(tmp_path / "wider", tiny_transformer(d_model=32))
    with pytest.raises(CheckpointError, match="do not fit"):
        checkpoint.average([saved, tmp_path / "wider"], MODELS["tied"]())


# --- all or nothing ---------------------------------------------------------


WRITES = (
    (checkpoint.Path, "write_text"),
    (checkpoint.Path, "write_bytes"),
    (checkpoint.safetensors.torch, "save_file"),
)
MOVES = ((checkpoint.Path, "rename"), (checkpoint.shutil, "rmtree"))


def fails_from(patch, call, failure, calls):
    """Let some functions raise from the call of this number on."""
    left = [call]

    def failing(function):
        def wrapped(*args, **kwargs):
            if left[0] == 0:
                raise failure
            left[0] -= 1
            return function(*args, **kwargs)

        return wrapped

    for module, name in calls:
        patch.setattr(module, name, failing(getattr(module, name)))


@pytest.mark.parametrize("call", [0, 1, 4])
def test_a_full_disk_leaves_the_old_checkpoint(
    saved, tokenizer, monkeypatch, call
):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with monkeypatch.context() as patch:
        fails_from(patch, call, full, WRITES)
        with pytest.raises(CheckpointError, match="No space left"):
            checkpoint.save(saved, tiny_gru(seed=5), tokenizer, {}, STATE)
    assert_same_weights(checkpoint.load(saved).model, MODELS["tied"]())


@pytest.mark.parametrize("moment", range(10))
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(
    saved, tokenizer, monkeypatch, moment
):
    """Every file written, renamed or removed is such a moment."""
    new = tiny_gru(seed=5)
    with monkeypatch.context() as patch:
        fails_from(patch, moment, Killed, WRITES + MOVES)
        with contextlib.suppress(Killed):
            checkpoint.save(saved, new, tokenizer)
    found = checkpoint.load(saved).model
    old = MODELS["tied"]()
    assert_same_weights(found, new if type(found) is type(new) else old)
    checkpoint.save(saved, new, tokenizer)  # the next one is complete again
    assert_same_weights(checkpoint.load(saved).model, new)
    assert sorted(saved.parent.iterdir()) == [saved]


def test_files_that_are_no_checkpoint_are_left(tmp_path):
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "monday").write_text("rain")
    with pytest.raises(
        CheckpointError, match="holds monday, but no checkpoint"
    ):
        checkpoint.save(tmp_path / "diary", tiny_gru())
    assert (tmp_path / "diary" / "monday").read_text() == "rain"
    assert list(tmp_path.iterdir()) == [tmp_path / "diary"]


# --- damaged, of others -----------------------------------------------------


def test_a_missing_checkpoint_says_what_was_expected(tmp_path):
    assert_refused(tmp_path / "none", "no checkpoint", "config.json")


@pytest.mark.parametrize("name", ["model.safetensors", "resume.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_tensors_cut_short(saved, name, share):
    content = (saved / name).read_bytes()
    (saved / name).write_bytes(content[: int(len(content) * share)])
    assert_refused(saved, name, "damaged")


@pytest.mark.parametrize("name", ["model.safetensors", "resume.safetensors"])
def test_missing_tensors(saved, name):
    (saved / name).unlink()
    assert_refused(saved, name, "missing")


@pytest.mark.parametrize("name", ["config.json", "resume.json"])
@pytest.mark.parametrize("content", [b"", b'{"format": 1,', b"\xff", b"[]"])
def test_damaged_settings(saved, name, content):
    (saved / name).write_bytes(content)
    assert_refused(saved, name, "cannot be read")


def change(folder, **values):
    path = folder / "config.json"
    header = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(header | values), encoding="utf-8")


@pytest.mark.parametrize("value", [1, None])
def test_another_format_is_refused(saved, value):
    change(saved, format=value)
    assert_refused(saved, "not of a checkpoint of this package")


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ([], "not an object"),
        ({"model_type": "perceptron"}, "expected transformer or language_"),
        ({"depth": 3}, "depth"),
        ({"d_model": "wide"}, "d_model is 'wide'"),
        ({"n_layers": 10**9}, "n_layers"),
    ],
    ids=str,
)
def test_settings_that_describe_no_model(saved, settings, word):
    if settings:
        config = json.loads((saved / "config.json").read_text("utf-8"))
        settings = config["model"] | settings
    change(saved, model=settings)
    assert_refused(saved, "does not describe a model", word)


class Hostile:
    """Unpickling this creates a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (open, (str(self.trace), "w"))


@pytest.mark.parametrize("protocol", [0, 4, "torch"])
@pytest.mark.parametrize(
    "name", ["model.safetensors", "resume.safetensors", "tokenizer.model"]
)
def test_a_pickle_is_never_opened(saved, tmp_path, name, protocol):
    trace = tmp_path / "trace"
    if protocol == "torch":
        torch.save({"weight": Hostile(trace)}, saved / name)
    else:
        content = pickle.dumps(Hostile(trace), protocol=protocol)
        (saved / name).write_bytes(content)
    assert_refused(saved, name)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda t: t | {"extra": torch.ones(1)}, "extra"),
        (lambda t: t | {"to_logits.weight": torch.ones(1)}, "to_logits"),
        (lambda t: dict(list(t.items())[1:]), "first at"),
    ],
)
def test_weights_that_do_not_fit(saved, wrong, word):
    path = saved / "model.safetensors"
    safetensors.torch.save_file(wrong(safetensors.torch.load_file(path)), path)
    assert_refused(saved, "do not fit the model", "build=", word)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_not_read(saved, value):
    path = saved / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    name, tensor = next(iter(tensors.items()))
    tensor.view(-1)[0] = value
    safetensors.torch.save_file(tensors, path)
    assert_refused(saved, "not finite", name, "diverged")


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
