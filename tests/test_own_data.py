"""Laws of a reader's own texts with labels, images and books."""

import csv
from collections import Counter
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from transformer_course.cli.texts import score
from transformer_course.data import own_book, own_images, own_labels
from transformer_course.errors import CorpusError
from transformer_course.inference.images import read_images
from transformer_course.inference.model import TrainedModel
from transformer_course.models.vit_config import VisionConfig
from transformer_course.training.config import changed_experiment
from transformer_course.training.presets import PRESETS
from transformer_course.training.run.training import run

SMALL = {
    "model.d_model": 16,
    "model.d_ff": 16,
    "model.n_heads": 2,
    "model.n_layers": 1,
    "train.average_last": 0,
}


def sentences(count: int = 120) -> list[tuple[str, str]]:
    """Different texts of two classes, which one word tells apart."""
    kinds = ("warm", "good"), ("rainy", "bad")
    pairs = zip(range(count), cycle(kinds))
    return [(f"day {n} was {word}", label) for n, (word, label) in pairs]


def trained(preset: str, file: str, folder: Path, **changes) -> Path:
    """A small model that has learned a file of one's own, by a preset."""
    about = SMALL | {"data.files": (file,)} | changes
    settings = changed_experiment(PRESETS[preset], about)
    return run(settings, folder / "out", quiet=True)


@pytest.fixture
def table(tmp_path):
    """Writes rows into a file, and gives its name."""

    def write(rows, name="texts.tsv", delimiter="\t") -> str:
        path = tmp_path / name
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter=delimiter).writerows(rows)
        return str(path)

    return write


def parts(splits):
    return [splits.train, splits.dev, splits.test]


def refused(load, *args) -> str:
    with pytest.raises(CorpusError) as error:
        load(*args)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- texts with labels -------------------------------------------------------


def test_each_text_is_in_one_part_and_each_part_has_all_classes(table):
    rows = sentences()
    splits = own_labels.load((table(rows),), None)
    found = [text for part in parts(splits) for text in part.texts]
    assert sorted(found) == sorted(text for text, _ in rows)
    assert [len(part) for part in parts(splits)] == [96, 12, 12]
    for part in parts(splits):
        assert part.names == ("bad", "good")
        assert set(part.labels) == {0, 1}
        for text, label in zip(part.texts, part.labels, strict=True):
            assert (text, part.names[label]) in rows


@pytest.mark.parametrize("delimiter", ",;\t")
def test_a_csv_file_is_read_by_its_header_whatever_the_order(table, delimiter):
    rows = [(label, f"{text}, he said;") for text, label in sentences()]
    file = table([("Label", "Sentence"), *rows], "texts.csv", delimiter)
    splits = own_labels.load((file,), None)
    assert all(t.endswith(", he said;") for t in splits.train.texts)


def test_labels_that_stand_first_are_noticed(table):
    rows = [(label, text) for text, label in sentences()]
    said = refused(own_labels.load, (table(rows),), None)
    assert "2 different texts and 120 different labels" in said
    named = table([("label", "text"), *rows])
    assert own_labels.load((named,), None).train.names == ("bad", "good")


def test_a_group_stays_together_and_so_do_equal_texts(table):
    rows = [
        (text, label, f"author {number // 6}")
        for number, (text, label) in enumerate(sentences(240))
    ]
    rows.append((*rows[0][:2], "author 39"))  # the same text, elsewhere
    splits = own_labels.load((table(rows),), None)
    place = {}
    for number, part in enumerate(parts(splits)):
        for text, group in zip(part.texts, part.groups, strict=True):
            if (text, group) != (rows[-1][0], rows[-1][2]):
                assert place.setdefault(group, number) == number
            assert place.setdefault(text, number) == number
    assert {*place.values()} == {0, 1, 2}


def test_numbers_as_labels_are_in_order():
    assert own_labels.class_names("10 9 1 9".split()) == ("1", "9", "10")
    assert own_labels.class_names("10 b 9".split()) == ("10", "9", "b")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("own.tsv", "a\tx\nb\tx\n", "have the label 'x'"),
        ("own.tsv", "a\tx\nb\tx\nc\tx\nd\trare\n", "'rare' of"),
        ("own.tsv", "a\tx\tg\th\n", "line 1 of"),
        ("own.tsv", "only a text\n", "line 1 of"),
        ("own.tsv", "a\tx\nb\t\n", "line 2 of"),
        ("own.tsv", "\tx\n", "holds no text"),
        ("own.tsv", "", "is empty"),
        ("own.csv", 'text,label\n"never closed,x\nb,y\n', "near line"),
        ("own.csv", "sentiment,sentence\nx,a\n", "'sentiment, sentence'"),
    ],
)
def test_what_nobody_can_learn_from_is_refused(tmp_path, name, text, said):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    assert said in refused(own_labels.load, (str(file),), None)


