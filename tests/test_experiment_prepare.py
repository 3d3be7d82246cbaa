"""Laws of what a training begins with: text, pieces, batches, weights."""

import dataclasses
import hashlib
import shutil
from pathlib import Path

import pytest
import torch
from tiny import tiny_corpus, tiny_labels, tiny_splits
from tiny_runs import (
    assert_same_runs,
    losses,
    other,
    own_files,
    records,
    tiny,
    tiny_books,
    tiny_masked,
    tiny_texts,
    weights,
)

from transformer_course.checkpoints import checkpoint, shipped
from transformer_course.checkpoints.find import chosen_checkpoint
from transformer_course.cli import main
from transformer_course.data.corpora import CORPORA, Corpus
from transformer_course.data.grammar import grammar_corpus
from transformer_course.data.text import ParallelText, Splits
from transformer_course.errors import CheckpointError, CorpusError
from transformer_course.training.config import Experiment
from transformer_course.training.loop import evaluate
from transformer_course.training.report import text_nll
from transformer_course.training.run.folder import settings_of
from transformer_course.training.run.prepare import complete, prepare
from transformer_course.training.run.training import run
from transformer_course.training.tasks.table import (
    experiment_from_dict,
    find_task,
)

pytestmark = pytest.mark.usefixtures("small_corpus")


@pytest.fixture
def in_japanese(monkeypatch):
    """Gives pairs or running text to a corpus in one language."""

    def put(**loaders) -> dict[str, str]:
        corpus = Corpus("soseki", ("ja",), **loaders)
        monkeypatch.setitem(CORPORA, "soseki", corpus)
        return {"corpus": "soseki", "src": "ja", "tgt": "ja"}

    return put


def test_what_goes_on_with_a_text_is_not_judged_by_bleu(tmp_path, in_japanese):
    settings = other(tiny(), **in_japanese(pairs=tiny_splits))
    settings = dataclasses.replace(settings, task="next_sentence")
    folder = run(settings, tmp_path, quiet=True)
    epochs = records(folder, "epoch")
    assert all("dev_bleu" not in record for record in epochs)
    best, tokenizer, *_ = checkpoint.load(folder / "checkpoints" / "best")
    dev = find_task("next_sentence").eval_batches(
        best.config, tokenizer, tiny_splits().dev
    )
    lowest = min(record["dev_nll"] for record in epochs)
    assert evaluate(best, dev)["nll"] == pytest.approx(lowest, rel=1e-4)


def test_a_language_model_learns_from_all_of_a_long_text(
    tmp_path, in_japanese
):
    words = "猫 犬 魚 赤い 古い".split()
    text = "\n".join(" ".join(words) for _ in range(30))
    splits = Splits(*(ParallelText([""], [text]) for _ in range(3)))
    settings = tiny("decoder-only", epochs=1)
    text_alone = in_japanese(texts=lambda: splits)
    settings = other(settings, {"max_length": 8}, **text_alone)
    prepared = prepare(settings)
    seen = sum(
        int((batch.tgt_out != 0).sum()) for batch in prepared.batches.epoch(0)
    )
    ids = prepared.tokenizer.encode(text)
    assert seen == len(ids) + 1  # eos
    found = text_nll(
        prepared.task, prepared.model, prepared.tokenizer, splits.dev
    )
    assert found.tokens == seen
    assert found.nll_per_character * found.characters == pytest.approx(
        found.nll * found.tokens
    )
    folder = run(settings, tmp_path, quiet=True)
    assert all(s["src"] == "" for s in records(folder, "epoch")[0]["samples"])


UNIGRAM = {"pieces": "unigram", "subword_sampling": 0.2}


@pytest.fixture
def unigram(monkeypatch) -> Experiment:
    """Pieces that can be put together in several ways."""
    splits = grammar_corpus(train=60, dev=2, test=2)
    tiny_corpus(monkeypatch, pairs=lambda: splits)
    model = {"vocab_size": 520, "position": "learned", "max_length": 12}
    return other(tiny(epochs=2), model, **UNIGRAM, token_budget=256)


def test_pieces_are_drawn_anew_in_each_epoch_and_the_same_again(unigram):
    batches, again = (prepare(unigram).batches for _ in "12")
    first, second = (list(batches.epoch(n)) for n in (0, 1))
    assert [b.tgt.size() for b in first] != [b.tgt.size() for b in second]
    for number, expected in ((1, second), (0, first)):
        for found, wanted in zip(again.epoch(number), expected, strict=True):
            assert torch.equal(found.src, wanted.src)
            assert torch.equal(found.tgt, wanted.tgt)


def test_both_ways_of_each_pair_are_learned_and_one_is_scored():
    splits = tiny_splits()
    prepared = prepare(other(tiny(), both_ways=True))
    train = set(splits.train)
    assert set(prepared.splits.train) == train | set(splits.train.swap())
    assert len(prepared.splits.train) == 2 * len(train)
    assert prepared.splits.dev == splits.dev


def test_a_training_starts_from_another_ones_weights(finished, tmp_path):
    settings = tiny(start_from=str(finished))
    start = prepare(settings)
    chosen = checkpoint.load(chosen_checkpoint(finished))
    assert start.tokenizer.model_proto == chosen.tokenizer.model_proto
    for name, weight in chosen.model.state_dict().items():
        assert torch.equal(weight, start.model.state_dict()[name]), name
    folder = run(settings, tmp_path, quiet=True)
    assert losses(folder)[0] < losses(finished)[0] * 0.8


