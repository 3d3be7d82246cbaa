"""Images: read whole or refused, batched alike each time, classified."""

import base64
import dataclasses
import gzip
import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_runs import other

from transformer_course.batches.images import (
    ImageBatches,
    in_order,
    scaled,
    shifted,
)
from transformer_course.checkpoints import checkpoint
from transformer_course.data.corpora import load_images
from transformer_course.data.download import is_available
from transformer_course.data.images import read_idx
from transformer_course.errors import ConfigError, CorpusError
from transformer_course.inference.model import TrainedModel
from transformer_course.interpretation.explain import (
    grad_cam,
    gradient_attention,
    patch_map,
)
from transformer_course.models.vit_config import (
    ConvolutionalConfig,
    VisionConfig,
)
from transformer_course.training.config import Experiment, changed_experiment
from transformer_course.training.loop import evaluate
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.prepare import prepare
from transformer_course.training.run.training import run as train
from transformer_course.training.tasks.table import find_task

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}


@pytest.fixture(scope="module")
def digits():
    return load_images("digits")


def tiny(**train) -> Experiment:
    """A few steps on few digits."""
    values = {"epochs": 2, "warmup": 4, "save_every": 2, "device": "cpu"}
    values = {f"train.{k}": value for k, value in (values | train).items()}
    settings = changed_experiment(PRESETS["digits-vit"], values)
    model = VisionConfig(image_size=8, patch_size=4, **SIZES)
    settings = dataclasses.replace(settings, name="tiny", model=model)
    return other(settings, train_pairs=200, batch_size=50)


# --- the corpora -------------------------------------------------------------


def test_the_digits_are_in_three_parts_that_share_no_image(digits):
    parts = digits.train, digits.dev, digits.test
    assert [len(part) for part in parts] == [1197, 300, 300]
    everything = torch.cat([part.images for part in parts])
    assert len(everything.flatten(1).unique(dim=0)) == 1797
    assert everything.min() == 0 and everything.max() == 255
    assert torch.equal(load_images("digits").dev.images, digits.dev.images)
    assert set(digits.test.labels.tolist()) == set(range(10))


@pytest.mark.skipif(
    not is_available("fashion_mnist"), reason="fashion_mnist is not here"
)
def test_fashion_mnist():
    splits = load_images("fashion_mnist")
    assert (len(splits.train), len(splits.dev)) == (55_000, 5_000)
    assert splits.test.images.shape == (10_000, 1, 28, 28)
    counts = splits.test.labels.bincount()
    assert (counts == 1000).all()
    assert splits.train.names[int(splits.train.labels[0])] == "ankle boot"


def test_a_corpus_without_images_names_those_that_have_some():
    with pytest.raises(CorpusError, match="grammar.*digits, fashion_mnist"):
        load_images("grammar")


def idx(shape: tuple[int, ...], numbers: bytes, kind: int = 8) -> bytes:
    """A file of the idx format."""
    dimensions = b"".join(n.to_bytes(4, "big") for n in shape)
    return bytes([0, 0, kind, len(shape)]) + dimensions + numbers


def packed(content: bytes) -> bytes:
    """Gzipped, without the time: the same bytes at each call."""
    return gzip.compress(content, mtime=0)


def test_an_idx_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(packed(idx((2, 3), bytes(range(6)))))
    assert read_idx(path).tolist() == [[0, 1, 2], [3, 4, 5]]


# --- batches -----------------------------------------------------------------


def test_an_epoch_has_each_image_at_most_once_and_is_always_the_same(digits):
    batches = ImageBatches(digits.train, 50, seed=3)
    assert len(batches) == 1197 // 50
    one, same = list(batches.epoch(4)), list(batches.epoch(4))
    assert len(one) == len(batches)
    for a, b in zip(one, same, strict=True):
        assert torch.equal(a.images, b.images)
        assert torch.equal(a.labels, b.labels)
    other = next(iter(batches.epoch(5)))
    assert not torch.equal(one[0].images, other.images)
    assert one[0].images.min() == -1 and one[0].images.max() == 1


def test_batches_in_order_hold_all_images(digits):
    batches = in_order(digits.dev, 128)
    assert [len(b.labels) for b in batches] == [128, 128, 44]
    labels = torch.cat([b.labels for b in batches])
    assert torch.equal(labels, digits.dev.labels)


def test_a_shifted_image_is_itself_moved_and_perhaps_mirrored():
    pixels = torch.zeros(40, 1, 6, 7, dtype=torch.uint8)
    pixels[:, :, 2, 3] = 255
    pixels[:, :, 2, 4] = 128
    moved = shifted(scaled(pixels), 1, torch.Generator().manual_seed(0))
    assert moved.shape == (40, 1, 6, 7)
    brightest = moved.flatten(1).argmax(dim=1)
    rows, columns = brightest // 7, brightest % 7
    assert set(rows.tolist()) == {1, 2, 3}
    assert set(columns.tolist()) == {2, 3, 4}
    second = (moved.flatten(1).round(decimals=1) == 0).int().argmax(dim=1)
    assert set((second - brightest).tolist()) == {-1, 1}  # mirrored, or not