def test_unequal_classes_and_contradictions_are_warned_of(table, capsys):
    rows = sentences(80) + [(f"more {n}", "good") for n in range(300)]
    rows.append((rows[0][0], "bad"))
    own_labels.load((table(rows),), None)
    said = capsys.readouterr().err
    assert "2 classes: bad 41, good 340" in said
    assert "8 times as many as bad" in said
    assert "1 texts of" in said and "more than one label" in said


def test_a_classifier_of_ones_own_texts_is_trained_and_scored(
    table, tmp_path, capsys
):
    rows = [(f"news {n} at six", "そのほか") for n in range(75)]
    changes = {"model.vocab_size": 290, "model.dropout": 0.0}
    changes |= {"data.token_budget": 512, "train.warmup": 10}
    changes |= {"train.epochs": 8, "train.peak_rate": 5e-3}
    file = table(sentences(150) + rows)
    folder = trained("polarity", file, tmp_path, **changes)
    used = TrainedModel.load(folder)
    assert used.names == ("bad", "good", "そのほか")
    [[guess]] = used.classify(["news 99 at six"])
    assert guess.name == "そのほか"
    matrix, picture = tmp_path / "m.csv", tmp_path / "m.svg"
    capsys.readouterr()
    score(folder, confusion=(matrix, picture))
    said = capsys.readouterr().out
    assert "of 21 texts right" in said and "macro F1" in said
    with matrix.open(encoding="utf-8", newline="") as stream:
        header, *body = csv.reader(stream)
    assert header == ["class", "as bad", "as good", "as そのほか"]
    counts = [list(map(int, row[1:])) for row in body]
    assert sum(map(sum, counts)) == 21
    assert "そのほか" in picture.read_text("utf-8")


# --- images ------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    """A folder with red and blue images of several sizes and kinds."""
    draw = np.random.default_rng(0)
    for name, channel in (("red", 0), ("青", 2)):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(30):
            height, width = draw.integers(20, 60, 2)
            pixels = draw.integers(0, 90, (height, width, 3), dtype=np.uint8)
            pixels[..., channel] += 150
            suffix = "jpg" if number % 2 else "png"
            path = tmp_path / "images" / name / f"{number}.{suffix}"
            Image.fromarray(pixels).save(path)
    return tmp_path / "images"


def test_images_of_all_sizes_become_squares_of_one_size(folder, capsys):
    (folder / "red" / "broken.png").write_bytes(b"\x89PNG no more")
    (folder / "red" / "notes.txt").write_text("no image")
    splits = own_images.load((str(folder),), None, 16)
    said = capsys.readouterr().err
    assert "broken.png cannot be read" in said
    assert "scaled to 16 × 16" in said
    assert [len(part) for part in parts(splits)] == [48, 6, 6]
    for part in parts(splits):
        assert part.images.shape[1:] == (3, 16, 16)
        assert part.names == ("red", "青")
        means = part.images.float().mean(dim=(2, 3))
        assert torch.equal((means[:, 2] > means[:, 0]).long(), part.labels)


def test_equal_images_stay_in_one_part(folder):
    for number in range(10):
        image = (folder / "red" / "0.png").read_bytes()
        (folder / "red" / f"copy{number}.png").write_bytes(image)
    splits = own_images.load((str(folder),), None, 12)
    seen = Counter()
    for part in parts(splits):
        seen.update({image.numpy().tobytes() for image in part.images})
    assert set(seen.values()) == {1}


def test_grey_images_have_one_channel(tmp_path):
    for name, shade in (("dark", 10), ("light", 240)):
        (tmp_path / name).mkdir()
        for n in range(4):
            image = Image.new("L", (9, 9), shade + n)
            image.save(tmp_path / name / f"{n}.png")
    splits = own_images.load((str(tmp_path),), None, 9)
    assert splits.train.images.shape == (4, 1, 9, 9)


