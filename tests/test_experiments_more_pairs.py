"""Pairs that two translators make of their training text."""

import pytest
from tiny import decided, tiny_corpus, tiny_splits, tiny_transformer

from experiments import more_pairs
from experiments.lab import Bench
from transformer_course import checkpoint, files
from transformer_course.data.text import read_lines
from transformer_course.errors import ConfigError
from transformer_course.tokenizer import Tokenizer


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Two translators, and a bench that makes a few pairs with them."""
    tiny_corpus(monkeypatch)
    text = tiny_splits().train
    pieces = Tokenizer.train([*text.src, *text.tgt], 100, "word")
    ways = {"there": ("en", "ja"), "back": ("ja", "en")}
    sizes = {"vocab_size": pieces.vocab_size, "tied": False}
    for seed, (name, (src, tgt)) in enumerate(ways.items()):
        model = decided(tiny_transformer(seed, **sizes))
        details = {"corpus": "grammar", "src": src, "tgt": tgt}
        checkpoint.save(tmp_path / name, model, pieces, details)
    models = tuple(tmp_path / name for name in ways)
    return Bench(tmp_path / "runs" / "more-pairs", inputs=models, smoke=True)


def test_each_pair_is_half_a_person_s_and_half_a_model_s(made):
    list(more_pairs.read(made))
    folder = made.stored("outputs") / "more-pairs"
    src, tgt = (read_lines(folder / f"more.{one}") for one in ("en", "ja"))
    train = tiny_splits().train
    size = len(src) // 2
    assert len(tgt) == 2 * size > 0
    assert src[:size] == train.src[:size]
    assert tgt[size:] == train.tgt[:size]
    assert tgt[:size] == read_lines(folder / "written.ja")
    assert src[size:] == read_lines(folder / "written.en")
    found = files.read_json(made.folder / "run.json")["results"]
    assert found["forward"]["pairs"] == found["backward"]["pairs"] == size
    same = found["forward"]["same"] + found["backward"]["same"]
    assert found["new"] <= 2 * size - same


def test_what_is_there_is_not_translated_again(made, monkeypatch):
    list(more_pairs.read(made))
    path = made.stored("outputs") / "more-pairs" / "written.ja"
    whole = read_lines(path)
    half = len(whole) // 2
    path.write_text("".join(f"{x}\n" for x in whole[:half]), "utf-8")
    asked = []
    translate = more_pairs.translate

    def counted(model, tokenizer, sentences, *how):
        asked.extend(sentences)
        return translate(model, tokenizer, sentences, *how)

    monkeypatch.setattr(more_pairs, "translate", counted)
    list(more_pairs.read(made))
    assert read_lines(path) == whole
    assert asked == tiny_splits().train.src[half : len(whole)]


def test_other_models_than_two_of_opposite_directions_are_refused(made):
    there, _ = made.inputs
    for inputs, message in (
        ((there,), "given 1 models: expected two"),
        ((there, there), "opposite directions: give two that do"),
    ):
        bench = Bench(made.folder, inputs=inputs, smoke=True)
        with pytest.raises(ConfigError, match=message):
            list(more_pairs.read(bench))