# --- the task ----------------------------------------------------------------


def test_a_model_for_other_images_is_refused():
    with pytest.raises(ConfigError, match="image_size is 12.*--model.image-s"):
        prepare(other(tiny(), {"image_size": 12}))


def test_what_is_judged_is_counted_in_images(digits):
    made = prepare(tiny())
    means = evaluate(
        made.model, made.dev_batches, loss_fn=made.task.unsmoothed_loss
    )
    share = (digits.dev.labels == 0).float().mean()
    assert means["accuracy"] == pytest.approx(float(share), abs=1e-6)
    assert means["nll"] == pytest.approx(np.log(10), abs=1e-5)


# --- the command line --------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    return train(tiny(), folder, quiet=True)


def file_of(pixels, path):
    Image.fromarray(pixels.numpy()).save(path)
    return path


def test_a_run_is_scored_by_class(trained, run):
    status, out, _ = run("score", trained)
    assert status == 0
    assert "on digits, test:" in out and "of 300 images right" in out
    assert len(out.splitlines()) == 11


def test_files_are_classified(trained, digits, tmp_path, run):
    paths = [
        file_of(digits.test.images[i, 0], tmp_path / f"{i}.png")
        for i in range(3)
    ]
    status, out, _ = run("classify", trained, *paths, "--top", 2)
    assert status == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == [str(p) for p in paths for _ in "12"]
    best = checkpoint.load(trained / "checkpoints" / "best").model
    logits = best(scaled(digits.test.images[:3]))
    guesses = logits.softmax(dim=-1).topk(2)
    expected = guesses.indices.flatten().tolist()
    assert [int(row[1]) for row in rows] == expected
    shares = [float(row[2]) for row in rows]
    assert shares == pytest.approx(guesses.values.flatten().tolist(), abs=1e-4)


def test_another_size_is_refused_unless_it_shall_be_fitted(
    trained, tmp_path, run
):
    path = tmp_path / "photo.png"
    Image.new("RGB", (30, 20), "red").save(path)
    status, _, err = run("classify", trained, path)
    assert status == 1
    assert "30 × 20 pixels of mode RGB" in err and "--fit" in err
    status, out, _ = run("classify", trained, path, "--fit")
    assert status == 0 and out.count("\n") == 1


def test_what_is_no_image_is_one_line(trained, tmp_path, run):
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    status, out, err = run("classify", trained, path)
    assert (status, out, err.count("\n")) == (1, "", 2)
    assert "cannot be read as an image" in err


# --- a page that explains ----------------------------------------------------


class Read(HTMLParser):
    """What a page loads, says, and of which tags it is made."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.sources, self.said = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [v for k, v in attrs if k in ("src", "href")]

    def handle_data(self, data):
        self.said += data


def test_a_page_shows_each_image_under_its_map(trained, digits, tmp_path, run):
    name = "<script>alert(1)<∕script>&.png"
    pixels = digits.test.images[:2]
    paths = [
        file_of(one[0], tmp_path / file)
        for one, file in zip(pixels, (name, "b.png"), strict=True)
    ]
    to = tmp_path / "page.html"
    plain = run("classify", trained, *paths)
    status, out, _ = run("classify", trained, *paths, "--explain", to)
    assert (status, out) == plain[:2]
    page = Read(to.read_text("utf-8"))
    assert page.tags.count("section") == 2 and "script" not in page.tags
    assert name in page.said
    for line in out.splitlines():
        _, label, share = line.split("\t")
        assert f"{label} ({float(share):.2f})" in page.said
    assert len(page.sources) == 6  # the image, the image again, its map
    shown = []
    for source in page.sources:
        data = source.removeprefix("data:image/png;base64,")
        shown.append(Image.open(io.BytesIO(base64.b64decode(data))))
    assert np.array_equal(shown[0], pixels[0, 0])
    used = TrainedModel.load(trained)
    heat = used.heat_maps(pixels)
    row = gradient_attention(used.model, scaled(pixels))[:, 0]
    assert torch.equal(heat, patch_map(row))
    alpha = np.array(shown[2])[..., 3]
    assert alpha.shape == (2, 2)
    assert alpha.argmax() == heat[0].argmax() and alpha.max() == 204


def test_a_page_of_the_convolutional_network_has_grad_cam(digits):
    config = ConvolutionalConfig(width=8, n_blocks=2, image_size=8)
    model = checkpoint.build(config).eval()
    task = find_task("image_classification")
    used = TrainedModel(Path(), model, None, task, {"corpus": "digits"})
    pixels = digits.test.images[:2]
    assert torch.equal(used.heat_maps(pixels), grad_cam(model, scaled(pixels)))