def test_a_start_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint") as told:
        prepare(tiny(start_from=str(tmp_path / "none")))
    assert "--train.start-from None" in str(told.value)
    with pytest.raises(CheckpointError, match="train soseki-cpu") as told:
        prepare(tiny(start_from="soseki-cpu"), output_dir=tmp_path)
    assert f"{tmp_path} has none of that name" in str(told.value)


def test_a_start_is_looked_for_among_runs_folders_and_shipped_models(
    finished, tmp_path, monkeypatch
):
    """A bare name; what ``export`` has written is a folder like these."""
    there, out = tmp_path / "there", tmp_path / "out"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "models")
    for place, which in (
        (shipped.FOLDER / "little", "epoch-002"),
        (there / "little", "epoch-003"),
        (out / "little", "average"),
    ):
        start = finished / "checkpoints" / which
        shutil.copytree(start, place)
        made = prepare(tiny(start_from="little"), output_dir=out).model
        for name, weight in weights(start).items():
            assert torch.equal(weight, made.get_parameter(name)), which


# --- two files --------------------------------------------------------------


def digests_of(names) -> list[str]:
    contents = (Path(name).read_bytes() for name in names)
    return [hashlib.sha256(content).hexdigest() for content in contents]


@pytest.fixture
def of_files(tmp_path) -> Experiment:
    """A training on two files in the test's folder; texts end early."""
    return other(tiny("learned", epochs=2), **own_files(tmp_path))


def test_a_run_knows_which_files_it_learned_and_how_they_were_parted(
    tmp_path, of_files, finished
):
    folder = run(of_files, tmp_path / "out", quiet=True)
    settings = settings_of(folder)
    made = digests_of(of_files.data.files)
    assert settings["data"]["sha256"] == made
    splits = prepare(of_files).splits
    assert settings["split"] == splits.how
    assert "90 pairs" in splits.how and len(splits.train) == 90
    like = experiment_from_dict(settings)
    assert like == complete(other(of_files, sha256=tuple(made)))
    details = checkpoint.load(folder / "checkpoints" / "best").details
    assert details["sha256"] == made
    assert "split" not in settings_of(finished)


def test_a_run_goes_on_with_its_files_wherever_they_stand(tmp_path, of_files):
    whole = run(of_files, tmp_path / "whole", quiet=True)
    begun = dataclasses.replace(of_files.train, epochs=1)
    run(dataclasses.replace(of_files, train=begun), tmp_path, quiet=True)
    (tmp_path / "moved").mkdir()
    for file in map(Path, of_files.data.files):
        file.rename(tmp_path / "moved" / file.name)
    with pytest.raises(CorpusError, match="a.en' cannot be read"):
        run(of_files, tmp_path, resume=True, quiet=True)
    moved = other(of_files, **own_files(tmp_path / "moved"))
    folder = run(moved, tmp_path, resume=True, quiet=True)
    assert_same_runs(folder, whole)
    now = settings_of(folder)["data"]["files"]
    assert now == list(moved.data.files)


@pytest.fixture
def with_more(tmp_path) -> Experiment:
    """A training on the corpus, and on two files of more pairs."""
    names = str(tmp_path / "m.en"), str(tmp_path / "m.ja")
    Path(names[0]).write_text("the cat saw me .", "utf-8")
    Path(names[1]).write_text("猫 が 私 を 見 た 。", "utf-8")
    return other(tiny(epochs=1), more=names)


def test_a_run_knows_its_more_pairs_but_is_judged_without_them(
    tmp_path, with_more, capsys
):
    folder = run(with_more, tmp_path / "out", quiet=True)
    known = settings_of(folder)["data"]["more_sha256"]
    more = [Path(file) for file in with_more.data.more]
    assert known == digests_of(more)
    like = experiment_from_dict(settings_of(folder))
    assert like == complete(other(with_more, more_sha256=tuple(known)))
    with more[1].open("a", encoding="utf-8") as file:
        file.write("。")
    with pytest.raises(CorpusError, match="m.ja is not what was learned"):
        run(with_more, tmp_path / "out", resume=True, quiet=True)
    for file in more:
        file.unlink()
    main(["score", str(folder), "--device", "cpu", "--beam-size", "1"])
    said = capsys.readouterr().out
    assert f"all {len(tiny_splits().test)} sentences" in said


@pytest.mark.parametrize(
    ("make", "things"),
    [
        (tiny, "40 training pairs"),
        (tiny_texts, "training texts"),
        (tiny_masked, "sentences"),
    ],
)
def test_examples_that_are_cut_off_are_a_warning(
    make, things, monkeypatch, capsys
):
    tiny_corpus(monkeypatch)
    tiny_labels(monkeypatch)
    tiny_books(monkeypatch)
    settings = make()
    prepare(settings)
    assert "cut off" not in capsys.readouterr().err
    prepare(other(settings, {"max_length": 5}))
    told = capsys.readouterr().err
    assert f"{things} are longer than " in told and "max-length" in told


def test_targets_that_no_search_would_write_are_a_warning(monkeypatch, capsys):
    text = ParallelText(["red"] * 20, ["猫 " * 60] * 19 + ["猫 " * 50])
    tiny_corpus(monkeypatch, pairs=lambda: Splits(text, text, text))
    prepare(other(tiny(), {"max_length": 70}))
    told = capsys.readouterr().err
    assert "in 19 of 20 training pairs" in told and "--max-length" in told