def test_deep_and_transparent_images_are_read_alike_for_both(tmp_path):
    grey = np.linspace(0, 65_535, 81).reshape(9, 9)
    for name in "ab":
        (tmp_path / name).mkdir()
        for n in range(3):
            deep = Image.fromarray((grey / (n + 1)).astype(np.uint16))
            deep.save(tmp_path / name / f"{n}.png")
    clear = tmp_path / "a" / "clear.png"
    Image.new("RGBA", (20, 10), (255, 0, 0, 0)).save(clear)
    splits = own_images.load((str(tmp_path),), None, 9)
    images = sorted(tmp_path.glob("*/*.png"))
    config = VisionConfig(image_size=9, patch_size=3, channels=3)
    found = read_images(images, config, fit=True)
    assert (found[3] == 255).all()  # white where nothing is
    assert found[0].float().mean() == pytest.approx(127, abs=1)
    whole = torch.cat([part.images for part in parts(splits)])
    for image in found:
        assert (whole == image).flatten(1).all(dim=1).any()


def test_a_folder_without_classes_is_refused(folder, tmp_path):
    (folder / "few").mkdir()
    Image.new("L", (9, 9)).save(folder / "few" / "a.png")
    for place, words in (
        (folder / "red", "has images in 0 folders"),
        (tmp_path / "none", "come from one folder"),
        (folder, "has 1 images that"),
    ):
        assert words in refused(own_images.load, (str(place),), None, 8)


def test_a_vit_learns_ones_own_images_and_refuses_changed_ones(
    folder, tmp_path
):
    few = {"model.patch_size": 4, "train.epochs": 1}
    place = trained("digits-vit", str(folder), tmp_path, **few)
    used = TrainedModel.load(place)
    assert used.names == ("red", "青")
    assert used.model.config.channels == 3
    (folder / "red" / "0.png").unlink()
    with pytest.raises(CorpusError, match="is not what was learned from"):
        score(place)


# --- a book ------------------------------------------------------------------

BOOK = [
    f"It was day {n}. Nobody came! “Why?” she asked him {n} times."
    for n in range(70)
]


@pytest.fixture
def book(tmp_path) -> str:
    """Its file."""
    file = tmp_path / "book.txt"
    file.write_text("\n".join(BOOK), "utf-8")
    return str(file)


def test_a_book_is_cut_into_sentences():
    why = "“Why?” she asked him 7 times."
    english = ["It was day 7.", "Nobody came!", why]
    assert own_book.sentences(BOOK[7]) == english
    japanese = ["猫である。", "「名前は？」と聞いた。", "無い。"]
    assert own_book.sentences("".join(japanese)) == japanese


def test_lines_of_fixed_width_are_joined_to_paragraphs():
    wrapped = ["It was a dark", "and stormy night.", "", "It was", "day."]
    joined = ["It was a dark and stormy night.", "It was day."]
    assert own_book.paragraphs(wrapped) == joined
    assert own_book.paragraphs(["One.", "", "Two."]) == ["One.", "Two."]


def test_the_end_of_a_book_is_held_out(book):
    splits = own_book.next_sentences((book,), None)
    train, dev, test = parts(splits)
    assert [len(part) for part in (train, dev, test)] == [167, 20, 20]
    assert train.src[1:] == train.tgt[:-1]
    assert test.tgt[-1].endswith("69 times.")
    running = own_book.running_text((book,), None)
    assert "\n".join(p.tgt[0] for p in parts(running)) == "\n".join(BOOK)


def test_a_short_text_or_two_are_refused(tmp_path):
    file = tmp_path / "book.txt"
    file.write_text("One. Two.\n", "utf-8")
    said = refused(own_book.running_text, (str(file),), None)
    assert "has 2 sentences: expected at least 200" in said
    said = refused(own_book.running_text, (str(file), str(file)), None)
    assert "give one file" in said


@pytest.mark.parametrize("preset", ["soseki-cpu", "soseki-lm"])
def test_a_book_trains_what_goes_on_with_a_text(preset, book, tmp_path):
    few = {"model.vocab_size": 310, "model.max_length": 20}
    few |= {"train.epochs": 1, "train.cooldown": 0}
    folder = trained(preset, book, tmp_path, **few)
    score(folder)
    assert next(TrainedModel.load(folder).sample("It was day 3.", 0))
